import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { withRedisServer } from '../support/redis.ts';

const PROCESSES = 3;
const REQUESTS = 400;
const program = fileURLToPath(new URL('throttled-server.ts', import.meta.url));

withRedisServer(t, 'behind one Redis, several servers under load let exactly the limit pass', async (t, redis) => {
  const servers = await startServers(t, [redis.url, '250', '60']);
  const requests = Array.from({ length: REQUESTS }, async (_, index) => fetch(servers[index % PROCESSES]!));
  const responses = await Promise.all(requests);
  const passed = responses.filter(({ status }) => status === 200);
  t.equal(passed.length, 250);
  t.equal(responses.filter(({ status }) => status === 429).length, REQUESTS - 250);
  const remaining = passed.map(({ headers }) => Number(headers.get('ratelimit-remaining')));
  t.equal(new Set(remaining).size, 250, 'each was told another number of remaining requests');
});

withRedisServer(t, 'waiting as long as one server says is enough for another', async (t, redis) => {
  const servers = await startServers(t, [redis.url, '2', '1']);
  t.equal((await fetch(servers[0]!)).status, 200);
  t.equal((await fetch(servers[1]!)).status, 200);
  const refused = await fetch(servers[2]!);
  t.equal(refused.status, 429);
  t.equal(refused.headers.get('retry-after'), '1');
  await sleep(1000);
  t.equal((await fetch(servers[1]!)).status, 200);
});

async function startServers(t: Test, args: readonly string[]): Promise<string[]> {
  const children = Array.from({ length: PROCESSES }, () => {
    const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.teardown(() => child.kill('SIGKILL'));
    return child;
  });
  return Promise.all(children.map(async ({ stdout }) => String((await once(stdout, 'data'))[0]).trim()));
}
