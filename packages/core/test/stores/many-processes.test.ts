import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { RedisStore } from '../../src/stores/redis-store.ts';
import { redisClient, withRedisServer } from '../support/redis.ts';

const PROCESSES = 4;
const TIMES = 500;
const LIMIT = 777;
const worker = fileURLToPath(new URL('store-worker.ts', import.meta.url));

withRedisServer(t, 'several processes at once: exactly the limit passes, and one takes the value', async (t, redis) => {
  const store = new RedisStore(redisClient(t, redis.url), { timeoutMs: 60_000 });
  await store.put('shared', 'value', 60_000);
  const processes = Array.from({ length: PROCESSES }, () => {
    const args = [worker, redis.url, TIMES, LIMIT, 60_000].map(String);
    return spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  });
  await Promise.all(processes.map(async (child) => once(child.stdout, 'data')));
  const outputs = processes.map(outputOf);
  for (const child of processes) child.stdin.write('go\n');
  const results = (await Promise.all(outputs)).map((text) => JSON.parse(text) as { allowed: number; matched: number });
  t.comment(results.map(({ allowed }) => allowed).join(' + '));
  t.equal(
    results.reduce((sum, { allowed }) => sum + allowed, 0),
    LIMIT,
  );
  t.equal(
    results.reduce((sum, { matched }) => sum + matched, 0),
    1,
  );
  t.equal((await store.hit('shared', LIMIT, 60_000)).allowed, false);
});

async function outputOf(child: ChildProcess): Promise<string> {
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await once(child, 'close');
  return output;
}
