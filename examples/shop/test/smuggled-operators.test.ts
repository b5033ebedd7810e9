/** MongoDB operators in values of clients: they are stored as values or rejected, on every database, and change nothing. */
import type { Test } from 'tap';
import { isError } from './support/expect.ts';
import { onlyProducts, type Page, type Product } from './support/records.ts';
import { ADMIN, PASSWORD, withShop } from './support/shop.ts';

const OPERATORS = [
  { $gt: '' },
  { $ne: null },
  { $regex: '.*' },
  { $in: ['admin@example.com'] },
  { $where: 'true' },
  { $expr: { $eq: [1, 1] } },
  { $exists: true },
  { _bsontype: 'Code', code: 'true' },
  [{ $gt: '' }],
] as const;

/** Texts that an expression of MongoDB would read as a field or a variable. */
const EXPRESSIONS = ['$name', '$$ROOT', '$$REMOVE', '$_id', '{"$gt":""}'];

withShop({}, async (t, shop) => {
  const token = await shop.login();
  const [product] = await onlyProducts(shop, token, [{ name: 'Tea', price: 2, stock: 5 }]);
  const path = `/api/products/${product!.id}`;
  const all = '/api/products?page_size=100';
  const before = (await shop.get(all)).body;
  const unchanged = async (t: Test): Promise<void> => void t.same((await shop.get(all)).body, before);

  await t.test('in the bodies of auth', async (t) => {
    const code = await shop.verificationCode('smuggler@example.com');
    for (const operator of OPERATORS) {
      for (const [route, body] of [
        ['login', { email: operator, password: ADMIN.password }],
        ['login', { email: ADMIN.email, password: operator }],
        ['login', { email: operator, password: operator }],
        ['send-verification-email', { email: operator }],
        ['register', { email: operator, password: PASSWORD, name: 'A', code }],
        ['register', { email: 'smuggler@example.com', password: operator, name: 'A', code }],
        ['register', { email: 'smuggler@example.com', password: PASSWORD, name: operator, code }],
        ['register', { email: 'smuggler@example.com', password: PASSWORD, name: 'A', code: operator }],
      ] as const) {
        const answer = await shop.post(`/api/auth/${route}`, body);
        isError(t, answer, 'invalid_usage');
      }
    }
    const accounts = (await shop.get<Page<{ email: string }>>('/api/accounts', { token })).body.results;
    t.same(
      accounts.map(({ email }) => email),
      [ADMIN.email],
    );
  });

  await t.test('in the key of a path', async (t) => {
    for (const key of ['{"$gt":0}', '[object Object]', '$where', '__proto__', 'constructor', '1;sleep(1)', '{$ne:1}']) {
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        const answer = await shop.request(method, `/api/products/${encodeURIComponent(key)}`, {
          token,
          ...(method === 'PATCH' ? { json: { stock: 1 } } : {}),
        });
        isError(t, answer, 'not_found');
      }
    }
    await unchanged(t);
  });

  await t.test('in the query string', async (t) => {
    for (const query of [
      'name[$gt]=',
      'name[$ne]=x',
      'name.$gt=',
      '$where=true',
      '__proto__=1',
      '__proto__[x]=1',
      'min_price={"$gt":0}',
      'min_price[$gt]=0',
      'sort=$natural',
      'sort=_id',
      'sort=-_lock',
      'page={"$gt":0}',
      'page[$gt]=0',
    ]) {
      isError(t, await shop.get(`/api/products?${query}`), 'invalid_usage');
    }
    for (const text of EXPRESSIONS) {
      for (const parameter of ['name', 'search']) {
        const answer = await shop.get<Page<Product>>(`/api/products?${parameter}=${encodeURIComponent(text)}`);
        t.match(answer, { status: 200, body: { count: 0 } }, `${parameter}=${text}`);
      }
    }
  });

  await t.test('in a filter', async (t) => {
    const filtered = (filter: unknown) =>
      shop.get<Page<Product>>(`/api/products?filter=${encodeURIComponent(JSON.stringify(filter))}`);
    const name = { var: 'name' };
    for (const operator of OPERATORS) {
      for (const filter of [
        operator,
        { '==': [name, operator] },
        { '!=': [name, operator] },
        { '<': [operator, name] },
      ]) {
        isError(t, await filtered(filter), 'invalid_usage');
      }
    }
    for (const variable of ['$where', 'name.$gt', '_id', '_lock', '__proto__', 'constructor', '$name', 'name.']) {
      isError(t, await filtered({ '==': [{ var: variable }, 'x'] }), 'invalid_usage');
    }
    for (const text of EXPRESSIONS) {
      for (const filter of [
        { '==': [name, text] },
        { in: [text, name] },
        { in: [name, [text]] },
        { '==': [text, name] },
      ]) {
        t.match(await filtered(filter), { status: 200, body: { count: 0 } }, JSON.stringify(filter));
      }
      t.match(await filtered({ '!=': [name, text] }), { status: 200, body: { count: 1 } });
    }
  });

  await t.test('in bodies of records', async (t) => {
    for (const operator of OPERATORS) {
      for (const field of ['name', 'price', 'stock']) {
        const json = { name: 'A', price: 1, stock: 1, [field]: operator };
        isError(t, await shop.post('/api/products', json, { token }), 'invalid_usage');
        isError(t, await shop.patch(path, { [field]: operator }, { token }), 'invalid_usage');
      }
    }
    const dropped: readonly object[] = [
      { $inc: { stock: 1 } },
      { $set: { name: 'x' } },
      { $unset: { name: '' } },
      { 'stock.$inc': 1 },
      { _id: 999, _lock: 999, id: 999 },
      { constructor: { prototype: { stock: 1 } } },
    ];
    for (const json of dropped) t.equal((await shop.patch(path, json, { token })).status, 200, JSON.stringify(json));
    const polluted = await shop.request('PATCH', path, {
      token,
      body: '{"__proto__":{"stock":1}}',
      headers: { 'content-type': 'application/json' },
    });
    t.ok(polluted.status < 500, `__proto__: ${polluted.status}`);
    await unchanged(t);
    for (const text of EXPRESSIONS) {
      const changed = await shop.patch<Product>(path, { name: text }, { token });
      t.match(changed, { status: 200, body: { name: text } });
      t.equal((await shop.get<Product>(path, { token })).body.name, text, 'a text is stored as it is');
      const found = await shop.get<Page<Product>>(`/api/products?name=${encodeURIComponent(text)}`);
      t.equal(found.body.count, 1);
    }
  });
});
