/** Options that would have no effect: in the wrong place, beside others, or of a form that says nothing. */
import t from 'tap';
import { Type } from 'typebox';
import {
  action,
  Filter,
  ModelViewSet,
  readShape,
  type ViewSet,
  type ViewsetOptions,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { Book, errorAtStart, LIBRARY } from '../../support/library.ts';

const read = readShape(Book, ['id', 'title']);

forEachDatabase(t, { entities: LIBRARY, only: ['sqlite'] }, async (t, orm) => {
  const refusal = (View: new () => ViewSet, options: Partial<ViewsetOptions> = {}) =>
    errorAtStart(t, orm, View, options);

  t.test('an option in the body of a class is refused, since nothing would read it', async (t) => {
    const errorOf = async (body: Readonly<Record<string, unknown>>, method?: string): Promise<string | undefined> => {
      class BookViewSet extends ModelViewSet(Book, { read, orderingFields: { title: 'title' } }) {
        constructor() {
          super();
          Object.assign(this, body);
        }
      }
      if (method !== undefined) Object.defineProperty(BookViewSet.prototype, method, { value: () => undefined });
      return refusal(BookViewSet);
    };
    const message = (name: string) =>
      `BookViewSet: nothing reads "${name}" in the class; it is an option: ModelViewSet(Book, { ${name}: … })`;
    t.equal(await errorOf({ searchFields: ['title'] }), message('searchFields'));
    t.equal(await errorOf({ pagination: null }), message('pagination'));
    t.equal(await errorOf({ description: 'Books' }), message('description'));
    t.equal(await errorOf({}, 'validate'), message('validate'));
    t.equal(await errorOf({ throttles: [], count: action({}, () => ({ books: 1 })) }, 'read'), undefined);
    t.equal(await errorOf({ tags: new Map(), helper: 5 }, 'extra'), undefined);
    t.equal(await errorOf({ throtles: [] }), 'BookViewSet: "throtles" is never read; did you mean "throttles"?');
  });

  t.test('a Map instead of an object of names is rejected, because its entries would be ignored', async (t) => {
    const byName = [
      'filterFields',
      'orderingFields',
      'expand',
      'fieldWords',
      'fill',
      'referencePermissions',
      'referenceViews',
    ];
    const entries = [['publisher', 'title']] as const;
    for (const option of byName) {
      for (const [value, received] of [
        [new Map(entries), 'Map'],
        [Promise.resolve(Object.fromEntries(entries)), 'Promise'],
        [Object.create(Object.fromEntries(entries)), 'Object'],
      ] as const) {
        t.throws(
          () => ModelViewSet(Book, { read, [option]: value }),
          {
            name: 'ImproperlyConfigured',
            message: new RegExp(`option "${option}" must be .*, got an object of ${received}`),
          },
          option,
        );
      }
    }
    t.throws(() => readShape(Book, ['id'], new Map() as never), {
      message: 'readShape(Book): option "extra" must be an object of names, got an object of Map',
    });
    t.throws(() => writeShape(Book, ['title'], new Map() as never), {
      message: /"overrides" must be an object of names/,
    });
  });

  t.test('a filter whose parameters are not a list fails with its name', async (t) => {
    class Newest extends Filter {
      readonly parameters = { name: 'newest' } as never;
      apply<Q>(queryset: Q): Q {
        return queryset;
      }
    }
    class Silent extends Newest {
      override readonly parameters = undefined as never;
    }
    for (const [FilterClass, received] of [
      [Newest, 'an object of Object'],
      [Silent, 'null'],
    ] as const) {
      class BookViewSet extends ModelViewSet(Book, { read, filters: [FilterClass] }) {}
      const expected = `BookViewSet: ${FilterClass.name}: option "parameters" must be a list, got ${received}`;
      t.equal(await refusal(BookViewSet), expected);
    }
  });

  t.test('an option that has no effect because of other options is rejected', async (t) => {
    class PagedViewSet extends ModelViewSet(Book, { read, pageSize: 5 }) {}
    t.match(
      await refusal(PagedViewSet, { pagination: null }),
      /option "pageSize" has no effect, since the application has no pagination/,
    );
    class UnpagedViewSet extends ModelViewSet(Book, { read, pageSize: 5, pagination: null }) {}
    t.equal(await refusal(UnpagedViewSet), undefined, 'of options that it shares with others');
    class ReadOnlyViewSet extends ModelViewSet(Book, { read, bulk: 5 }) {}
    t.equal(await refusal(ReadOnlyViewSet), 'ReadOnlyViewSet.bulk: the view has no operation that writes');
  });

  t.test('an object of schemas in the place of a schema is refused, since it would let everything pass', async (t) => {
    const fields = { id: Type.Integer() } as never;
    for (const options of [{ response: fields }, { methods: ['post'], body: fields }] as const) {
      t.throws(() => action(options, () => ({}) as never), {
        message: /option "(response|body)" must be a schema, got/,
      });
    }
    t.throws(() => action({ responses: { 200: fields } }, () => ({}) as never), {
      message: /"responses" must be schemas/,
    });
    const noted = Type.Object(fields, { 'x-note': { of: 'the application' } });
    t.doesNotThrow(() =>
      action(
        { methods: ['post'], body: noted, response: noted, responses: { 201: noted } },
        () => ({ id: 1 }) as never,
      ),
    );
  });
});
