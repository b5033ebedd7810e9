import { isError, isInvalid } from './support/expect.ts';
import { type Page, type Product, namesOf, onlyProducts } from './support/records.ts';
import type { Test } from 'tap';
import { type Shop, withShop } from './support/shop.ts';

withShop({}, async (t, shop) => {
  const token = await shop.login();

  await t.test('the list of the first start', async (t) => {
    const answer = await shop.get<Page<Product>>('/api/products');
    t.equal(answer.status, 200);
    t.notOk(answer.headers.has('ratelimit-limit'), 'throttles are off: no rule applied');
    t.same(Object.keys(answer.body), ['count', 'next', 'previous', 'results']);
    t.match(answer.body, { count: 50, next: true, previous: false });
    t.equal(answer.body.results.length, 10);
    t.same(
      Object.keys(answer.body.results[0] ?? {}),
      ['id', 'name', 'price', 'stock'],
      'records are in the read shape',
    );
  });

  await t.test('sort', (t) => sorting(t, shop, token));
  await t.test('a query parameter that nothing declares is refused', (t) => unknownParameters(t, shop, token));
  await t.test('an empty value counts as absent', async (t) => {
    const plain = await shop.get('/api/products');
    for (const name of [
      'page',
      'page_size',
      'search',
      'sort',
      'filter',
      'name',
      'min_price',
      'max_price',
      'min_stock',
    ]) {
      for (const query of [`${name}=`, name]) {
        const answer = await shop.get(`/api/products?${query}`);
        t.equal(answer.status, 200, query);
        t.same(answer.body, plain.body, query);
      }
    }
    t.equal((await shop.get('/api/products?&&&')).status, 200, 'nothing but separators');
  });
  await t.test('a parameter given twice is refused', async (t) => {
    for (const [name, value] of [
      ['page', '1'],
      ['page_size', '5'],
      ['search', 'a'],
      ['sort', 'name'],
      ['filter', '{"==":[{"var":"id"},1]}'],
      ['min_price', '1'],
      ['max_price', '1'],
      ['min_stock', '1'],
    ]) {
      const query = `${name}=${encodeURIComponent(value!)}`;
      isInvalid(t, await shop.get(`/api/products?${query}&${query}`), [`/${name}`], `${name} twice`);
    }
    t.equal((await shop.get('/api/products?name=a&name=b')).status, 200, 'an exact filter twice means one of');
  });
  await t.test('NUL and malformed text are refused', async (t) => {
    for (const name of [
      'page',
      'page_size',
      'search',
      'sort',
      'filter',
      'name',
      'min_price',
      'max_price',
      'min_stock',
    ]) {
      isError(t, await shop.get(`/api/products?${name}=a%00b`), 'invalid_usage', `NUL in ${name}`);
      isError(t, await shop.get(`/api/products?${name}=%00`), 'invalid_usage', `NUL as ${name}`);
    }
    isInvalid(t, await shop.get('/api/products?name=a&name=%00'), ['/name'], 'NUL in the second');
  });
  await t.test('search, filters, order and pages work together', async (t) => {
    await onlyProducts(
      shop,
      token,
      [4, 2, 5, 1, 3, 6].map((price) => ({ name: price === 6 ? 'other' : 'it', price, stock: price })),
    );
    const filter = encodeURIComponent('{"<":[{"var":"stock"},5]}');
    const answer = await shop.get<Page<Product>>(
      `/api/products?search=it&min_price=2&filter=${filter}&sort=-price&page_size=2`,
    );
    t.match(answer.body, { count: 3, next: true, previous: false });
    t.same(
      answer.body.results.map(({ price }) => price),
      [4, 3],
    );
  });
});

async function sorting(t: Test, shop: Shop, token: string): Promise<void> {
  await onlyProducts(shop, token, [
    { name: 'b', price: 2, stock: 1 },
    { name: 'a', price: 2, stock: 2 },
    { name: 'c', price: 1, stock: 3 },
    { name: 'd', price: 10, stock: 3 },
    { name: 'e', price: 10, stock: 1 },
  ]);
  for (const [sort, names] of [
    ['', 'bacde'],
    ['id', 'bacde'],
    ['-id', 'edcab'],
    ['name', 'abcde'],
    ['-name', 'edcba'],
    ['price', 'cbade'],
    ['-price', 'debac'],
    ['stock', 'beacd'],
    ['-price,name', 'deabc'],
    ['-price,-name', 'edbac'],
    ['price,-stock', 'cabde'],
    ['-stock,price,id', 'cdabe'],
  ]) {
    t.same(await namesOf(shop, `sort=${sort}`), names!.split(''), `sort=${sort}`);
  }
  const unknown = await shop.get('/api/products?sort=prize');
  isInvalid(t, unknown, ['/sort'], 'an unknown name');
  for (const name of ['id', 'name', 'price', 'stock']) t.match(unknown.body.error, name, `the message lists ${name}`);
  for (const sort of [
    'name,prize',
    '--name',
    '-',
    ' name;',
    'password',
    'name__length',
    'NAME',
    '+-name',
    '__proto__',
    'constructor',
    'toString',
    "name'",
    'name desc',
    'role.name',
    '1',
    '-'.repeat(500),
    'name,'.repeat(2000),
  ]) {
    const answer = await shop.get(`/api/products?sort=${encodeURIComponent(sort)}`);
    isInvalid(t, answer, ['/sort'], `sort=${sort.slice(0, 40)}`);
  }
}

async function unknownParameters(t: Test, shop: Shop, token: string): Promise<void> {
  const misspelt = await shop.get('/api/products?min_prize=1');
  isInvalid(t, misspelt, ['/min_prize'], 'a misspelt filter');
  t.match(misspelt.body.error, /min_prize/, 'the message names it');
  t.match(misspelt.body.error, /min_price/, 'and the nearest declared name');
  for (const [name, nearest] of [
    ['serach', 'search'],
    ['pagesize', 'page_size'],
    ['Page', 'page'],
    ['sorts', 'sort'],
    ['filters', 'filter'],
    ['max_prise', 'max_price'],
    ['min_stok', 'min_stock'],
  ]) {
    const answer = await shop.get(`/api/products?${name}=1`);
    isInvalid(t, answer, [`/${name}`], name);
    t.match(answer.body.error, nearest, `${name}: the message names ${nearest}`);
  }
  for (const name of [
    'id',
    'price',
    'stock',
    'limit',
    'offset',
    'cursor',
    'price__gte',
    'name__icontains',
    '__proto__',
    'constructor',
    'hasOwnProperty',
    'name[]',
    'name[$ne]',
    'page ',
    'x'.repeat(5000),
    '%F0%9F%92%A9',
  ]) {
    isError(t, await shop.get(`/api/products?${name}=1`), 'invalid_usage', name.slice(0, 40));
  }
  isInvalid(t, await shop.get('/api/products?a=1&b=2&name=x'), ['/a', '/b'], 'several');
  isInvalid(t, await shop.get('/api/products?nonsense'), ['/nonsense'], 'without a value');
  isInvalid(t, await shop.get('/api/products/featured?nonsense=1', { token }), ['/nonsense'], 'an action');
  isInvalid(t, await shop.get('/api/roles?nonsense=1', { token }), ['/nonsense'], 'another list');
}
