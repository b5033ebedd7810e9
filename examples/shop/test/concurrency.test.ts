import { isError, isInvalid } from './support/expect.ts';
import { type Page, type Product, onlyProducts } from './support/records.ts';
import { ADMIN, PASSWORD, withShop } from './support/shop.ts';

const MANY = 24;
const many = <Result>(make: (index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: MANY }, (_, index) => make(index)));
const statuses = (answers: readonly { status: number }[]): number[] =>
  answers.map(({ status }) => status).toSorted((a, b) => a - b);

withShop({}, async (t, shop) => {
  const token = await shop.login();

  await t.test('one code, many concurrent registrations: exactly one 201, the others 400', async (t) => {
    const email = 'race@example.com';
    const code = await shop.verificationCode(email);
    const answers = await many((index) =>
      shop.post('/api/auth/register', { email, password: PASSWORD, name: `N${index}`, code }),
    );
    t.same(statuses(answers), [201, ...Array(MANY - 1).fill(400)]);
    for (const answer of answers) if (answer.status !== 201) isError(t, answer, 'invalid_usage');
    const accounts = await shop.get<Page<{ email: string }>>('/api/accounts?page_size=100', { token });
    t.equal(accounts.body.results.filter((account) => account.email === email).length, 1);
    await shop.login({ email, password: PASSWORD });
  });

  await t.test('one unique name, many creates: exactly one 201, the others 409', async (t) => {
    const answers = await many(() => shop.post('/api/roles', { name: 'race' }, { token }));
    t.same(statuses(answers), [201, ...Array(MANY - 1).fill(409)]);
  });

  await t.test('two concurrent updates of one record keep the fields that only one of them sent', async (t) => {
    const [product] = await onlyProducts(shop, token, [{ name: 'start', price: 1, stock: 0 }]);
    const path = `/api/products/${product?.id}`;
    for (let round = 1; round <= 10; round += 1) {
      const answers = await Promise.all([
        shop.patch(path, { name: `n${round}` }, { token }),
        shop.patch(path, { price: round }, { token }),
        shop.patch(path, { stock: round }, { token }),
      ]);
      t.same(statuses(answers), [200, 200, 200]);
      t.match((await shop.get(path, { token })).body, { name: `n${round}`, price: round, stock: round });
    }
  });

  await t.test('many destroys of one record: exactly one 204, the others 404', async (t) => {
    const [product] = await onlyProducts(shop, token, [{ name: 'gone' }]);
    const answers = await many(() => shop.delete(`/api/products/${product?.id}`, { token }));
    t.same(statuses(answers), [204, ...Array(MANY - 1).fill(404)]);
  });

  await t.test('an update and a destroy of one record: 200 or 404, and it is gone', async (t) => {
    for (let round = 0; round < 5; round += 1) {
      const [product] = await onlyProducts(shop, token, [{ name: 'gone' }]);
      const path = `/api/products/${product?.id}`;
      const [update, destroy] = await Promise.all([
        shop.patch(path, { stock: 5 }, { token }),
        shop.delete(path, { token }),
      ]);
      t.ok([200, 404].includes(update.status), `update: ${update.status}`);
      t.equal(destroy.status, 204);
      isError(t, await shop.get(path, { token }), 'not_found');
    }
  });

  await t.test('creates and reads of all kinds at once', async (t) => {
    await onlyProducts(shop, token, []);
    const created = await many((index) =>
      shop.post<Product>('/api/products', { name: `p${index}`, price: index + 1 }, { token }),
    );
    const reads = await many((index) =>
      shop.get(
        [`/api/products?page=${1 + (index % 3)}`, '/api/products/featured', '/api/roles', '/health/'][index % 4]!,
        { token },
      ),
    );
    t.same(statuses(created), Array(MANY).fill(201));
    t.same(statuses(reads), Array(MANY).fill(200));
    t.equal(new Set(created.map(({ body }) => body.id)).size, MANY, 'each has an id of its own');
    t.equal((await shop.get<Page<Product>>('/api/products')).body.count, MANY);
  });

  await t.test('writes that fail are never visible to others', async (t) => {
    const before = (await shop.get<Page<unknown>>('/api/roles', { token })).body.count;
    const counts: number[] = [];
    await many(async (index) => {
      if (index % 2 === 0) await shop.post('/api/roles', { name: 'admin' }, { token });
      else counts.push((await shop.get<Page<unknown>>('/api/roles', { token })).body.count);
    });
    t.same(counts, Array(MANY / 2).fill(before));
  });

  await t.test('logins at once', async (t) => {
    const answers = await many((index) =>
      shop.post('/api/auth/login', index % 3 === 0 ? { ...ADMIN, password: 'wrong-password' } : ADMIN),
    );
    t.same(statuses(answers), [...Array(MANY - MANY / 3).fill(200), ...Array(MANY / 3).fill(401)]);
  });

  await t.test('wrong tries at once: five void the code', async (t) => {
    const email = 'tries@example.com';
    const code = await shop.verificationCode(email);
    const wrong = code === '000000' ? '111111' : '000000';
    const body = { email, password: PASSWORD, name: 'N', code: wrong };
    // The tenth wrong code blocks the address, as the tenth wrong password does.
    const tries = await Promise.all(Array.from({ length: 9 }, () => shop.post('/api/auth/register', body)));
    t.same(statuses(tries), Array(9).fill(400));
    isInvalid(t, await shop.post('/api/auth/register', { ...body, code }), ['/code']);
  });

  await t.test('sends at once: exactly five', async (t) => {
    const answers = await many(() => shop.post('/api/auth/send-verification-email', { email: 'often@example.com' }));
    t.same(statuses(answers), [...Array(5).fill(200), ...Array(MANY - 5).fill(429)]);
  });
});
