import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster } from 'ioredis';
import t, { type Test } from 'tap';
import { RedisStore } from '../../src/stores/redis-store.ts';
import { type OwnRedis, ownRedis, redisClient, withOwnRedis } from '../support/redis.ts';
import { testStore } from './store-suite.ts';

const SLOTS = 16_384;

withOwnRedis(t, 'the Redis store on a cluster of three', async (t) => {
  const nodes = [await ownRedis(t), await ownRedis(t), await ownRedis(t)];
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

async function makeCluster(t: Test, nodes: readonly OwnRedis[]): Promise<void> {
  for (const node of nodes) await node.start('--cluster-enabled', 'yes', '--cluster-node-timeout', '2000');
  const clients = nodes.map(({ url }) => redisClient(t, url));
  for (const [index, client] of clients.entries()) {
    const from = Math.floor((SLOTS * index) / nodes.length);
    const to = Math.floor((SLOTS * (index + 1)) / nodes.length) - 1;
    await client.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
    if (index > 0) await client.call('CLUSTER', 'MEET', '127.0.0.1', nodes[0]!.port);
  }
  for (const client of clients) {
    while (!(await client.cluster('INFO')).includes('cluster_state:ok')) await sleep(50);
  }
}
