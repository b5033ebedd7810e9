/** The forms of REDIS_URL, with real servers. */
import { RedisStore } from '@viewset/core';
import { Cluster, Redis } from 'ioredis';
import t from 'tap';
import { makeCluster, startRedis, startSentinels, withRedisServer } from '../../../packages/core/test/support/redis.ts';
import { redisClient } from '../src/redis-client.ts';

withRedisServer(t, 'one server, and Sentinels', async (t, redis) => {
  const sentinels = await startSentinels(t, 'shop', redis.port);
  const hosts = sentinels.map((port) => `127.0.0.1:${port}`).join(',');
  for (const url of [`${redis.url}/2`, `redis+sentinel://${hosts}/shop/2`]) {
    const client = redisClient(url);
    t.teardown(() => client.disconnect());
    t.type(client, Redis);
    t.equal((client as Redis).options.db, 2, url);
    t.ok((await new RedisStore(client, { timeoutMs: 10_000 }).hit(url, 1, 60_000)).allowed, url);
  }
});

withRedisServer(t, 'nodes of a Cluster', async (t) => {
  const nodes = [await startRedis(t), await startRedis(t), await startRedis(t)];
  await makeCluster(t, nodes);
  const client = redisClient(`redis://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`);
  t.teardown(() => client.disconnect());
  t.type(client, Cluster);
  const store = new RedisStore(client, { timeoutMs: 10_000 });
  for (let index = 0; index < 20; index++) t.ok((await store.hit(`key ${index}`, 1, 60_000)).allowed);
});
