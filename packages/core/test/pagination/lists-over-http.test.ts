import fastify from 'fastify';
import t from 'tap';
import {
  CursorPagination,
  LimitOffsetPagination,
  ModelViewSet,
  PageNumberPagination,
  Router,
  readShape,
  serverOptions,
  viewset,
} from '../../src/index.ts';
import { entities, fillCatalog, Item } from '../filters/catalog.ts';
import { forEachDatabase } from '../support/databases.ts';

class BigPages extends PageNumberPagination {
  override readonly pageSize = 3;
  override readonly pageParameter = 'p';
}

const declared = {
  read: readShape(Item, ['id', 'price'], { brand: 'brand.name' }),
  searchFields: ['name', 'brand__name'],
  filterFields: { min_price: 'price__gte', brand: 'brand__name' },
  orderingFields: { price: 'price', brand: 'brand__name' },
} as const;

class ByNumber extends ModelViewSet(Item, { ...declared, pagination: BigPages, maxPageSize: 4 }) {}
class ByOffset extends ModelViewSet(Item, { ...declared, pagination: LimitOffsetPagination, pageSize: 2 }) {}
class ByCursor extends ModelViewSet(Item, { ...declared, pagination: CursorPagination, pageSize: 2 }) {}
class Whole extends ModelViewSet(Item, { ...declared, pagination: null }) {}

/** Another view of the same class name. */
const Namesake = (() => {
  class ByCursor extends ModelViewSet(Item, { ...declared, pagination: CursorPagination, pageSize: 2 }) {}
  return ByCursor;
})();

forEachDatabase(t, { entities, onLibSql: true }, async (t, orm) => {
  await fillCatalog(orm);
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(viewset, { orm, secret: 'a secret of thirty-two bytes ...' });
  const router = new Router({ prefix: 'api' });
  router.register('numbers', ByNumber);
  router.register('offsets', ByOffset);
  router.register('cursors', ByCursor);
  router.register('whole', Whole);
  router.register('namesakes', Namesake);
  await app.register(router.plugin);
  const get = async <Body>(path: string) => (await app.inject(`/api/${path}`)).json<Body>();
  const ids = ({ results }: { results: { id: number }[] }) => results.map(({ id }) => id);

  t.test('lists paginated by number, by offset, and not paginated', async (t) => {
    const numbers = await get<Page>('numbers?p=2&sort=-price');
    t.same(numbers, {
      count: 5,
      next: false,
      previous: true,
      results: [
        { id: 4, price: 5, brand: 'Žen' },
        { id: 5, price: 5, brand: null },
      ],
    });
    t.equal((await get<Page>('numbers?page_size=50')).results.length, 4, 'the maximum of the view');
    t.same(ids(await get('offsets?offset=1')), [2, 3]);
    t.same(ids({ results: await get('whole?search=tea') }), [1, 2, 3]);
  });

  t.test('pages by cursor, over a field that the read shape does not show as it is ordered', async (t) => {
    const first = await get<CursorPage>('cursors?sort=-brand&min_price=5');
    t.same(first, {
      next: true,
      previous: false,
      next_cursor: first.next_cursor,
      previous_cursor: null,
      results: [
        { id: 5, price: 5, brand: null },
        { id: 3, price: 49.99, brand: 'Žen' },
      ],
    });
    const second = await get<CursorPage>(`cursors?sort=-brand&min_price=5&cursor=${first.next_cursor}`);
    t.same(ids(second), [4, 1]);
    t.same(ids(await get(`cursors?sort=-brand&cursor=${second.previous_cursor}`)), [5, 3]);
    t.equal((await app.inject(`/api/cursors?cursor=${first.next_cursor}`)).statusCode, 400);
  });

  t.test('a cursor reveals nothing about its content', async (t) => {
    const bytes = async (sort: string) =>
      Buffer.from((await get<CursorPage>(`cursors?sort=${sort}`)).next_cursor!, 'base64url');
    const brands = [await bytes('brand'), await bytes('brand')] as const;
    t.notOk(brands[0].includes('Élan'), 'no value is readable');
    t.notSame(brands[0], brands[1], 'two of one place are not alike');
    t.equal(brands[0].length, (await bytes('price')).length, 'a short and a long value take the same room');
  });

  t.test('a cursor is taken by the list that gave it out, and by no other view of its class name', async (t) => {
    const { next_cursor: cursor } = await get<CursorPage>('cursors?sort=price');
    t.equal((await app.inject(`/api/cursors?sort=price&cursor=${cursor}`)).statusCode, 200);
    const refused = await app.inject(`/api/namesakes?sort=price&cursor=${cursor}`);
    t.equal(refused.statusCode, 400);
    t.match(refused.json(), { code: 'invalid_usage', details: [{ in: 'query', path: '/cursor' }] });
  });

  t.test('one response names every parameter that does not fit, of filters and paginator', async (t) => {
    const query = 'search=a%00&filter=x&min_price=a&sort=b&p=0&page_size=c';
    const response = await app.inject(`/api/numbers?${query}`);
    t.equal(response.statusCode, 400);
    const { code, details } = response.json<{ code: string; details: { path: string }[] }>();
    t.equal(code, 'invalid_usage');
    t.same(
      details.map(({ path }) => path),
      ['/search', '/filter', '/min_price', '/sort', '/p', '/page_size'],
    );
  });

  t.test('a parameter of another paginator is unknown', async (t) => {
    for (const path of ['numbers?page=1', 'offsets?page=1', 'cursors?offset=1', 'whole?page=1']) {
      t.equal((await app.inject(`/api/${path}`)).statusCode, 400, path);
    }
  });
});

interface Page {
  results: { id: number }[];
}

interface CursorPage extends Page {
  next_cursor: string | null;
  previous_cursor: string | null;
}
