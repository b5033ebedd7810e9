/** Lists that are asked with different entity managers: they look alike, and are not read once for all. */
import { defineEntity, type EntityManager, p, RequestContext } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { AsyncLocalStorage } from 'node:async_hooks';
import t from 'tap';
import { ModelViewSet, readShape, writeShape } from '@viewset/core';
import { forEachDatabase, openPostgreSql, openSqlite, skipPostgreSql } from '../../core/test/support/databases.ts';
import { ListChange, ListVersion } from '../src/index.ts';
import { EventStream } from './support/event-stream.ts';
import { startLive } from './support/live-app.ts';

const Task = defineEntity({
  name: 'Task',
  properties: { id: p.integer().primary(), title: p.string().length(50), owner: p.integer().default(0) },
});
const entities = [Task, ListChange, ListVersion];
const options = {
  read: readShape(Task, ['id', 'title']),
  write: writeShape(Task, ['title', 'owner']),
  live: true,
} as const;

/** A view whose records are read with the entity manager that a function makes for each request. */
function readingWith(make: (request: FastifyRequest) => EntityManager) {
  return class View extends ModelViewSet(Task, options) {
    override getQueryset(request: FastifyRequest) {
      return super.getQueryset(request).using(make(request));
    }
  };
}

const userOf = ({ headers }: FastifyRequest): number => Number(headers['user']);
const titles = ({ records }: EventStream): unknown[] => records.map(({ record }) => record['title']);

forEachDatabase(t, { entities }, async (t, orm) => {
  t.test('entity managers with separate filters', async (t) => {
    const View = readingWith((request) => {
      const em = orm.em.fork();
      em.addFilter({ name: 'own', cond: ({ owner }: { owner: number }) => ({ owner }), entity: [Task] } as never);
      em.setFilterParams('own', { owner: userOf(request) });
      return em;
    });
    const { url, send } = await startLive(t, { orm, View });
    const open = (user: string): Promise<EventStream> => EventStream.open(t, url, { headers: { user } });
    const streams = await Promise.all(['1', '2'].map(open));
    for (const stream of streams) await stream.until(({ events }) => events.length === 1);
    await orm.em.fork().insertMany(Task, [
      { title: 'of one', owner: 1 },
      { title: 'of two', owner: 2 },
    ]);
    await send('POST', '', { title: 'more of one', owner: 1 }, { user: '1' });
    for (const stream of streams) await stream.until(({ told }) => told.includes('count'));
    t.strictSame(streams.map(titles), [['of one', 'more of one'], ['of two']]);
  });
});

t.test('entity managers of two databases', async (t) => {
  const [first, second] = [await openSqlite(t, { entities }), await openSqlite(t, { entities })];
  await second.em.fork().insert(Task, { title: 'of the second' });
  const View = readingWith((request) => (userOf(request) === 1 ? first : second).em.fork());
  const { url, send } = await startLive(t, { orm: first, View });
  const open = (user: string): Promise<EventStream> => EventStream.open(t, url, { headers: { user } });
  const streams = await Promise.all(['1', '2'].map(open));
  for (const stream of streams) await stream.until(({ events }) => events.length === 1);
  await second.em.fork().insert(Task, { title: 'of the second too' });
  await send('POST', '', { title: 'of the first' }, { user: '1' });
  for (const stream of streams) await stream.until(({ told }) => told.includes('count'));
  t.strictSame(streams.map(titles), [['of the first'], ['of the second', 'of the second too']]);
});

