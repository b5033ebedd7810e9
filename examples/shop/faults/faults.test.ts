/**
 * `pnpm test:faults`: two shops on one PostgreSQL and one Redis, under a steady load, while stores and shops are killed and started again.
 * The guarantees for each failure are asserted; the figures are printed at the end.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { startPostgres, startRedis, type TestServer } from '../../../scripts/servers.ts';
import type { ShopProcess } from '../test/support/shop-process.ts';
import { type Shop, startShop } from '../test/support/shop.ts';
import { Product } from '../src/entities/product.ts';
import { pastShop } from '../test/support/database.ts';
import type { Arena } from './arena.ts';
import { AFTER_MS, databaseFault, DOWN_MS, reports } from './database-fault.ts';
import type { Entry } from './journal.ts';
import type { Phase } from './phase.ts';
import { underLoad } from './under-load.ts';

const [postgres, redis] = await Promise.all([startPostgres('crash'), startRedis()]);
const missing = postgres === undefined || redis === undefined;
const skip =
  missing && process.env['CI'] !== 'true' ? 'PostgreSQL or Redis is not installed: no fault was tried' : false;

t.test('faults', { skip }, async (t) => {
  if (postgres === undefined || redis === undefined) throw new Error('PostgreSQL and Redis must be installed under CI');
  t.teardown(() => Promise.all([postgres.stop(), redis.stop()]));
  const variables = {
    REDIS_URL: redis.url,
    // Every request is counted, and no request is throttled.
    THROTTLE_IP: '1000000/5',
    SHUTDOWN_DELAY: '1',
  };
  const start = (): Promise<Shop> => startShop(t, { kind: 'postgresql', databaseUrl: postgres.url, variables });
  await underLoad(t, {
    start,
    whenCalm: (t, { entries }) =>
      t.ok(
        entries.every(({ counted }) => counted),
        'every request was counted',
      ),
    faults: async (arena, phase) => {
      await phase('Redis is killed', (t) => redisFault(t, arena, redis, 'killed'));
      await phase('Redis is silent', (t) => redisFault(t, arena, redis, 'silent'));
      for (const name of ['PostgreSQL is killed', 'PostgreSQL is killed again']) {
        const crash = { check: 'postgresql', down: () => postgres.kill('SIGQUIT'), up: () => postgres.restart() };
        await phase(name, (t) => databaseFault(t, arena, name, crash));
      }
      await phase('a shop stops on SIGTERM', (t) => rollingRestart(t, arena, start));
      await phase('a shop dies of SIGKILL', (t) => suddenDeath(t, arena, start));
    },
    stored: () => pastShop(postgres.url, (em) => em.find(Product, {})),
  });
});

/** Throttles let requests pass uncounted; codes, which need Redis, are 503; nothing else notices. */
async function redisFault(t: Test, arena: Arena, redis: TestServer, how: 'killed' | 'silent'): Promise<Phase> {
  const name = `Redis is ${how}`;
  let downAt = 0;
  // A server that comes back responds before its start is known to be done.
  let restartedAt = 0;
  let backAt = 0;
  const phase = await arena.during(name, async () => {
    if (how === 'killed') await redis.kill('SIGKILL');
    else redis.signal('SIGSTOP');
    downAt = performance.now();
    await sleep(DOWN_MS);
    for (const shop of arena.shops) await reports(t, shop, 'redis', 'unavailable');
    restartedAt = performance.now();
    if (how === 'killed') await redis.restart();
    else redis.signal('SIGCONT');
    backAt = performance.now();
    await sleep(AFTER_MS);
    for (const shop of arena.shops) await reports(t, shop, 'redis', 'ok');
  });
  phase.holds(t, { mayFail: ({ kind }) => kind === 'code' });
  const down = phase.entries.filter(({ startedAt, endedAt }) => startedAt > downAt + 1000 && endedAt < restartedAt);
  const codes = down.filter(({ kind }) => kind === 'code');
  t.ok(codes.length > 0 && codes.every(({ status }) => status === 503), 'meanwhile no code is sent');
  t.ok(
    down.every(({ counted }) => !counted),
    'and nothing is counted',
  );
  phase.recovers(t, backAt, arena.shops, ({ status, counted }) => status < 300 && counted);
  return phase;
}

/** The load balancer is notified before the shop stops listening, and every request gets its response. */
async function rollingRestart(t: Test, arena: Arena, start: () => Promise<Shop>): Promise<Phase> {
  const [old] = arena.shops as [Shop<ShopProcess>];
  const phase = await arena.during('a shop stops on SIGTERM', async () => {
    await sleep(500);
    const exit = old.process.stop('SIGTERM');
    await sleep(300);
    t.equal((await old.get('/health/ready')).status, 503, 'not ready any more');
    t.equal((await old.get('/api/products')).status, 200, 'while it still answers');
    t.same(await exit, { code: 0, signal: null }, 'exit code 0');
    arena.replace(old, await start());
    await sleep(2000);
  });
  phase.holds(t);
  return phase;
}

/** Requests in flight on that shop get no response; no other request is affected. */
async function suddenDeath(t: Test, arena: Arena, start: () => Promise<Shop>): Promise<Phase> {
  const [old] = arena.shops as [Shop<ShopProcess>];
  let killedAt = 0;
  const isGone = ({ shop, startedAt }: Entry): boolean => shop === old && startedAt < killedAt + 1000;
  const phase = await arena.during('a shop dies of SIGKILL', async () => {
    await sleep(500);
    killedAt = performance.now();
    t.same(await old.process.stop('SIGKILL'), { code: null, signal: 'SIGKILL' });
    await sleep(1500);
    arena.replace(old, await start());
    await sleep(2000);
  });
  phase.holds(t, { mayVanish: isGone });
  return phase;
}
