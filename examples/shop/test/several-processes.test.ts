import { randomBytes } from 'node:crypto';
import { missingServer, TEST_DATABASES } from '@viewset/testing';
import t, { type Test } from 'tap';
import { type Page, type Product, onlyProducts } from './support/records.ts';
import { PASSWORD, type Shop, type ShopOptions, startShop } from './support/shop.ts';

const PRODUCT = { name: 'A', price: 1 };

async function startTwo(t: Test, options: ShopOptions): Promise<[Shop, Shop]> {
  const first = await startShop(t, options);
  return [first, await startShop(t, { ...options, databaseUrl: first.databaseUrl })];
}

for (const kind of TEST_DATABASES) {
  t.test(`on one database, ${kind}`, { skip: missingServer(kind) }, async (t) => {
    const [first, second] = await startTwo(t, { kind });
    const token = await first.login();
    t.equal((await second.get('/api/roles', { token })).status, 200, 'a token of one is good at the other');

    await onlyProducts(first, token, []);
    const shops = [first, second];
    const created = await Promise.all(
      Array.from({ length: 20 }, (_, index) => shops[index % 2]!.post('/api/products', PRODUCT, { token })),
    );
    t.same(new Set(created.map(({ status }) => status)), new Set([201]));
    t.equal((await second.get<Page<Product>>('/api/products')).body.count, 20);

    // On SQLite, of two processes that update at once one may be told to try again (503).
    if (kind === 'postgresql') await t.test('no update is lost', (t) => updates(t, shops, token));

    const names = await Promise.all([first, second].map((shop) => shop.post('/api/roles', { name: 'one' }, { token })));
    t.same(new Set(names.map(({ status }) => status)), new Set([201, 409]), 'a unique name is taken once');
  });
}

async function updates(t: Test, [first, second]: Shop[], token: string): Promise<void> {
  const [product] = await onlyProducts(first!, token, [PRODUCT]);
  const path = `/api/products/${product?.id}`;
  for (let round = 1; round <= 10; round += 1) {
    const answers = await Promise.all([
      first!.patch(path, { name: `n${round}` }, { token }),
      second!.patch(path, { stock: round }, { token }),
    ]);
    t.same(
      answers.map(({ status }) => status),
      [200, 200],
    );
    t.match((await first!.get(path, { token })).body, { name: `n${round}`, stock: round });
  }
}

const REDIS_URL = process.env['TEST_REDIS_URL'] ?? '';
const noRedis = REDIS_URL === '' && process.env['CI'] !== 'true' ? 'Redis is NOT TESTED: set TEST_REDIS_URL' : false;

t.test('with one Redis', { skip: noRedis }, async (t) => {
  const variables = { REDIS_URL, TRUST_PROXY: 'on', THROTTLE_IP: '20/600' };
  const shops = await startTwo(t, { variables });
  const [first, second] = shops;

  await t.test('the count of a rule is exact', async (t) => {
    const headers = newClient();
    const requests = Array.from({ length: 60 }, (_, index) => shops[index % 2]!.get('/api/products', { headers }));
    const statuses = (await Promise.all(requests)).map(({ status }) => status);
    t.equal(statuses.filter((status) => status === 200).length, 20);
    t.equal(statuses.filter((status) => status === 429).length, 40);
  });

  await t.test('a code that one has sent is good at the other, once', async (t) => {
    const headers = newClient();
    const email = `${randomBytes(6).toString('hex')}@example.com`;
    const code = await first.verificationCode(email, { headers });
    const body = { email, password: PASSWORD, name: 'N', code };
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => shops[index % 2]!.post('/api/auth/register', body, { headers })),
    );
    t.equal(answers.filter(({ status }) => status === 201).length, 1);
    t.equal(answers.filter(({ status }) => status === 400).length, 9);
  });

  await t.test('health checks it', async (t) => {
    const { status, body } = await second.get<{ checks: object }>('/health/');
    t.equal(status, 200);
    t.same(Object.keys(body.checks).toSorted(), ['redis', 'sqlite']);
  });
});

/** A client that no request has come from before, in no run of the tests. */
function newClient(): Record<string, string> {
  return { 'x-forwarded-for': `2001:db8:${randomBytes(2).toString('hex')}:${randomBytes(2).toString('hex')}::1` };
}
