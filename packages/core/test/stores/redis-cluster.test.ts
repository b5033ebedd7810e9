import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster } from 'ioredis';
import t from 'tap';
import { HealthRegistry } from '../../src/health/health-registry.ts';
import { RedisHealthCheck } from '../../src/health/built-in-checks.ts';
import { clusterSlot } from '../../src/stores/cluster-slot.ts';
import { RedisStore } from '../../src/stores/redis-store.ts';
import { StoreUnavailable } from '../../src/stores/store.ts';
import { makeCluster, startRedis, redisClient, withRedisServer } from '../support/redis.ts';
import { testStore } from './store-suite.ts';

withRedisServer(t, 'the Redis store on a cluster of three', async (t) => {
  const nodes = [await startRedis(t), await startRedis(t), await startRedis(t)];
  await makeCluster(t, nodes);
  const cluster = new Cluster(nodes.map(({ port }) => ({ host: '127.0.0.1', port })));
  cluster.on('error', () => {});
  t.teardown(() => cluster.disconnect());
  testStore(t, new RedisStore(cluster, { timeoutMs: 60_000 }));

  t.test('keys are spread over the nodes', async (t) => {
    const sizes = await Promise.all(cluster.nodes('master').map(async (node) => node.dbsize()));
    t.equal(sizes.length, 3);
    t.ok(
      sizes.every((size) => size > 0),
      sizes.join(', '),
    );
  });
});

for (const how of ['hangs', 'is dead'] as const) {
  withRedisServer(t, `a master that ${how} fails for its own keys, and for no others`, async (t) => {
    const nodes = [await startRedis(t), await startRedis(t), await startRedis(t)];
    await makeCluster(t, nodes, '--cluster-require-full-coverage', 'no');
    const cluster = new Cluster(nodes.map(({ port }) => ({ host: '127.0.0.1', port })));
    cluster.on('error', () => {});
    t.teardown(() => cluster.disconnect());
    const store = new RedisStore(cluster, { timeoutMs: 500 });
    const check = new RedisHealthCheck(cluster, { timeoutMs: 500 });
    const keys = Array.from({ length: 60 }, (_, index) => `key ${index}`);
    for (const key of keys) t.ok((await store.hit(key, 100, 60_000)).allowed);
    t.equal((await new HealthRegistry().register(check).run()).status, 'ok');
    const lost = nodes[1]!;
    const isLost = (key: string): boolean =>
      cluster.slots[clusterSlot(`viewset:hits:${key}`)]![0] === `127.0.0.1:${lost.port}`;
    const [own, others] = [keys.filter(isLost), keys.filter((key) => !isLost(key))];
    t.ok(own.length > 5 && others.length > 20);
    if (how === 'hangs') lost.freeze();
    else await lost.kill();
    await t.rejects(Promise.resolve(store.hit(own[0]!, 100, 60_000)), StoreUnavailable);
    const trials = own.map(async (key) => store.hit(key, 100, 60_000).catch((error: unknown) => error));
    for (const key of others) t.ok((await store.hit(key, 100, 60_000)).allowed, key);
    for (const result of await Promise.all(trials)) t.type(result, StoreUnavailable);
    t.equal((await new HealthRegistry().register(check).run()).status, 'unavailable');
    if (how === 'hangs') lost.thaw();
    else await lost.start('--cluster-enabled', 'yes', '--cluster-node-timeout', '2000');
    for (const key of own) {
      for (;;) {
        const hit = await store.hit(key, 100, 60_000).catch(() => undefined);
        if (hit?.allowed === true) break;
        await sleep(50);
      }
    }
  });
}

withRedisServer(t, 'a replica takes over for a master that hangs', async (t) => {
  const nodes = [await startRedis(t), await startRedis(t), await startRedis(t)];
  const replica = await startRedis(t);
  await makeCluster(t, nodes);
  await replica.start('--cluster-enabled', 'yes', '--cluster-node-timeout', '2000');
  const ofReplica = redisClient(t, replica.url);
  await ofReplica.call('CLUSTER', 'MEET', '127.0.0.1', nodes[0]!.port);
  const master = nodes[1]!;
  const id = String(await redisClient(t, master.url).call('CLUSTER', 'MYID'));
  while (!String(await ofReplica.cluster('NODES')).includes(id)) await sleep(50);
  await ofReplica.call('CLUSTER', 'REPLICATE', id);
  while (!/master_link_status:up/.test(await ofReplica.info('replication'))) await sleep(50);
  // As docs/stores.md has it: without it, a client never leaves a master that hangs.
  const cluster = new Cluster(
    nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
    { slotsRefreshInterval: 1000 },
  );
  cluster.on('error', () => {});
  t.teardown(() => cluster.disconnect());
  const store = new RedisStore(cluster, { timeoutMs: 500 });
  await store.hit('any', 1, 1000);
  const key = Array.from({ length: 60 }, (_, index) => `key ${index}`).find(
    (name) => cluster.slots[clusterSlot(`viewset:hits:${name}`)]![0] === `127.0.0.1:${master.port}`,
  )!;
  master.freeze();
  for (;;) {
    const hit = await store.hit(key, 100, 60_000).catch(() => undefined);
    if (hit?.allowed === true) break;
    await sleep(100);
  }
  t.match(await ofReplica.info('replication'), /role:master/);
});

t.test('the slots of keys follow the specification', async (t) => {
  for (const [key, slot] of [
    ['123456789', 0x31c3],
    ['foo', 12_182],
    ['{user1000}.following', clusterSlot('user1000')],
    ['foo{}{bar}', clusterSlot('foo{}{bar}')],
    ['foo{{bar}}zap', clusterSlot('{bar')],
    ['foo{bar}{zap}', clusterSlot('bar')],
  ] as const) {
    t.equal(clusterSlot(key), slot, key);
  }
});
