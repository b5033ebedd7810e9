/** Lists that are followed by the client, over a real network that fails. */
import { defineEntity, p } from '@mikro-orm/core';
import fastify from 'fastify';
import { createServer, connect, type Socket, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { ModelViewSet, readShape, Router, serverOptions, Unauthorized, viewset, writeShape } from '@viewset/core';
import { live, ListChange, ListVersion } from '@viewset/live';
import { openSqlite } from '../../core/test/support/databases.ts';
import { ApiError, createClient } from '../src/index.ts';
import { watch } from '../src/live.ts';

const Task = defineEntity({
  name: 'Task',
  properties: { id: p.integer().primary(), title: p.string().length(50), done: p.boolean().default(false) },
});
const options = {
  read: readShape(Task, ['id', 'title']),
  write: writeShape(Task, ['title', 'done']),
  filterFields: { done: 'done' },
} as const;
class Tasks extends ModelViewSet(Task, { ...options, live: true }) {}
class WrappedTasks extends ModelViewSet(Task, {
  ...options,
  live: true,
  envelope: { one: 'task', many: 'tasks', count: 'total' },
}) {}
class AllTasks extends ModelViewSet(Task, { ...options, live: true, pagination: null }) {}
class DeadTasks extends ModelViewSet(Task, { ...options, operations: ['list'] }) {}

const makeRouter = () =>
  new Router()
    .register('tasks', Tasks)
    .register('wrapped', WrappedTasks)
    .register('all', AllTasks)
    .register('dead', DeadTasks);
type Api = ReturnType<typeof makeRouter>;

const ended = new Set<string>();

async function start(t: Test) {
  const orm = await openSqlite(t, { entities: [Task, ListChange, ListVersion] });
  const app = fastify({ ...serverOptions(), forceCloseConnections: true });
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  app.viewset.live.identify.add(async ({ headers }) => {
    if (!ended.has(headers.authorization ?? '')) return;
    throw new Unauthorized('Expired', { headers: { 'www-authenticate': 'Bearer error="invalid_token"' } });
  });
  await app.register(live, { windowMs: 5 });
  await app.register(makeRouter().plugin);
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const network = await unsteady(t, new URL(origin).port);
  const token = 'secret';
  return {
    url: network.url,
    api: createClient<Api>({ url: network.url, token }),
    direct: createClient<Api>({ url: origin, token }),
    network,
  };
}

/** Stands between the client and the server, and can lose all connections. */
async function unsteady(t: Test, port: string) {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((client) => {
    connections += 1;
    const upstream = connect(Number(port), '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    }
    client.pipe(upstream).pipe(client);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    count: () => connections,
    lose: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

t.test('a list is followed, over lost connections too', async (t) => {
  const { api, direct, network } = await start(t);
  const lists = watch(api.tasks, { done: false });
  const next = async () => (await lists.next()).value!;
  t.strictSame(await next(), { count: 0, next: false, previous: false, results: [] });
  const tea = await direct.tasks.create({ title: 'Tea' });
  const first = await untilSo(next, ({ count }) => count === 1);
  t.strictSame(first.results, [{ id: tea.id, title: 'Tea' }]);
  for (let round = 0; round < 3; round++) {
    network.lose();
    await direct.tasks.update(tea.id, { title: `Tea ${round}` });
    const made = await direct.tasks.create({ title: `C${round}` });
    const list = await untilSo(next, ({ count }) => count === round + 2);
    t.equal(list.results[0]!.title, `Tea ${round}`);
    t.equal(list.results.at(-1)!.id, made.id);
  }
  await direct.tasks.update(tea.id, { done: true });
  const without = await untilSo(next, ({ count }) => count === 3);
  t.notOk(without.results.some(({ id }) => id === tea.id));
  t.ok(network.count() > 3);
  await lists.return();
});

t.test('texts with the line ends of JavaScript are followed as they are', async (t) => {
  const { api, direct } = await start(t);
  const title = 'A\u2028id: 7\u2029event: end\r\n\ndata: {}';
  const lists = watch(api.tasks);
  await lists.next();
  await direct.tasks.create({ title });
  const { results } = await untilSo(
    async () => (await lists.next()).value!,
    ({ count }) => count === 1,
  );
  t.equal(results[0]!.title, title);
  await lists.return();
});

t.test('lists in an envelope and lists without pages are followed too', async (t) => {
  const { api } = await start(t);
  const [wrapped, all] = [watch(api.wrapped), watch(api.all)];
  t.strictSame((await wrapped.next()).value, { tasks: [], total: 0 });
  t.strictSame((await all.next()).value, []);
  const { id } = await api.tasks.create({ title: 'Tea' });
  const record = { id, title: 'Tea' };
  t.strictSame(
    await untilSo(
      async () => (await wrapped.next()).value!,
      ({ total }) => total === 1,
    ),
    { tasks: [record], total: 1 },
  );
  t.strictSame((await all.next()).value, [record]);
  await Promise.all([wrapped.return(), all.return()]);
});

t.test('a refusal is an ApiError, at once or later; the signal ends it', async (t) => {
  const { api } = await start(t);
  await t.rejects(watch(api.tasks, { wrong: 1 } as never).next(), { name: 'ApiError', status: 400 });
  await t.rejects(watch(api.dead).next(), /not live/);
  const lists = watch(api.tasks);
  await lists.next();
  ended.add('Bearer secret');
  t.teardown(() => ended.clear());
  await api.tasks.create({ title: 'Tea' });
  const error = await untilSo(
    async () => (await lists.next()).value!,
    () => false,
  ).catch((thrown: unknown) => thrown);
  t.ok(error instanceof ApiError && error.status === 401);
  ended.clear();
  const abort = new AbortController();
  const others = watch(api.tasks, {}, { signal: abort.signal });
  await others.next();
  setTimeout(() => abort.abort(new Error('enough')), 20);
  await t.rejects(others.next(), /enough/);
});

t.test('a token that has expired is renewed, and the list is followed on', async (t) => {
  const { url, direct } = await start(t);
  let renewals = 0;
  const api = createClient<Api>({ url, token: 'old', refresh: async () => `new ${++renewals}` });
  const lists = watch(api.tasks);
  await lists.next();
  ended.add('Bearer old');
  t.teardown(() => ended.clear());
  await direct.tasks.create({ title: 'Tea' });
  const { results } = await untilSo(
    async () => (await lists.next()).value!,
    ({ count }) => count === 1,
  );
  t.equal(results[0]!.title, 'Tea');
  t.equal(renewals, 1);
  await lists.return();
});

t.test('types: a list has the type of list(), and the query its parameters', async (t) => {
  const { api } = await start(t);
  for await (const { results, count } of watch(api.tasks, { done: true })) {
    const titles: string[] = results.map(({ title }) => title);
    t.strictSame([titles.length, count], [0, 0]);
    break;
  }
  // @ts-expect-error -- a parameter that the list does not have
  void watch(api.tasks, { dnoe: true });
  await sleep(0);
});

async function untilSo<Value>(next: () => Promise<Value>, isSo: (value: Value) => boolean): Promise<Value> {
  for (;;) {
    const value = await next();
    if (isSo(value)) return value;
  }
}
