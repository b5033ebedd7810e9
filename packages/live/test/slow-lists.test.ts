/** Lists that take long or fail: they hold up no others. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { once } from 'node:events';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { ModelViewSet, type QuerySet, readShape, writeShape } from '@viewset/core';
import { openSqlite } from '../../core/test/support/databases.ts';
import { ReadSlots } from '../src/round.ts';
import { ListChange, type LiveOptions, ListVersion } from '../src/index.ts';
import { EventStream } from './support/event-stream.ts';
import { startLive } from './support/live-app.ts';
import { until } from './support/until.ts';

const Task = defineEntity({
  name: 'Task',
  properties: { id: p.integer().primary(), title: p.text() },
});
const shapes = { read: readShape(Task, ['id', 'title']), write: writeShape(Task, ['title']) };

/** Serves tasks. `beforeList` is waited for before the list of a request is known, with the name of its user. */
async function start(
  t: Test,
  beforeList: (user: unknown) => unknown,
  options?: LiveOptions,
  prepare: (app: FastifyInstance) => void = () => {},
) {
  const orm = await openSqlite(t, { entities: [Task, ListChange, ListVersion] });
  class View extends ModelViewSet(Task, { ...shapes, live: true }) {
    override async filterQueryset(request: FastifyRequest, records: QuerySet<InstanceType<typeof Task.class>>) {
      await beforeList(request.headers['user']);
      return super.filterQueryset(request, records);
    }
  }
  const started = await startLive(t, { orm, View, ...(options && { options }), prepare });
  const open = (user: string): Promise<EventStream> => EventStream.open(t, started.url, { headers: { user } });
  return { ...started, open, orm };
}

t.test('a list that is not known for long keeps no other one from being opened', async (t) => {
  const end = new AbortController();
  t.teardown(() => end.abort());
  let asked = 0;
  const { open } = await start(t, async (user) => {
    if (user !== 'slow') return;
    asked += 1;
    await once(end.signal, 'abort');
  });
  void open('slow').catch(() => {});
  await until(() => asked === 1);
  let quick: EventStream | undefined;
  void open('quick').then((stream) => (quick = stream));
  await until(() => quick?.events.length === 1);
});

t.test('a slow list does not delay notifications of others, and is sent in the end', async (t) => {
  const end = new AbortController();
  t.teardown(() => end.abort());
  let isSlow = false;
  const { open, send } = await start(t, async (user) => {
    if (user === 'slow' && isSlow) await once(end.signal, 'abort');
  });
  const [slow, quick] = [await open('slow'), await open('quick')];
  for (const stream of [slow, quick]) await stream.until(({ events }) => events.length === 1);
  isSlow = true;
  await send('POST', '', { title: 'A' });
  await quick.until(({ records }) => records.length === 1);
  await send('POST', '', { title: 'B' });
  await quick.until(({ records }) => records.length === 2);
  t.equal(slow.events.length, 1);
  isSlow = false;
  end.abort();
  await slow.until(({ records }) => records.length === 2);
  t.strictSame([...slow.faults, ...quick.faults], []);
});

t.test('a client that goes away counts until its list has been read, and no longer', async (t) => {
  const end = new AbortController();
  let [asked, gone] = [0, 0];
  const { url } = await start(
    t,
    async () => {
      asked += 1;
      if (!end.signal.aborted) await once(end.signal, 'abort');
    },
    { maxConnectionsPerUser: 2 },
    (app) => app.addHook('onRequest', async (_request, reply) => void reply.raw.once('close', () => (gone += 1))),
  );
  const headers = { accept: 'text/event-stream' };
  for (const count of [1, 2]) {
    const leaving = new AbortController();
    const answer = fetch(url, { headers, signal: leaving.signal });
    answer.catch(() => {});
    await until(() => asked === count);
    leaving.abort();
    await until(() => gone === count);
  }
  t.equal((await fetch(url, { headers })).status, 429);
  t.equal(asked, 2);
  end.abort();
  const streams: EventStream[] = [];
  await until(async () => {
    const stream = await EventStream.open(t, url);
    if (stream.response.status === 200) streams.push(stream);
    return streams.length === 2;
  });
  t.equal((await fetch(url, { headers })).status, 429, 'two are open');
});

t.test('a list that keeps failing is logged once, and read again with the others', async (t) => {
  let isBroken = false;
  let asked = 0;
  const { open, send, errors } = await start(
    t,
    (user) => {
      if (user !== 'unlucky') return;
      asked += 1;
      if (isBroken) throw new TypeError('a hook is broken');
    },
    { pollMs: 50 },
  );
  const [unlucky, lucky] = [await open('unlucky'), await open('lucky')];
  for (const stream of [unlucky, lucky]) await stream.until(({ events }) => events.length === 1);
  isBroken = true;
  const before = asked;
  for (const title of ['A', 'B', 'C']) {
    await send('POST', '', { title });
    await lucky.until(({ records }) => records.at(-1)?.record['title'] === title);
  }
  await until(() => asked > before + 4);
  t.strictSame(errors, ['live lists could not be read; they are asked for again']);
  isBroken = false;
  await unlucky.until(({ records }) => records.length === 3);
  isBroken = true;
  await send('POST', '', { title: 'D' });
  await until(() => errors.length === 2);
});

t.test('a client that has not read for some time receives the last state when it has caught up', async (t) => {
  const { url, send, orm } = await start(t, () => {}, { heartbeatMs: 60_000 });
  const long = 100_000;
  await orm.em.fork().insertMany(
    Task,
    Array.from({ length: 20 }, () => ({ title: 'x'.repeat(5 * long) })),
  );
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.write('GET /tasks?page_size=20 HTTP/1.1\r\nhost: a\r\naccept: text/event-stream\r\n\r\n');
  await once(socket, 'readable');
  for (const letter of ['a', 'b', 'c']) await send('PATCH', '/1', { title: letter.repeat(long) });
  let text = '';
  socket.on('data', (part: Buffer) => (text = (text + part.toString('latin1')).slice(-2 * long)));
  socket.resume();
  await until(() => text.includes('ccc'));
});

t.test('a read that never finishes keeps its slot for a limited time', async (t) => {
  const slots = new ReadSlots(1, 10);
  const hanging = slots.run(() => new Promise<never>(() => {}));
  let answer: string | undefined;
  void slots.run(async () => (answer = 'read'));
  await t.rejects(hanging, /took too long/);
  await until(() => answer === 'read');
});
