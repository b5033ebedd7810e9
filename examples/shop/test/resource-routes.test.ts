import { isError, isInvalid } from './support/expect.ts';
import type { Answer } from './support/http-client.ts';
import type { Test } from 'tap';
import { type Shop, withShop } from './support/shop.ts';

interface Product {
  id: number;
  name: string;
  price: number;
  stock: number;
}

withShop({}, async (t, shop) => {
  const token = await shop.login();

  await t.test('create: 201, the read shape, Location', async (t) => {
    const answer = await shop.post<Product>('/api/products', { name: 'A', price: 12.5, stock: 3 }, { token });
    t.equal(answer.status, 201);
    const { id } = answer.body;
    t.same(answer.body, { id, name: 'A', price: 12.5, stock: 3 });
    t.equal(answer.headers.get('location'), `/api/products/${id}`);
    t.same((await shop.get(`/api/products/${id}`, { token })).body, answer.body, 'it is there');
    t.equal((await create(shop, token, { name: 'A', price: 1 })).body.stock, 0, 'stock is 0 by default');
  });

  await t.test('retrieve: 200, the read shape', async (t) => {
    const answer = await shop.get<Product>('/api/products/1', { token });
    t.equal(answer.status, 200);
    t.same(Object.keys(answer.body), ['id', 'name', 'price', 'stock']);
    t.type(answer.body.price, 'number');
  });

  await t.test('update: 200, the read shape', (t) => update(t, shop, token));
  await t.test('destroy: 204, no body', async (t) => {
    const { id } = (await create(shop, token, { name: 'A', price: 1 })).body;
    const answer = await shop.delete(`/api/products/${id}`, { token });
    t.equal(answer.status, 204);
    t.equal(answer.text, '');
    isError(t, await shop.get(`/api/products/${id}`, { token }), 'not_found', 'it is gone');
    isError(t, await shop.delete(`/api/products/${id}`, { token }), 'not_found', 'twice');
  });
  await t.test('a DELETE with a JSON content type and no body is fine', async (t) => {
    const { id } = (await create(shop, token, { name: 'A', price: 1 })).body;
    const headers = { 'content-type': 'application/json' };
    t.equal((await shop.delete(`/api/products/${id}`, { token, headers })).status, 204);
  });

  await t.test('bodies are not coerced', async (t) => {
    const wrong: [path: string, values: unknown[]][] = [
      ['/price', ['12', '', null, true, false, [], [12], {}]],
      ['/stock', ['1', null, true, 1.5, [], {}]],
      ['/name', [1, 0, null, true, [], ['A'], {}]],
    ];
    for (const [path, values] of wrong) {
      for (const value of values) {
        const body = { name: 'A', price: 1, stock: 1, [path.slice(1)]: value };
        isInvalid(
          t,
          await shop.post('/api/products', body, { token }),
          [path],
          `create with ${JSON.stringify({ [path]: value })}`,
        );
        const partial = { [path.slice(1)]: value };
        isInvalid(
          t,
          await shop.patch('/api/products/1', partial, { token }),
          [path],
          `PATCH ${JSON.stringify(partial)}`,
        );
      }
    }
  });

  await t.test('properties outside the write shape are dropped', (t) => dropped(t, shop, token));
  await t.test('price, stock and name have bounds', (t) => bounds(t, shop, token));
  await t.test('HEAD is supported wherever GET is', async (t) => {
    for (const path of [
      '/api/products',
      '/api/products/1',
      '/api/products/featured',
      '/api/products/search?q=a',
      '/api/roles',
      '/api/roles/1',
      '/api/accounts',
      '/api/accounts/1',
      '/health',
      '/health/',
    ]) {
      const [head, get] = [await shop.request('HEAD', path, { token }), await shop.get(path, { token })];
      t.equal(head.status, 200, `HEAD ${path}`);
      t.equal(head.text, '', `HEAD ${path}: no body`);
      t.equal(head.headers.get('content-type'), get.headers.get('content-type'), `HEAD ${path}: content type`);
    }
    t.equal((await shop.request('HEAD', '/api/products/999999', { token })).status, 404);
  });

  await t.test('a trailing slash makes no difference', async (t) => {
    for (const path of [
      '/api/products',
      '/api/products/1',
      '/api/products/featured',
      '/api/roles',
      '/api/accounts/1',
    ]) {
      const [without, withSlash] = [await shop.get(path, { token }), await shop.get(`${path}/`, { token })];
      t.equal(withSlash.status, 200, path);
      t.same(withSlash.body, without.body, path);
    }
    t.equal((await shop.post('/api/products/', { name: 'A', price: 1 }, { token })).status, 201);
    t.same(
      (await shop.get('/api/products/?page=2', { token })).body,
      (await shop.get('/api/products?page=2', { token })).body,
    );
  });

  await t.test('featured: at most 10 products with stock', async (t) => {
    const answer = await shop.get<{ results: Product[] }>('/api/products/featured', { token });
    t.equal(answer.status, 200);
    t.same(Object.keys(answer.body), ['results']);
    t.equal(answer.body.results.length, 10);
    t.ok(answer.body.results.every(({ stock }) => stock > 0));
    t.same(Object.keys(answer.body.results[0] ?? {}), ['id', 'name', 'price', 'stock']);
  });

  await t.test('search: an envelope with the keyword', (t) => searchAction(t, shop, token));
});

