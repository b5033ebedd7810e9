import { fastify } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import { CursorPagination, PageNumberPagination } from '../../src/index.ts';
import { isSureToSerialize } from '../../src/router/sure-serializer.ts';

const KEYWORDS =
  'title description type format enum const default minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength ' +
  'maxLength pattern items additionalItems minItems maxItems uniqueItems contains properties required additionalProperties ' +
  'patternProperties propertyNames dependencies allOf anyOf oneOf not if then $ref $id definitions nullable maxLenght';

const NUMBERS = [-1, 0, 1, 1.5, NaN, Infinity, 10n];
const TEXTS = ['', 'a', '1', 'string', 'date', '#', '#/nowhere', 'a('];
const LISTS = [
  [],
  ['a'],
  ['a', 'a'],
  ['string', 'null'],
  ['string', 'strin'],
  [1, null],
  [NaN],
  [undefined],
  [{}],
  [[]],
];
const OBJECTS = [{}, { a: {} }, { a: 1 }, { "a'`\n/b": {} }, { a: { type: 'strin' } }];
const WORDS: readonly unknown[] = [true, false, null, undefined, ...NUMBERS, ...TEXTS, ...LISTS, ...OBJECTS];

/** A schema that says one thing, by itself and at each place that an answer may have it. */
function* everySchema(): Generator<object> {
  for (const keyword of KEYWORDS.split(' ')) {
    for (const word of WORDS) {
      const said = { [keyword]: word };
      yield said;
      for (const type of ['string', 'number', 'array', 'object', ['string', 'null']]) {
        yield { type: 'object', properties: { a: { type, ...said }, b: { type: 'array', items: { type, ...said } } } };
      }
    }
  }
}

t.test('what the compiler of serializers need not be asked about is what it compiles', async (t) => {
  const app = fastify();
  t.teardown(() => app.close());
  app.get('/', { schema: { response: { 200: { type: 'string' } } } }, async () => 'any');
  await app.ready();
  let sure = 0;
  for (const schema of everySchema()) {
    if (!isSureToSerialize(schema)) continue;
    sure += 1;
    try {
      app.serializerCompiler!({ schema, method: 'GET', url: '/', httpStatus: '200' });
    } catch (error) {
      t.fail('the compiler refuses it', { schema, cause: (error as Error).message });
    }
  }
  t.ok(sure > 100, String(sure));
});

t.test('the pages of ordinary read shapes need no code before the first request', async (t) => {
  const item = Type.Object({
    id: Type.Integer(),
    name: Type.String({ maxLength: 200 }),
    created_at: Type.Unsafe({ type: ['string', 'null'], format: 'date-time' }),
    state: Type.Unsafe({ type: 'string', enum: ['draft', 'public'] }),
  });
  t.ok(isSureToSerialize(item));
  t.ok(isSureToSerialize(new PageNumberPagination().envelope(item)));
  t.notOk(
    isSureToSerialize(new CursorPagination({ secret: 'x'.repeat(32) }).envelope(item)),
    'a union has to be asked',
  );
  t.notOk(isSureToSerialize(Type.Object({ word: Type.Ref('word') })));
  const circular = { type: 'object', properties: {} };
  circular.properties = { self: circular };
  t.notOk(isSureToSerialize(circular));
});
