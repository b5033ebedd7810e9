import { isInvalid } from './support/expect.ts';
import type { Answer } from './support/http-client.ts';
import { type Page, type Product, onlyProducts } from './support/records.ts';
import { withShop } from './support/shop.ts';

const COUNT = 123;

withShop({}, async (t, shop) => {
  const token = await shop.login();
  const list = (query = ''): Promise<Answer<Page<Product>>> => shop.get<Page<Product>>(`/api/products?${query}`);
  const ids = (
    await onlyProducts(
      shop,
      token,
      Array.from({ length: COUNT }, (_, index) => ({
        name: `n${index % 3}`,
        price: 1 + (index % 7),
        stock: index % 2,
      })),
    )
  ).map(({ id }) => id);

  await t.test('the envelope', async (t) => {
    for (const [query, next, previous, from, to] of [
      ['', true, false, 0, 10],
      ['page=1', true, false, 0, 10],
      ['page=2', true, true, 10, 20],
      ['page=12', true, true, 110, 120],
      ['page=13', false, true, 120, 123],
      ['page_size=100', true, false, 0, 100],
      ['page=2&page_size=100', false, true, 100, 123],
      ['page=3&page_size=41', false, true, 82, 123],
      ['page=2&page_size=41', true, true, 41, 82],
      ['page_size=1', true, false, 0, 1],
      ['page=123&page_size=1', false, true, 122, 123],
    ] as const) {
      const { status, body } = await list(query);
      t.equal(status, 200, query);
      t.same(
        body.results.map(({ id }) => id),
        ids.slice(from, to),
        `${query}: results`,
      );
      t.same(
        { ...body, results: undefined },
        { count: COUNT, next, previous, results: undefined },
        `${query}: the rest`,
      );
    }
  });

  await t.test('page_size above the maximum: the maximum', async (t) => {
    for (const size of ['101', '1000', '2147483647']) {
      const { body } = await list(`page_size=${size}`);
      t.equal(body.results.length, 100, size);
      t.equal(body.next, true);
    }
  });

  await t.test('page past the end: empty, next false, previous true', async (t) => {
    for (const query of [
      'page=14',
      'page=2147483647',
      'page=2147483647&page_size=100',
      'page=3&page_size=100',
      'page=2&name=nothing',
    ]) {
      const { status, body } = await list(query);
      t.equal(status, 200, query);
      t.same(body, { count: query.includes('nothing') ? 0 : COUNT, next: false, previous: true, results: [] }, query);
    }
    t.same(
      (await list('name=nothing')).body,
      { count: 0, next: false, previous: false, results: [] },
      'the first page of nothing',
    );
  });

  await t.test('a page number that is not a decimal integer from 1 to 2147483647: 400', async (t) => {
    for (const value of [
      '0',
      '-1',
      '+1',
      '1.0',
      '1.5',
      '01',
      '1e1',
      '0x1',
      'a',
      '1a',
      ' 1',
      '1 ',
      'null',
      'NaN',
      'Infinity',
      '2147483648',
      '9007199254740993',
      '9'.repeat(400),
      '1,2',
      '１',
      '٣',
      '1_0',
      'true',
      "1'",
      '[1]',
    ]) {
      for (const name of ['page', 'page_size']) {
        isInvalid(
          t,
          await shop.get(`/api/products?${name}=${encodeURIComponent(value)}`),
          [`/${name}`],
          `${name}=${value.slice(0, 30)}`,
        );
      }
    }
    isInvalid(t, await shop.get('/api/products?page=x&page_size=y'), ['/page', '/page_size'], 'both');
  });

  await t.test('pages neither overlap nor skip records, in any order', async (t) => {
    for (const sort of ['', 'id', '-id', 'name', '-name', 'stock', '-price', 'stock,-name']) {
      const seen: number[] = [];
      for (let page = 1, next = true; next; page += 1) {
        const { body } = await list(`sort=${sort}&page=${page}&page_size=17`);
        seen.push(...body.results.map(({ id }) => id));
        next = body.next;
        t.equal(body.count, COUNT);
      }
      t.same(
        seen.toSorted((a, b) => a - b),
        ids,
        `sort=${sort}: each once`,
      );
    }
  });

  await t.test('the pk is the last key', async (t) => {
    const { body } = await list('sort=stock&page_size=100');
    const even = ids.filter((_, index) => index % 2 === 0);
    t.same(
      body.results.slice(0, even.length).map(({ id }) => id),
      even,
    );
  });

  await t.test('other lists are paginated in the same way', async (t) => {
    const roles = await shop.get<Page<unknown>>('/api/roles?page_size=1&page=2', { token });
    t.match(roles.body, { count: 2, next: false, previous: true });
    t.equal(roles.body.results.length, 1);
    const accounts = await shop.get<Page<unknown>>('/api/accounts', { token });
    t.match(accounts.body, { count: 1, next: false, previous: false });
  });
});
