import type { Test } from 'tap';
import { isError } from '../support/expect.ts';
import { type Health, untilHealth } from '../support/health.ts';
import type { ShopProcess } from '../support/shop-process.ts';
import type { Shop } from '../support/shop.ts';
import { redisClient } from '../../../../packages/core/test/support/redis.ts';
import type { Shops } from '../support/shops.ts';

/** faults/faults.test.ts tests PostgreSQL going down and coming back, because there the test controls the server. */
export async function storesThatFail(t: Test, shops: Shops): Promise<void> {
  await t.test('both stores are up', async (t) => {
    for (const shop of shops.all) {
      const { status, body } = await shop.get<Health>('/health/');
      t.equal(status, 200);
      t.match(body, { status: 'ok', checks: { postgresql: { status: 'ok' }, redis: { status: 'ok' } } });
    }
  });

  await t.test('Redis goes down and comes back', async (t) => {
    await shops.redis.kill();
    for (const shop of shops.all) {
      const { status, body, text } = await untilHealth(shop, 503);
      t.equal(status, 503);
      t.match(body, {
        status: 'unavailable',
        checks: { postgresql: { status: 'ok' }, redis: { status: 'unavailable' } },
      });
      t.notMatch(text, /ECONN|127\.0\.0\.1/, 'without a word of why');
      t.equal((await shop.get('/health/live')).status, 200);
      t.equal((await shop.get('/health/ready')).status, 200, 'a load balancer still sends it requests');
      t.equal((await shop.get('/api/products')).status, 200, 'what needs no Redis works');
      const code = await shop.post('/api/auth/send-verification-email', { email: 'ann@example.com' });
      isError(t, code, 'service_unavailable', 'what does, does not');
    }
    await shops.redis.start();
    for (const shop of shops.all) t.equal((await untilHealth(shop, 200)).status, 200, 'without a restart');
  });

  await t.test('Redis responds no more, or takes no writes', async (t) => {
    shops.redis.freeze();
    for (const shop of shops.all) {
      t.equal((await untilHealth(shop, 503)).status, 503);
      t.equal((await shop.get('/health/ready')).status, 200);
      t.equal((await shop.get('/api/products')).status, 200);
    }
    shops.redis.thaw();
    for (const shop of shops.all) await untilHealth(shop, 200);
    const client = redisClient(t, shops.redis.url);
    await client.config('SET', 'maxmemory', '1');
    for (const shop of shops.all) {
      t.equal((await untilHealth(shop, 503)).status, 503);
      t.equal((await shop.get('/health/ready')).status, 200);
      t.equal((await shop.get('/api/products')).status, 200);
    }
    await client.config('SET', 'maxmemory', '0');
    for (const shop of shops.all) t.equal((await untilHealth(shop, 200)).status, 200);
  });

  await t.test('a shop is not ready from SIGTERM on, before it stops listening', async (t) => {
    const [leaving, staying] = shops.all as readonly [Shop<ShopProcess>, Shop<ShopProcess>, ...Shop<ShopProcess>[]];
    t.equal((await leaving.get('/health/ready')).status, 200);
    const from = leaving.process.log.length;
    const exit = leaving.process.stop('SIGTERM');
    await leaving.process.logged(({ msg }) => msg === 'stopping', from);
    // Each on a new connection: the shop is still listening.
    const [ready, live, products] = await Promise.all(
      ['/health/ready', '/health/live', '/api/products'].map((path) =>
        leaving.raw(`GET ${path} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n`),
      ),
    );
    t.equal(ready?.status, 503);
    t.match(ready?.body, { status: 'unavailable' });
    t.equal(live?.status, 200);
    t.equal(products?.status, 200);
    t.same(await exit, { code: 0, signal: null });
    t.equal((await staying.get('/health/ready')).status, 200, 'the other one stays');
  });
}