t.test('values that hooks store in the asynchronous context of a request', async (t) => {
  const Own = defineEntity({
    name: 'Own',
    properties: { id: p.integer().primary(), title: p.string().length(50), owner: p.integer() },
    filters: { own: { name: 'own', cond: ({ owner }: { owner: number }) => ({ owner }), default: true } },
  });
  const users = new AsyncLocalStorage<number>();
  const orm = await openSqlite(t, { entities: [Own, ListChange, ListVersion] });
  class View extends ModelViewSet(Own, {
    read: readShape(Own, ['id', 'title']),
    write: writeShape(Own, ['title']),
    fill: { owner: () => users.getStore()! },
    live: true,
  }) {
    override getQueryset(request: FastifyRequest) {
      return super.getQueryset(request).filter({ owner: users.getStore()! });
    }
  }
  const { url, send, errors } = await startLive(t, {
    orm,
    View,
    prepare: (app) =>
      app.addHook('onRequest', (request, _reply, done) => {
        RequestContext.create(orm.em, () => {
          orm.em.setFilterParams('own', { owner: userOf(request) });
          users.run(userOf(request), done);
        });
      }),
  });
  const open = (user: string): Promise<EventStream> => EventStream.open(t, url, { headers: { user } });
  const streams = await Promise.all(['1', '2'].map(open));
  for (const stream of streams) await stream.until(({ events }) => events.length === 1);
  await send('POST', '', { title: 'of one' }, { user: '1' });
  await send('POST', '', { title: 'of two' }, { user: '2' });
  for (const stream of streams) await stream.until(({ told }) => told.includes('count'));
  t.strictSame(streams.map(titles), [['of one'], ['of two']]);
  t.strictSame(errors, []);
});

t.test('schemas of tenants, which share the notes of their writes', { skip: skipPostgreSql() }, async (t) => {
  const orm = await openPostgreSql(t, { entities });
  for (const schema of ['first', 'second']) {
    await orm.em
      .getConnection()
      .execute(`create schema ${schema}; create table ${schema}.task (like public.task including all)`);
  }
  class View extends ModelViewSet(Task, options) {}
  const { url, send } = await startLive(t, {
    orm,
    View,
    prepare: (app) =>
      app.addHook('onRequest', async (request) => {
        request.em.schema = userOf(request) === 1 ? 'first' : 'second';
      }),
  });
  const open = (user: string): Promise<EventStream> => EventStream.open(t, url, { headers: { user } });
  const streams = await Promise.all(['1', '2'].map(open));
  for (const stream of streams) await stream.until(({ events }) => events.length === 1);
  await send('POST', '', { title: 'of one' }, { user: '1' });
  await send('POST', '', { title: 'of two' }, { user: '2' });
  for (const stream of streams) await stream.until(({ told }) => told.includes('count'));
  t.strictSame(streams.map(titles), [['of one'], ['of two']]);
});

t.test('sessions of row-level security', { skip: skipPostgreSql() }, async (t) => {
  const orm = await openPostgreSql(t, { entities });
  const role = `live_${process.pid}`;
  await orm.em.getConnection().execute(`
    create role ${role};
    grant select on task to ${role};
    alter table task enable row level security;
    create policy own on task using (owner = nullif(current_setting('app.user', true), '')::int);
  `);
  t.teardown(() => orm.em.getConnection().execute(`drop owned by ${role}; drop role ${role}`));
  class View extends ModelViewSet(Task, options) {}
  const { url, send } = await startLive(t, {
    orm,
    View,
    prepare: (app) =>
      app.addHook('onRequest', async (request) => {
        if (request.method !== 'GET') return;
        request.em.setSessionContext({ role, variables: { 'app.user': String(userOf(request)) } });
      }),
  });
  const open = (user: string): Promise<EventStream> => EventStream.open(t, url, { headers: { user } });
  const streams = await Promise.all(['1', '2'].map(open));
  for (const stream of streams) await stream.until(({ events }) => events.length === 1);
  await orm.em.fork().insert(Task, { title: 'of two', owner: 2 });
  await send('POST', '', { title: 'of one', owner: 1 });
  for (const stream of streams) await stream.until(({ told }) => told.includes('count'));
  t.strictSame(streams.map(titles), [['of one'], ['of two']]);
});
