/** Filters that take their time or have options of their own, and the Link headers of pages. */
import type { FastifyInstance } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import {
  action,
  compare,
  CursorPagination,
  DEFAULT_FILTERS,
  fieldPath,
  Filter,
  type FilterTarget,
  invalidParameter,
  LimitOffsetPagination,
  ModelViewSet,
  PageNumberPagination,
  type QueryParameters,
  type QuerySet,
  readShape,
  Router,
} from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { Book, fillLibrary, LIBRARY, testApp } from '../../support/library.ts';

/** Asks elsewhere what a word means. */
class MeaningFilter extends Filter {
  static override readonly reads = [];
  readonly parameters = [{ name: 'about', schema: Type.String() }];
  async apply<E extends object>(queryset: QuerySet<E>, parameters: QueryParameters): Promise<QuerySet<E>> {
    const word = parameters.one('about');
    await new Promise((resolve) => setImmediate(resolve));
    if (word === undefined) return queryset;
    if (word === 'down') throw new Error('the dictionary is down');
    if (word !== 'trees') throw invalidParameter('about', 'must be a word that is known');
    return queryset.where(compare(fieldPath(queryset.meta, 'title', '.'), 'in', ['Ash', 'Elm']));
  }
}

const FromOptions = Type.Object({ field: Type.String(), least: Type.Optional(Type.Integer()) });
class FromFilter extends Filter<{ field: string; least?: number }> {
  static override readonly reads = [];
  static override readonly options = FromOptions;
  readonly #path;
  constructor(target: FilterTarget) {
    super(target);
    this.#path = fieldPath(target.meta, this.options.field, '.');
  }
  get parameters() {
    return [{ name: `from_${this.options.field}`, schema: Type.Integer({ minimum: this.options.least ?? 0 }) }];
  }
  apply<E extends object>(queryset: QuerySet<E>, parameters: QueryParameters) {
    const text = parameters.one(this.parameters[0]!.name);
    return text === undefined ? queryset : queryset.where(compare(this.#path, 'gte', Number(text)));
  }
}

const read = readShape(Book, ['id', 'title']);
class FilteredViewSet extends ModelViewSet(Book, {
  read,
  filters: [...DEFAULT_FILTERS, MeaningFilter, FromFilter.with({ field: 'pages' }), FromFilter.with({ field: 'id' })],
  searchFields: ['title'],
  orderingFields: { title: 'title' },
}) {
  found = action({}, async (request) => this.rows(this.filterQueryset(request, this.getQueryset(request))));
}

const sorted = { read, orderingFields: { title: 'title' }, pageSize: 2 } as const;
class Numbered extends PageNumberPagination {
  override readonly links = true;
}
class Uncounted extends PageNumberPagination {
  override readonly links = true;
  override readonly count = 'none';
}
class Placed extends LimitOffsetPagination {
  override readonly links = true;
}
class Cursors extends CursorPagination {
  override readonly links = true;
}
class NumberedViewSet extends ModelViewSet(Book, { ...sorted, pagination: Numbered }) {
  some = action({}, async (request, reply) => this.paginate(request, this.getQueryset(request), reply));
}
class UncountedViewSet extends ModelViewSet(Book, { ...sorted, pagination: Uncounted }) {}
class PlacedViewSet extends ModelViewSet(Book, { ...sorted, pagination: Placed }) {}
class CursorViewSet extends ModelViewSet(Book, { ...sorted, pagination: Cursors }) {}
class PlainViewSet extends ModelViewSet(Book, sorted) {}

forEachDatabase(t, { entities: LIBRARY }, async (t, orm) => {
  await fillLibrary(orm);
  const router = new Router()
    .register('filtered', FilteredViewSet)
    .register('numbered', NumberedViewSet)
    .register('uncounted', UncountedViewSet)
    .register('placed', PlacedViewSet)
    .register('cursors', CursorViewSet)
    .register('plain', PlainViewSet);
  const app = await testApp(t, orm, [router], { options: { secret: 's'.repeat(32) } });
  const titles = async (url: string) =>
    (await app.inject(url)).json<{ results: { title: string }[] }>().results.map(({ title }) => title);

  t.test('an asynchronous filter works in combination with the others', async (t) => {
    t.strictSame(await titles('/filtered?about=trees&sort=-title'), ['Elm', 'Ash']);
    t.strictSame(await titles('/filtered?about=trees&search=a'), ['Ash']);
    t.strictSame(await titles('/filtered?about=trees&from_pages=100'), ['Ash']);
    t.strictSame((await titles('/filtered')).length, 5);
    const rows = (await app.inject('/filtered/found?about=trees')).json<unknown[]>();
    t.equal(rows.length, 2, 'in an action');
    t.equal((await app.inject('/filtered?about=down')).statusCode, 500, 'its error is the program’s');
  });

  t.test('one response names every invalid parameter, also those of asynchronous filters', async (t) => {
    for (const url of ['/filtered?about=x&page=0&sort=no', '/filtered?about=x&page=0&sort=no&oops=1']) {
      const response = await app.inject(url);
      t.equal(response.statusCode, 400);
      const paths = response.json<{ details: { path: string }[] }>().details.map(({ path }) => path);
      t.strictSame(paths.toSorted(), ['/about', ...(url.includes('oops') ? ['/oops'] : []), '/page', '/sort'], url);
    }
  });

  t.test('a filter with options may be listed several times', async (t) => {
    t.strictSame(await titles('/filtered?from_pages=300&from_id=4'), ['Date']);
    t.strictSame(await titles('/filtered?from_id=5'), ['Elm']);
  });

  t.test(
    'parameters are those that the client sent, even if a hook replaces request.query after validation',
    async (t) => {
      const hooked = await testApp(t, orm, [new Router().register('plain', PlainViewSet)], {
        before: (made) => {
          made.addHook('preHandler', async (request) => void (request.query = { page: '3' }));
        },
      });
      for (const url of ['/plain', '/plain?sort=title', '/plain?page=1']) {
        const { results } = (await hooked.inject(url)).json<{ results: { title: string }[] }>();
        t.strictSame(
          results.map(({ title }) => title),
          ['Ash', 'Birch'],
          url,
        );
      }
    },
  );

  t.test('invalid filter options fail at start', async (t) => {
    const start = (filter: typeof FromFilter) => {
      class View extends ModelViewSet(Book, { read, filters: [filter] }) {}
      return testApp(t, orm, [new Router().register('books', View)]);
    };
    await t.rejects(
      start(FromFilter),
      /View: options of FromFilter: "field" is required.*give them by FromFilter\.with/,
    );
    // @ts-expect-error a text for a number
    const wrong = FromFilter.with({ field: 'id', least: 'x' });
    await t.rejects(start(wrong), /options of FromFilter: "least" must be an integer/);
    // @ts-expect-error no such option
    const misspelt = FromFilter.with({ field: 'id', lest: 1 });
    await t.rejects(start(misspelt), /unknown option "lest"; did you mean "least"/);
    await t.rejects(start(FromFilter.with({ field: 'nmae' })), /"nmae" names no field/);
    t.throws(() => FromFilter.with(null as never), /FromFilter\.with\(\): option "options" must be an object/);
  });

  const linksOf = async (app: FastifyInstance, url: string) => {
    const { link } = (await app.inject(url)).headers;
    const found = [...String(link ?? '').matchAll(/<([^>]*)>; rel="(\w+)"/g)].map(([, target, rel]) => [rel, target]);
    return Object.fromEntries(found) as Record<string, string>;
  };

  t.test('links of numbered pages', async (t) => {
    t.strictSame(await linksOf(app, '/numbered?sort=-title&page=2'), {
      first: '?sort=-title&page=1',
      prev: '?sort=-title&page=1',
      next: '?sort=-title&page=3',
      last: '?sort=-title&page=3',
    });
    t.strictSame(await linksOf(app, '/numbered'), { first: '?page=1', next: '?page=2', last: '?page=3' });
    t.strictSame(await linksOf(app, '/numbered?page=9'), { first: '?page=1', prev: '?page=3', last: '?page=3' });
    t.strictSame(Object.keys(await linksOf(app, '/numbered/some?page=2')), ['first', 'prev', 'next', 'last']);
    t.strictSame(await linksOf(app, '/uncounted?page=2'), { first: '?page=1', prev: '?page=1', next: '?page=3' });
    t.strictSame(await linksOf(app, '/plain?page=2'), {}, 'none unless asked for');
  });

  t.test('links of pages by place and by cursor', async (t) => {
    t.strictSame(await linksOf(app, '/placed?limit=2&offset=1'), {
      first: '?limit=2&offset=0',
      prev: '?limit=2&offset=0',
      next: '?limit=2&offset=3',
      last: '?limit=2&offset=4',
    });
    const walked: string[] = [];
    let url = '/cursors?sort=title';
    for (let next: string | undefined = ''; next !== undefined;) {
      walked.push(...(await titles(url)));
      const links = await linksOf(app, url);
      t.equal(links['first'], '?sort=title');
      next = links['next'];
      if (next !== undefined) url = `/cursors${next}`;
    }
    t.strictSame(walked, ['Ash', 'Birch', 'Cedar', 'Date', 'Elm']);
    t.strictSame(await titles(`/cursors${(await linksOf(app, url))['prev']}`), ['Cedar', 'Date']);
  });

  t.test('the plan of a list has the header', async (t) => {
    const headers = (id: string) =>
      Object.keys(app.viewset.operations.find(({ operationId }) => operationId === id)!.responses[200]!.headers);
    t.strictSame(headers('listNumbered'), ['link']);
    t.strictSame(headers('listPlain'), []);
  });
});
