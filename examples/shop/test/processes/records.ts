import { randomBytes } from 'node:crypto';
import type { Test } from 'tap';
import { type Page, type Product, onlyProducts } from '../support/records.ts';
import type { Shop } from '../support/shop.ts';
import type { Shops } from '../support/shops.ts';

const PRODUCT = { name: 'A', price: 1 };

export async function recordsTogether(t: Test, shops: Shops): Promise<void> {
  const [first, second] = shops.all as readonly Shop[] as readonly [Shop, Shop];
  const token = await first.login();
  t.equal((await second.get('/api/roles', { token })).status, 200, 'a token of one is good at the other');

  await onlyProducts(first, token, []);
  const created = await Promise.all(
    Array.from({ length: 20 }, (_, index) => shops.at(index).post('/api/products', PRODUCT, { token })),
  );
  t.same(new Set(created.map(({ status }) => status)), new Set([201]));
  for (const shop of shops.all) t.equal((await shop.get<Page<Product>>('/api/products')).body.count, 20);

  // On SQLite, one of two processes that update concurrently may get a 503 and try again.
  if (first.kind === 'postgresql') {
    await t.test('concurrent updates are not lost', (t) => updates(t, first, second, token));
  }

  const name = randomBytes(6).toString('hex');
  const roles = await Promise.all(shops.all.map((shop) => shop.post('/api/roles', { name }, { token })));
  const statuses = roles.map(({ status }) => status).toSorted((a, b) => a - b);
  t.same(statuses, [201, ...shops.all.slice(1).map(() => 409)], 'a unique name is taken once');
}

async function updates(t: Test, first: Shop, second: Shop, token: string): Promise<void> {
  const [product] = await onlyProducts(first, token, [PRODUCT]);
  const path = `/api/products/${product?.id}`;
  for (let round = 1; round <= 10; round += 1) {
    const answers = await Promise.all([
      first.patch(path, { name: `n${round}` }, { token }),
      second.patch(path, { stock: round }, { token }),
    ]);
    t.same(
      answers.map(({ status }) => status),
      [200, 200],
    );
    t.match((await first.get(path, { token })).body, { name: `n${round}`, stock: round });
  }
}
