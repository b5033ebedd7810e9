/** Redis behind Sentinel, with the options of docs/stores.md: a master that hangs or dies is left. */
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { RedisStore } from '../../src/stores/redis-store.ts';
import { startRedis, startSentinels, redisClient, withRedisServer } from '../support/redis.ts';

for (const how of ['hangs', 'is dead'] as const) {
  withRedisServer(t, `a master that ${how}`, async (t, master) => {
    const replica = await startRedis(t);
    await replica.start('--replicaof', '127.0.0.1', String(master.port));
    const ofReplica = redisClient(t, replica.url);
    while (!/master_link_status:up/.test(await ofReplica.info('replication'))) await sleep(50);
    const sentinels = await startSentinels(t, 'shop', master.port);
    const client = new Redis({
      sentinels: sentinels.map((port) => ({ host: '127.0.0.1', port })),
      name: 'shop',
      socketTimeout: 2000,
      connectTimeout: 2000,
      retryStrategy: (attempt) => Math.min(attempt * 50, 500),
      sentinelRetryStrategy: (attempt) => Math.min(attempt * 50, 500),
      autoResendUnfulfilledCommands: false,
    });
    client.on('error', () => {});
    t.teardown(() => client.disconnect());
    const store = new RedisStore(client, { timeoutMs: 500 });
    t.ok((await store.hit('key', 100, 60_000)).allowed);
    if (how === 'hangs') master.freeze();
    else await master.kill();
    for (;;) {
      const hit = await store.hit('key', 100, 60_000).catch(() => undefined);
      if (hit?.allowed === true) break;
      await sleep(100);
    }
    t.match(await ofReplica.info('replication'), /role:master/, 'the replica has taken over');
  });
}
