import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis, type RedisOptions } from 'ioredis';
import type { Test } from 'tap';

/** A Redis server of this test's own, on a free loopback port, that it may stop, freeze and start again. */
export interface RedisServer {
  readonly port: number;
  readonly url: string;
  start(...options: readonly string[]): Promise<void>;
  /** Kills it, as a crash would. */
  kill(): Promise<void>;
  /** Stops its work but keeps its connections: it accepts, and never answers. */
  freeze(): void;
  thaw(): void;
}

/**
 * Runs a test that needs any Redis server: that of TEST_REDIS_URL, else one of its own. Where there is neither it is
 * skipped, aloud; under CI it fails.
 */
export function withRedis(t: Test, name: string, body: (t: Test, url: string) => Promise<void>): void {
  const given = process.env['TEST_REDIS_URL'];
  if (given === undefined || given === '') return withRedisServer(t, name, (t, redis) => body(t, redis.url));
  t.test(name, (t) => body(t, given));
}

/** Runs a test that needs a Redis server to do to as it likes. Skipped or failed like `withRedis`. */
export function withRedisServer(t: Test, name: string, body: (t: Test, redis: RedisServer) => Promise<void>): void {
  if (spawnSync('redis-server', ['--version']).error !== undefined) {
    const problem = 'redis-server is not installed: nothing was tried on Redis';
    t.test(name, { skip: process.env['CI'] === 'true' ? false : problem }, async () => {
      throw new Error(problem);
    });
    return;
  }
  t.test(name, async (t) => {
    const redis = await startRedis(t);
    await redis.start();
    await body(t, redis);
  });
}

/** A server that is not started yet; it is gone when the test ends. */
export async function startRedis(t: Test): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), 'viewset-redis-'));
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  let server: ChildProcess | undefined;
  const kill = async (): Promise<void> => {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const exited = new Promise((resolve) => server!.once('exit', resolve));
    server.kill('SIGKILL');
    await exited;
  };
  t.teardown(async () => {
    await kill();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    port,
    url,
    kill,
    async start(...options) {
      const where = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder];
      server = spawn('redis-server', [...where, '--save', '', '--appendonly', 'no', ...options], { stdio: 'ignore' });
      await untilReady(url);
    },
    freeze: () => void server?.kill('SIGSTOP'),
    thaw: () => void server?.kill('SIGCONT'),
  };
}

/** A client that is closed when the test ends, and keeps quiet about lost connections. */
export function redisClient(t: Test, url: string, options: RedisOptions = {}): Redis {
  const client = new Redis(url, { retryStrategy: () => 50, ...options } as object);
  client.on('error', () => {});
  t.teardown(() => client.disconnect());
  return client;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function untilReady(url: string): Promise<void> {
  const client = new Redis(url, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  client.on('error', () => {});
  const answer = await Promise.race<string>([client.ping(), sleep(10_000, 'no answer', { ref: false })]);
  client.disconnect();
  if (answer !== 'PONG') throw new Error(`redis-server did not start on ${url}`);
}

/** Starts three Sentinels that watch a master, and returns their ports. They are gone when the test ends. */
export async function startSentinels(t: Test, name: string, masterPort: number): Promise<number[]> {
  const folder = await mkdtemp(join(tmpdir(), 'viewset-sentinel-'));
  const ports: number[] = [];
  for (let index = 0; index < 3; index++) {
    const port = await freePort();
    const file = join(folder, `${index}.conf`);
    const lines = [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${folder}`,
      `sentinel monitor ${name} 127.0.0.1 ${masterPort} 2`,
      `sentinel down-after-milliseconds ${name} 1000`,
      `sentinel failover-timeout ${name} 3000`,
    ];
    await writeFile(file, `${lines.join('\n')}\n`);
    const sentinel = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' });
    t.teardown(() => void sentinel.kill('SIGKILL'));
    await untilReady(`redis://127.0.0.1:${port}`);
    ports.push(port);
  }
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  for (const port of ports) {
    const client = redisClient(t, `redis://127.0.0.1:${port}`);
    const known = async (): Promise<number> => ((await client.call('SENTINEL', 'sentinels', name)) as unknown[]).length;
    while ((await known()) < 2) await sleep(50);
  }
  return ports;
}

const SLOTS = 16_384;

/** Starts servers, and makes a Cluster of them: each is a master of an equal share of the slots. */
export async function makeCluster(
  t: Test,
  nodes: readonly RedisServer[],
  ...options: readonly string[]
): Promise<void> {
  for (const node of nodes) await node.start('--cluster-enabled', 'yes', '--cluster-node-timeout', '2000', ...options);
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
