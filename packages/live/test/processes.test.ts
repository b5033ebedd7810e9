/** Several processes on one database, of which some are killed, and Redis with them: no change is lost, and none is told twice. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import {
  createPostgreSqlDatabase,
  mongoDatabase,
  skipMongo,
  skipPostgreSql,
} from '../../core/test/support/databases.ts';
import { type ForkedServer, forkServer } from '../../core/test/support/forked-server.ts';
import { type RedisServer, withRedisServer } from '../../core/test/support/redis.ts';
import { EventStream } from './support/event-stream.ts';
import { openTasks, Task } from './support/task-server.ts';
import { until } from './support/until.ts';

const program = fileURLToPath(new URL('support/task-server.ts', import.meta.url));
const WRITES = 60;
const QUERY = '/tasks?sort=place';

/** Looks so seldom by itself that only what wakes it can tell it in time. */
const SELDOM = '600000';

function startServer(t: Test, url: string, wakeUps = '', pollMs = '50'): Promise<ForkedServer> {
  return forkServer(t, program, { DATABASE_URL: url, WAKE_UPS: wakeUps, POLL_MS: pollMs });
}

async function send({ address }: ForkedServer, method: string, path: string, body?: object): Promise<Response> {
  return fetch(`${address}/tasks${path}`, {
    method,
    headers: body ? { 'content-type': 'application/json' } : {},
    ...(body && { body: JSON.stringify(body) }),
  });
}

async function page({ address }: ForkedServer): Promise<string> {
  const { results, ...rest } = (await (await fetch(address + QUERY)).json()) as { results: object[] };
  return JSON.stringify([results, rest]);
}

function known({ records, rest }: EventStream): string {
  return JSON.stringify([records.map(({ record }) => record), rest]);
}

/** Writes at random by the servers that there are, and goes on when one of them dies. */
async function writeAtRandom(servers: readonly ForkedServer[], seed: number): Promise<void> {
  let random = seed;
  const next = (limit: number): number => (random = (random * 48_271) % 2_147_483_647) % limit;
  const ids: number[] = [];
  for (let count = 0; count < WRITES; count++) {
    const server = servers[next(servers.length)]!;
    const task = { title: `T${next(1000)}`, place: next(100) };
    const kind = ids.length < 5 ? 0 : next(4);
    const id = ids[next(ids.length || 1)];
    try {
      if (kind < 2) ids.push(((await (await send(server, 'POST', '', task)).json()) as { id: number }).id);
      else if (kind === 2) await send(server, 'PATCH', `/${id}`, task);
      else await send(server, 'DELETE', `/${ids.splice(ids.indexOf(id!), 1)[0]}`);
    } catch {
      // The server was killed: nobody knows what was received of the write.
    }
  }
}

function testOn(
  name: string,
  skip: string | false,
  makeDatabase: (t: Test) => string | Promise<string>,
  wakeUps: string,
): void {
  const prepare = async (t: Test) => {
    const url = await makeDatabase(t);
    const orm = await openTasks(url);
    t.teardown(async () => {
      if (url.startsWith('mongodb')) await orm.schema.drop();
      await orm.close(true);
    });
    await orm.schema.create();
    return { url, orm };
  };

  const chaos = async (t: Test, redis?: RedisServer) => {
    const { url, orm } = await prepare(t);
    const doomed = await startServer(t, url, redis?.url);
    const lasting = await startServer(t, url, redis?.url);
    const writers = [await startServer(t, url, redis?.url), lasting];
    const first = await EventStream.open(t, doomed.address + QUERY);
    const other = await EventStream.open(t, lasting.address + QUERY);
    const writing = Promise.all([writeAtRandom([...writers, doomed], 7), writeAtRandom(writers, 11)]);
    await other.until(({ events }) => events.length > 20);
    doomed.process.kill('SIGKILL');
    await redis?.kill();
    await first.until(({ isEnded }) => isEnded);
    const resumed = await EventStream.open(t, lasting.address + QUERY, { from: first });
    await redis?.start();
    await writing;
    for (const stream of [resumed, other]) await until(async () => known(stream) === (await page(lasting)));
    t.strictSame([...first.faults, ...resumed.faults, ...other.faults], [], 'nothing was told twice');
    t.notOk(resumed.told.includes('list') || resumed.told.includes('reset'), 'what it knew was enough');
    t.ok((await orm.em.fork().count(Task, {})) > 10);
  };

  t.test(`on ${name}`, { skip }, async (t) => {
    await t.test('a client of a process that is killed goes on with another one', (t) => chaos(t));

    await t.test('a process that ends between its commit and its wake-up has stored its notification', async (t) => {
      const { url } = await prepare(t);
      const [dying, other] = [await startServer(t, url, wakeUps), await startServer(t, url)];
      const stream = await EventStream.open(t, other.address + QUERY);
      await stream.until(({ events }) => events.length === 1);
      await send(dying, 'POST', '', { title: 'last', place: 1 });
      dying.process.kill('SIGKILL');
      await stream.until(({ records }) => records.length === 1);
      t.equal(stream.records[0]!.record['title'], 'last');
    });

    if (wakeUps === '') return;
    await t.test('a write wakes other processes', async (t) => {
      const { url } = await prepare(t);
      const [one, other] = [await startServer(t, url, wakeUps, SELDOM), await startServer(t, url, wakeUps, SELDOM)];
      const stream = await EventStream.open(t, other.address + QUERY);
      await stream.until(({ events }) => events.length === 1);
      for (const place of [1, 2, 3]) {
        await send(one, 'POST', '', { title: 'x', place });
        await stream.until(({ records }) => records.length === place);
      }
      t.strictSame(stream.faults, []);
    });
  });

  withRedisServer(t, `Redis dies and comes back, on ${name}`, async (t, redis) => {
    if (skip !== false) return t.comment(skip);
    await chaos(t, redis);
  });
}

testOn('SQLite', false, (t) => join(t.testdir(), 'tasks.sqlite'), '');
testOn('PostgreSQL', skipPostgreSql(), createPostgreSqlDatabase, 'listen');
testOn('MongoDB', skipMongo(), () => mongoDatabase(), 'watch');

withRedisServer(t, 'a write wakes other processes by Redis', async (t, redis) => {
  const url = join(t.testdir(), 'tasks.sqlite');
  const orm = await openTasks(url);
  t.teardown(() => orm.close(true));
  await orm.schema.create();
  const [one, other] = [await startServer(t, url, redis.url, SELDOM), await startServer(t, url, redis.url, SELDOM)];
  const stream = await EventStream.open(t, other.address + QUERY);
  await stream.until(({ events }) => events.length === 1);
  await send(one, 'POST', '', { title: 'x', place: 1 });
  await stream.until(({ records }) => records.length === 1);
  t.strictSame(stream.faults, []);
});