function create(shop: Shop, token: string, body: Partial<Product>): Promise<Answer<Product>> {
  return shop.post<Product>('/api/products', body, { token });
}

async function update(t: Test, shop: Shop, token: string): Promise<void> {
  const { id } = (await create(shop, token, { name: 'A', price: 1, stock: 5 })).body;
  const path = `/api/products/${id}`;
  const put = await shop.put<Product>(path, { name: 'B', price: 2, stock: 6 }, { token });
  t.equal(put.status, 200);
  t.same(put.body, { id, name: 'B', price: 2, stock: 6 });
  isInvalid(t, await shop.put(path, { name: 'C' }, { token }), ['/price'], 'PUT needs every required field');
  isInvalid(t, await shop.put(path, {}, { token }), ['/name', '/price'], 'PUT needs every required field');
  t.same((await shop.get(path, { token })).body, put.body, 'a refused update changes nothing');
  t.equal(
    (await shop.put<Product>(path, { name: 'B', price: 3 }, { token })).status,
    200,
    'PUT may leave out what is not required',
  );
  for (const [body, expected] of [
    [{ price: 4 }, { name: 'B', price: 4 }],
    [{ name: 'C' }, { name: 'C', price: 4 }],
    [{ stock: 0 }, { name: 'C', price: 4, stock: 0 }],
    [{}, { name: 'C', price: 4, stock: 0 }],
  ]) {
    const answer = await shop.patch<Product>(path, body, { token });
    t.equal(answer.status, 200, `PATCH ${JSON.stringify(body)}`);
    t.match(answer.body, { id, ...expected }, `PATCH ${JSON.stringify(body)}`);
    t.same((await shop.get(path, { token })).body, answer.body, 'and it is stored');
  }
}

async function dropped(t: Test, shop: Shop, token: string): Promise<void> {
  const extra =
    '"id":7000,"role":1,"is_active":false,"created_at":"x","__proto__":{"stock":9},"constructor":{"prototype":{"stock":9}},"prototype":1,"toString":1,"hasOwnProperty":1,"name ":"x","NAME":"x","":1';
  const answer = await shop.request<Product>('POST', '/api/products', {
    token,
    body: `{"name":"A","price":1,${extra}}`,
  });
  t.equal(answer.status, 201);
  t.same(answer.body, { id: answer.body.id, name: 'A', price: 1, stock: 0 });
  t.not(answer.body.id, 7000);
  const path = `/api/products/${answer.body.id}`;
  const patched = await shop.request<Product>('PATCH', path, { token, body: `{"name":"B",${extra}}` });
  t.equal(patched.status, 200);
  t.same(patched.body, { ...answer.body, name: 'B' });
  t.equal(
    (await shop.request('PATCH', path, { token, body: `{${extra}}` })).status,
    200,
    'nothing but what is dropped',
  );
  isError(t, await shop.get('/api/products/7000', { token }), 'not_found');
}

