import { missingServer, type TestDatabase } from '@viewset/testing';
import type { Test } from 'tap';
import { type RedisServer, withRedisServer } from '../../../../packages/core/test/support/redis.ts';
import { freshDatabase } from './database.ts';
import { untilHealth } from './health.ts';
import type { Variables } from './running-shop.ts';
import type { ShopProcess } from './shop-process.ts';
import { type Shop, startShop } from './shop.ts';

/** Several processes of one shop, on one database and one Redis. */
export interface Shops {
  readonly all: readonly Shop<ShopProcess>[];
  readonly redis: RedisServer;
  /** One after the other, over and over. */
  at(index: number): Shop<ShopProcess>;
}

/** Runs tests against several processes of one shop, with a Redis that only this test uses. */
export function withShops(
  t: Test,
  options: { readonly processes: number; readonly kind?: TestDatabase; readonly variables?: Variables },
  tests: (t: Test, shops: Shops) => Promise<void>,
): void {
  const { kind = 'postgresql' } = options;
  const name = `on ${kind} and Redis`;
  const skip = missingServer(kind);
  if (skip !== false) return void t.test(name, { skip }, async () => {});
  withRedisServer(t, name, async (t, redis) => {
    const databaseUrl = await freshDatabase(t, kind);
    const variables = { REDIS_URL: redis.url, ...options.variables };
    const all = await Promise.all(
      Array.from({ length: options.processes }, () => startShop(t, { kind, databaseUrl, variables })),
    );
    // A shop listens before it is connected to Redis, and refuses requests that need Redis until then.
    for (const shop of all) await untilHealth(shop, 200);
    await tests(t, { all, redis, at: (index) => all[index % all.length]! });
  });
}
