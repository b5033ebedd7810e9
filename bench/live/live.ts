/**
 * `node bench/live/live.ts --connections 10000 --rooms 100 --changes 1000 --seconds 20 --patience 300`: many clients follow lists of one
 * process, while messages are written directly to the database. Half-way the process is killed and started again. In the end each client
 * must have the state of the database. It needs TEST_POSTGRES_URL, and creates a separate database.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { MikroORM } from '@mikro-orm/postgresql';
import { notifyLists } from '@viewset/live';
import { Follower } from './follower.ts';
import { Message, openMessages } from './message.ts';

const { values } = parseArgs({
  options: {
    connections: { type: 'string', default: '10000' },
    rooms: { type: 'string', default: '100' },
    changes: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '20' },
    patience: { type: 'string', default: '300' },
  },
});
const [connections, rooms, changes, seconds, patience] = [
  values.connections,
  values.rooms,
  values.changes,
  values.seconds,
  values.patience,
].map(Number) as [number, number, number, number, number];
const PORT = '38473';
const WRITERS = 8;

const server = process.env['TEST_POSTGRES_URL'];
if (server === undefined) throw new Error('TEST_POSTGRES_URL is not set');
const name = `viewset_bench_${randomBytes(4).toString('hex')}`;
const url = new URL(server);
url.pathname = `/${name}`;

await administrate(`create database "${name}"`);
try {
  await measure(url.href);
} finally {
  await administrate(`drop database "${name}" with (force)`);
}

async function measure(databaseUrl: string): Promise<void> {
  const orm = await openMessages(databaseUrl);
  await orm.schema.create();
  let child = await startServer(databaseUrl);
  const followers = Array.from(
    { length: connections },
    (_, index) => new Follower(`http://127.0.0.1:${PORT}/messages`, index % rooms),
  );
  const openedAt = Date.now();
  for (let first = 0; first < connections; first += 200) {
    await Promise.all(followers.slice(first, first + 200).map((each) => each.open()));
  }
  console.log(`${connections} connections in ${Date.now() - openedAt} ms, ${rooms} different lists`);
  const writing = write(orm);
  await sleep((seconds * 1000) / 2);
  const usage = await usageOf(child);
  child.kill('SIGKILL');
  await once(child, 'exit');
  report('before the kill', followers);
  for (const { latencies } of followers) latencies.length = 0;
  child = await startServer(databaseUrl);
  const written = await writing;
  const settlingAt = Date.now();
  const differing = await settle(orm, followers);
  console.log(`${written} changes in ${seconds} s; the process used ${usage}`);
  report('with the kill', followers);
  const faults = followers.reduce((sum, each) => sum + each.faults, 0);
  const resets = followers.reduce((sum, each) => sum + each.resets, 0);
  const settledAfter = Math.round((Date.now() - settlingAt) / 1000);
  console.log(
    `lists that differ ${settledAfter} s after the last change: ${differing}; contradictions: ${faults}; resets: ${resets}`,
  );
  for (const follower of followers) follower.close();
  child.kill('SIGKILL');
  await orm.close(true);
}

async function startServer(databaseUrl: string): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('server.ts', import.meta.url));
  const child = fork(program, { env: { ...process.env, DATABASE_URL: databaseUrl, PORT } });
  await once(child, 'message');
  return child;
}

async function usageOf(child: ChildProcess): Promise<string> {
  child.send('usage');
  const [{ cpu, rss }] = (await once(child, 'message')) as [{ cpu: NodeJS.CpuUsage; rss: number }];
  return `${((cpu.user + cpu.system) / 1e6).toFixed(1)} s of a processor and ${Math.round(rss / 2 ** 20)} MiB until then`;
}

/** Writes messages, each in a separate transaction, at a constant rate. Returns their number. */
async function write(orm: MikroORM): Promise<number> {
  const startedAt = Date.now();
  let written = 0;
  const work = async (): Promise<void> => {
    for (let now = Date.now(); now < startedAt + seconds * 1000; now = Date.now()) {
      const isAhead = written >= ((now - startedAt) / 1000) * changes;
      if (isAhead) {
        await sleep(2);
        continue;
      }
      written += 1;
      await orm.em.fork().transactional(async (em) => {
        await em.insert(Message, { room: written % rooms, at: Date.now() });
        await notifyLists({ em }, Message);
      });
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, work));
  return written;
}

/**
 * Waits until the clients have the state of the database, up to the limit `patience`. Returns the number of clients that do not have it.
 */
async function settle(orm: MikroORM, followers: readonly Follower[]): Promise<number> {
  const wanted = new Map<number, string>();
  for (let room = 0; room < rooms; room++) {
    const found = await orm.em.fork().find(Message, { room }, { orderBy: { id: 'desc' }, limit: 10 });
    wanted.set(room, found.map(({ id }) => id).join());
  }
  const differing = (): number => followers.filter(({ room, ids }) => ids.join() !== wanted.get(room)).length;
  for (let tries = 0; tries < patience * 2 && differing() > 0; tries++) await sleep(500);
  return differing();
}

function report(when: string, followers: readonly Follower[]): void {
  const all = followers.flatMap(({ latencies }) => latencies).toSorted((a, b) => a - b);
  const at = (part: number): number => Math.round(all[Math.floor(all.length * part)] ?? NaN);
  console.log(
    `${when}: ${all.length} records told; after ${at(0.5)} ms (median), ${at(0.95)} ms (95 %), ${at(0.99)} ms (99 %)`,
  );
}

async function administrate(sql: string): Promise<void> {
  const orm = await MikroORM.init({ clientUrl: server!, entities: [], discovery: { warnWhenNoEntities: false } });
  await orm.em.getConnection().execute(sql);
  await orm.close(true);
}