async function bounds(t: Test, shop: Shop, token: string): Promise<void> {
  const good: Partial<Product>[] = [
    ...[
      0.01, 0.1, 0.29, 1, 1.1, 4.35, 19.99, 1234.5, 8.2, 1.15, 1.005e2, 99999999.99, 99999999.9, 99999999, 70000000.07,
      1e7,
    ].map((price) => ({ price })),
    ...[0, 1, 2147483647].map((stock) => ({ stock })),
    ...[
      'x',
      'x'.repeat(200),
      '💩'.repeat(200),
      'É',
      ' ',
      '<script>',
      "'; drop table product; --",
      '\u0001',
      '\ufeff',
      'a\nb',
      '\u202e',
      '%',
      '\\',
    ].map((name) => ({ name })),
  ];
  for (const fields of good) {
    const answer = await create(shop, token, { name: 'A', price: 1, stock: 1, ...fields });
    t.equal(answer.status, 201, `${JSON.stringify(fields).slice(0, 60)} is taken`);
    t.match(answer.body, fields, 'and given back');
    t.same((await shop.get(`/api/products/${answer.body.id}`, { token })).body, answer.body, 'and stored');
  }
  const bad: [path: string, literals: string[]][] = [
    [
      '/price',
      [
        '0',
        '-0',
        '-1',
        '-0.01',
        '0.001',
        '0.009',
        '1.001',
        '12.345',
        '99999999.991',
        '100000000',
        '1e8',
        '1e21',
        '1e308',
        '1e400',
        '-1e400',
        '99999999.999',
        '1e-3',
        '1e-400',
        '0.1e-1000',
        '123456789012345678901234567890',
      ],
    ],
    ['/stock', ['-1', '2147483648', '1.5', '0.1', '1e10', '1e400', '9007199254740993', '-2147483649', '1e-7']],
    [
      '/name',
      [
        '""',
        JSON.stringify('x'.repeat(201)),
        JSON.stringify('💩'.repeat(201)),
        '"a\\u0000b"',
        '"\\u0000"',
        '"\\ud800"',
        '"a\\udc00b"',
        '"\\udc00\\ud800"',
      ],
    ],
  ];
  for (const [path, literals] of bad) {
    for (const literal of literals) {
      const fields: Record<string, string> = { '/name': '"A"', '/price': '1', '/stock': '1', [path]: literal };
      const json = Object.entries(fields).map(([field, value]) => `"${field.slice(1)}":${value}`);
      const body = `{${json.join(',')}}`;
      isInvalid(
        t,
        await shop.request('POST', '/api/products', { token, body }),
        [path],
        `create, ${path} ${literal.slice(0, 40)}`,
      );
      const partial = `{"${path.slice(1)}":${literal}}`;
      isInvalid(
        t,
        await shop.request('PATCH', '/api/products/1', { token, body: partial }),
        [path],
        `PATCH, ${path} ${literal.slice(0, 40)}`,
      );
    }
  }
}

async function searchAction(t: Test, shop: Shop, token: string): Promise<void> {
  type Envelope = { count: number; next: boolean; previous: boolean; results: Product[]; keyword: string };
  await create(shop, token, { name: 'Élan 100% _x', price: 1 });
  const search = (query: string): Promise<Answer<Envelope>> =>
    shop.get<Envelope>(`/api/products/search${query}`, { token });
  const found = await search('?q=oAK');
  t.equal(found.status, 200);
  t.same(Object.keys(found.body).toSorted(), ['count', 'keyword', 'next', 'previous', 'results']);
  t.match(found.body, { count: 10, next: false, previous: false, keyword: 'oAK' });
  t.same(
    found.body.results.map(({ name }) => name.includes('Oak')),
    Array(10).fill(true),
  );
  t.same(Object.keys(found.body.results[0] ?? {}), ['id', 'name', 'price', 'stock']);
  const paged = await search('?q=oak&page=2&page_size=3');
  t.match(paged.body, { count: 10, next: true, previous: true });
  t.equal(paged.body.results.length, 3);
  t.match((await search('?q=nothing+of+the+kind')).body, { count: 0, next: false, previous: false, results: [] });
  for (const [q, count] of [
    ['%C3%89LAN', 1],
    ['%C3%A9lan', 1],
    ['100%25', 1],
    ['_', 1],
    ['0%25', 1],
    ['lan+100', 1],
    ['k_C', 0],
  ] as const) {
    t.equal((await search(`?q=${q}`)).body.count, count, `q=${q}`);
  }
  for (const query of ['', '?q=', '?q', '?q=&page=1']) {
    isError(t, await search(query), 'invalid_usage', `search${query}`);
  }
  for (const query of ['?q=a%00b', '?q=a&page=0', '?q=a&nonsense=1', '?q=a&q=b', '?q=a&page_size=x']) {
    isError(t, await search(query), 'invalid_usage', `search${query}`);
  }
}
