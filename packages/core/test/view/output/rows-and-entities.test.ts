/**
 * A list read as rows and a list read as entities are the same bytes: every kind of request, of field and of page, sent
 * to two views that differ in nothing but a `represent` of their own.
 */
import t, { type Test } from 'tap';
import {
  CursorPagination,
  LimitOffsetPagination,
  ModelViewSet,
  PageNumberPagination,
  type PaginatorClass,
  Router,
} from '../../../src/index.ts';
import { entities, Product, type ProductEntity } from '../../query/catalog.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';
import { fillEveryKind, RECORDS } from '../../fields/every-kind.ts';
import { declared, FILTERS, SORTS } from '../operations/list-requests.ts';

const rows = (pagination: PaginatorClass | null, count?: 'none' | 'estimated') =>
  class ProductViewSet extends ModelViewSet(Product, {
    ...declared,
    pagination,
    ...(count === undefined ? {} : { count }),
  }) {};

const viaEntities = (pagination: PaginatorClass | null, count?: 'none' | 'estimated') =>
  class ProductViewSet extends ModelViewSet(Product, {
    ...declared,
    pagination,
    ...(count === undefined ? {} : { count }),
  }) {
    override represent(product: ProductEntity) {
      return super.represent(product);
    }
  };

const VIEWS: readonly {
  readonly path: string;
  readonly pagination: PaginatorClass | null;
  readonly count?: 'none' | 'estimated';
  readonly pages: readonly string[];
}[] = [
  { path: 'whole', pagination: null, pages: [''] },
  {
    path: 'numbers',
    pagination: PageNumberPagination,
    pages: ['', 'page=2', 'page=3', 'page=9', 'page_size=3&page=2', 'page_size=1000'],
  },
  {
    path: 'offsets',
    pagination: LimitOffsetPagination,
    pages: ['', 'offset=3', 'offset=1&limit=2', 'offset=99', 'limit=1000'],
  },
  {
    path: 'uncounted',
    pagination: PageNumberPagination,
    count: 'none',
    pages: ['', 'page=2', 'page=9', 'page_size=5'],
  },
  { path: 'estimated', pagination: LimitOffsetPagination, count: 'estimated', pages: ['', 'offset=5', 'offset=99'] },
  { path: 'cursors', pagination: CursorPagination, pages: ['', 'page_size=1', 'page_size=3'] },
];

forEachDatabase(t, { entities }, async (t, orm, database) => {
  await fillEveryKind(orm);
  if (database === 'postgresql') {
    // More digits than a Date has: a cursor must not lose them, whichever way the records are made.
    await orm.em.getConnection().execute('alter table product alter column added type timestamptz(6)');
    await orm.em.getConnection().execute(`update product set added = added + id * interval '7 microseconds'`);
  }
  const router = new Router();
  for (const { path, pagination, count } of VIEWS) {
    router
      .register(`rows/${path}`, rows(pagination, count))
      .register(`entities/${path}`, viaEntities(pagination, count));
  }
  const app = await testApp(t, orm, [router], { options: { secret: 'a secret that is thirty-two bytes' } });
  /** The bodies of both ways, which are the same but for the cursors: these are encrypted, each time anew. */
  const same = async (
    t: Test,
    rowsPath: string,
    entitiesPath = rowsPath,
  ): Promise<[rows: string, entities: string]> => {
    const [asRows, asEntities] = [await app.inject(`/rows/${rowsPath}`), await app.inject(`/entities/${entitiesPath}`)];
    t.equal(asRows.statusCode, 200, rowsPath);
    t.equal(withoutCursors(asEntities.body), withoutCursors(asRows.body), rowsPath);
    return [asRows.body, asEntities.body];
  };
  const query = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join('&');

  for (const { path, pages } of VIEWS) {
    t.test(`${path}: every filter, sort and page is the same bytes both ways`, async (t) => {
      const bodies = new Set<string>();
      const requests = [
        ...FILTERS.flatMap((filter) => pages.slice(0, 2).map((page) => query(filter, page))),
        ...SORTS.flatMap((sort) => pages.map((page) => query(sort, page))),
      ];
      for (const request of requests) {
        const [body] = await same(t, `${path}?${request}`);
        bodies.add(withoutCursors(body));
      }
      t.ok(bodies.size > 40, `${bodies.size} different answers`);
    });
  }

  t.test('cursors lead through the same pages with and without entities, forwards and backwards', async (t) => {
    for (const sort of SORTS) {
      const pathOf = (cursor: string): string =>
        `cursors?${query(sort, 'page_size=3', cursor === '' ? '' : `cursor=${cursor}`)}`;
      /** Follows the cursors of each way to the end, and answers with those that lead back. */
      const follow = async (from: Pair, direction: keyof Cursors, back: keyof Cursors): Promise<Pair> => {
        for (let cursors = from; ;) {
          const bodies = await same(t, ...(cursors.map(pathOf) as Pair));
          const [asRows, asEntities] = bodies.map((body) => JSON.parse(body) as Cursors);
          const next: Pair = [asRows![direction] ?? '', asEntities![direction] ?? ''];
          if (next[0] === '') return [asRows![back] ?? '', asEntities![back] ?? ''];
          cursors = next;
        }
      };
      const last = await follow(['', ''], 'next_cursor', 'previous_cursor');
      t.not(last[0], '', 'there is more than one page');
      await follow(last, 'previous_cursor', 'next_cursor');
    }
  });

  t.test('retrieve is the same bytes both ways', async (t) => {
    for (let id = 1; id <= RECORDS; id++) await same(t, `whole/${id}`);
  });

  t.test('the test data contains every value that the lists need', async (t) => {
    const list = (await app.inject('/rows/whole')).json<Record<string, unknown>[]>();
    t.equal(list.length, RECORDS);
    for (const name of Object.keys(list[0]!)) {
      const values = new Set(list.map((record) => JSON.stringify(record[name])));
      t.ok(values.size > 1, `${name} varies`);
    }
    t.match(list[2], { sold: '9007199254740993', data: { a: 3 }, maker_name: 'North', country: 'França' });
    t.match(list[5], { cost: /^1\.5/, parent_name: 'tea', parent_cost: /^1234567890123456\.5/ });
  });
});

type Pair = [rows: string, entities: string];

/** The same body with each cursor that is there as one and the same text. */
function withoutCursors(body: string): string {
  return body.replaceAll(/"(next|previous)_cursor":"[^"]+"/g, '"$1_cursor":"…"');
}

interface Cursors {
  readonly next_cursor: string | null;
  readonly previous_cursor: string | null;
}
