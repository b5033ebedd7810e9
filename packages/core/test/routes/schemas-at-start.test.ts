/** Mistakes in schemas of the application: the start names the view, the action or option, and the property. */
import t from 'tap';
import { Type } from 'typebox';
import { action, Filter, ModelViewSet, readShape, ViewSet, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { Book, errorAtStart, LIBRARY } from '../support/library.ts';

const read = readShape(Book, ['id', 'title']);
const write = writeShape(Book, ['title', 'pages']);

forEachDatabase(t, { entities: LIBRARY, only: ['sqlite'] }, async (t, orm) => {
  const refusal = (make: () => new () => ViewSet) => errorAtStart(t, orm, make());

  t.test('a default that does not fit its schema, and bounds that no value fits, fail at start', async (t) => {
    class Titled extends Filter {
      static override readonly options = Type.Object({ least: Type.Integer({ minimum: 1, default: 0 }) });
      readonly parameters = [];
      apply<Q>(queryset: Q): Q {
        return queryset;
      }
    }
    const zero = { minimum: 1, default: 0 };
    const ofAction = (options: object) => () =>
      class BookViewSet extends ViewSet {
        rate = action(options, () => ({}));
      };
    const ofModel = (options: object) => () => class BookViewSet extends ModelViewSet(Book, { read, ...options }) {};
    const of = (place: string, name: string, default_: string, refusal: string) =>
      `The ${place} schema cannot be compiled: property "${name}": the default ${default_} ${refusal}`;
    for (const [make, message] of [
      [
        ofAction({ methods: ['post'], body: Type.Object({ stars: Type.Integer(zero) }) }),
        `BookViewSet.rate: ${of('body', 'stars', '0', 'must be >= 1')}`,
      ],
      [
        ofAction({ querystring: Type.Object({ by: Type.Enum(['a', 'b'], { default: 'c' }) }) }),
        `BookViewSet.rate: ${of('query', 'by', '"c"', 'must be one of: a, b')}`,
      ],
      [
        ofModel({ write: writeShape(Book, ['title'], { pages: Type.Integer(zero) }) }),
        `BookViewSet: option "write": ${of('body', 'pages', '0', 'must be >= 1')}`,
      ],
      [
        ofModel({ write, extra: Type.Object({ at: Type.Object({ x: Type.Optional(Type.String({ default: 5 })) }) }) }),
        'BookViewSet: option "extra": The body schema cannot be compiled: property "at": property "x": the default 5 must be a string',
      ],
      [ofModel({ filters: [Titled] }), `BookViewSet: options of Titled: ${of('body', 'least', '0', 'must be >= 1')}`],
      [
        ofModel({ write: { create: write, update: writeShape(Book, [], { title: Type.String({ minLenght: 3 }) }) } }),
        'BookViewSet: option "write.update": The body schema cannot be compiled: property "title": unknown keyword: "minLenght"; did you mean "minLength"?',
      ],
      [
        ofAction({ response: Type.Object({ title: Type.String({ minLenght: 3 }) }) }),
        'BookViewSet.rate: the answer 200: The response schema cannot be compiled: property "title": unknown keyword: "minLenght"; did you mean "minLength"?',
      ],
      [
        ofAction({ responses: { 204: null, 202: Type.Array(Type.Integer({ maxmum: 3 })) } }),
        'BookViewSet.rate: the answer 202: The response schema cannot be compiled: unknown keyword: "maxmum"; did you mean "maximum"?',
      ],
      [
        ofAction({
          methods: ['post'],
          body: Type.Object({ tags: Type.Array(Type.String({ minLength: 5, maxLength: 3 })) }),
        }),
        'BookViewSet.rate: The body schema cannot be compiled: property "tags": minLength 5 is above maxLength 3, so that no value fits',
      ],
    ] as const) {
      t.equal(await refusal(make), message);
    }
    const sound = Type.Object({ a: Type.Object({ b: Type.Integer({ minimum: 0, default: 0 }) }, { default: {} }) });
    t.equal(await refusal(ofAction({ methods: ['post'], body: sound })), undefined);
  });
});
