/** The connections by which processes wake each other. */
import type { MikroORM as MongoORM } from '@mikro-orm/mongodb';
import { EventEmitter } from 'node:events';
import { mock } from 'node:test';
import fastify from 'fastify';
import { Redis } from 'ioredis';
import t, { type Test } from 'tap';
import { viewset } from '@viewset/core';
import { mongoDatabase, openSqlite, skipMongo } from '../../core/test/support/databases.ts';
import { withRedisServer } from '../../core/test/support/redis.ts';
import {
  ListChange,
  ListVersion,
  live,
  mongoWakeUps,
  postgresWakeUps,
  redisWakeUps,
  notifyLists,
} from '../src/index.ts';
import { openTasks, Task } from './support/task-server.ts';
import { until } from './support/until.ts';

t.test('a connection to PostgreSQL that is opened after the last listener has gone is closed', async (t) => {
  const connected = Promise.withResolvers<void>();
  const told: string[] = [];
  class Client extends EventEmitter {
    connect(): Promise<void> {
      return connected.promise;
    }
    async query(sql: string): Promise<void> {
      told.push(sql);
    }
    async end(): Promise<void> {
      told.push('end');
    }
  }
  const end = await postgresWakeUps(() => new Client()).listen(() => told.push('woken'));
  await end();
  connected.resolve();
  await until(() => told.includes('end') || told.includes('woken'));
  t.equal(told.at(-1), 'end');
});

t.test('notifications sent before the connection to PostgreSQL is open are sent once it is', async (t) => {
  const connected = Promise.withResolvers<void>();
  const sent: string[] = [];
  class Client extends EventEmitter {
    connect(): Promise<void> {
      return connected.promise;
    }
    async query(sql: string): Promise<void> {
      sent.push(sql);
    }
    async end(): Promise<void> {}
  }
  const wakeUps = postgresWakeUps(() => new Client());
  const end = await wakeUps.listen(() => {});
  await wakeUps.notify!();
  t.strictSame(sent, []);
  connected.resolve();
  await until(() => sent.length === 2);
  t.strictSame(sent, ['listen viewset_live', 'notify viewset_live']);
  await end();
});

/** Advances the timers by which connections are made again. */
function mockTimers(t: Test): (ms: number) => void {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  return (ms) => mock.timers.tick(ms);
}

t.test('a connection to PostgreSQL that reports its loss twice is reopened once', async (t) => {
  const tick = mockTimers(t);
  const clients: EventEmitter[] = [];
  class Client extends EventEmitter {
    async connect(): Promise<void> {
      clients.push(this);
    }
    async query(): Promise<void> {}
    async end(): Promise<void> {}
  }
  const end = await postgresWakeUps(() => new Client()).listen(() => {});
  clients[0]!.emit('error');
  tick(2000);
  t.equal(clients.length, 2);
  clients[0]!.emit('end');
  tick(2000);
  t.equal(clients.length, 2);
  await end();
});

class Stream extends EventEmitter {
  isClosed = false;
  async close(): Promise<void> {
    this.isClosed = true;
  }
}

t.test('a change stream that fails, and is closed later, is made again once', async (t) => {
  const tick = mockTimers(t);
  const streams: Stream[] = [];
  const watch = (): Stream => (streams.push(new Stream()), streams.at(-1)!);
  const end = await mongoWakeUps(() => ({ watch })).listen(() => {});
  streams[0]!.emit('error');
  tick(2000);
  t.equal(streams.length, 2);
  streams[0]!.emit('close');
  tick(2000);
  t.equal(streams.length, 2);
  await end();
  t.ok(streams.every(({ isClosed }) => isClosed));
});

t.test('a change stream wakes when it has begun, because earlier writes are not in it', async (t) => {
  const stream = new Stream();
  let woken = 0;
  const end = await mongoWakeUps(() => ({ watch: () => stream })).listen(() => woken++);
  t.equal(woken, 0);
  stream.emit('resumeTokenChanged');
  t.equal(woken, 1);
  // It is told again and again while nothing changes.
  stream.emit('resumeTokenChanged');
  t.equal(woken, 1);
  await end();
});

t.test('a change stream of MongoDB reports that it has begun', { skip: skipMongo() }, async (t) => {
  const orm = await openTasks(mongoDatabase());
  t.teardown(async () => {
    await orm.schema.drop();
    await orm.close(true);
  });
  await orm.schema.create();
  const { em } = orm as MongoORM;
  let woken = 0;
  const end = await mongoWakeUps(() => em.getCollection(ListChange)).listen(() => woken++);
  await until(() => woken === 1);
  await em.fork().insert(ListChange, { id: 'a', entity: 'Task' });
  await until(() => woken === 2);
  await end();
});

withRedisServer(t, 'a connection to Redis that was lost wakes once it has subscribed again', async (t, redis) => {
  const client = new Redis(redis.url, { retryStrategy: () => 20, maxRetriesPerRequest: 0 });
  client.on('error', () => {});
  t.teardown(() => client.disconnect());
  let woken = 0;
  const end = await redisWakeUps(client).listen(() => woken++);
  t.teardown(end);
  await until(() => woken > 0);
  await redis.kill();
  await until(() => client.status !== 'ready');
  const before = woken;
  await redis.start();
  await until(() => woken > before);
});

withRedisServer(t, 'a connection to Redis that is not there at first listens once it is', async (t, redis) => {
  await redis.kill();
  const client = new Redis(redis.url, { retryStrategy: () => 20, maxRetriesPerRequest: 0 });
  const failed = Promise.withResolvers<void>();
  client.on('error', () => failed.resolve());
  t.teardown(() => client.disconnect());
  const wakeUps = redisWakeUps(client);
  let woken = 0;
  t.teardown(await wakeUps.listen(() => woken++));
  await failed.promise;
  await redis.start();
  await until(() => woken > 0);
  const before = woken;
  await until(async () => {
    await wakeUps.notify!();
    return woken > before;
  });
});

t.test('a write of a request that ends while the application closes wakes other processes', async (t) => {
  const orm = await openSqlite(t, { entities: [Task, ListChange, ListVersion] });
  const [begun, closing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const told: string[] = [];
  const notify = async (): Promise<void> => {
    told.push('begun');
    await new Promise(setImmediate);
    told.push('told');
  };
  const app = fastify();
  await app.register(viewset, { orm });
  await app.register(live, { wakeUps: { listen: () => () => told.push('ended'), notify } });
  app.addHook('preClose', async () => closing.resolve());
  app.post('/write', async (request) => {
    begun.resolve();
    await closing.promise;
    await notifyLists(request, Task);
    return {};
  });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const answer = fetch(`${url}/write`, { method: 'POST' });
  await begun.promise;
  await app.close();
  t.equal((await answer).status, 200);
  t.strictSame(told, ['begun', 'told', 'ended']);
});

t.test('a hint that never ends holds up no application that closes', async (t) => {
  const orm = await openSqlite(t, { entities: [Task, ListChange, ListVersion] });
  const app = fastify();
  await app.register(viewset, { orm });
  let isEnded = false;
  const listen = () => () => (isEnded = true);
  await app.register(live, { wakeUps: { listen, notify: () => new Promise(() => {}) } });
  await app.ready();
  await notifyLists({ em: orm.em.fork() }, Task);
  await app.close();
  t.ok(isEnded);
});

t.test('redisWakeUps() rejects a URL', async (t) => {
  t.throws(
    () => redisWakeUps('redis://localhost' as never),
    /redisWakeUps\(\): the connection must be a Redis of ioredis/,
  );
});

t.test('notifyLists names the missing argument', async (t) => {
  const orm = await openSqlite(t, { entities: [Task] });
  const em = orm.em.fork();
  await t.rejects(
    notifyLists(em as never, Task),
    /notifyLists\(\): the first argument must be a request, or \{ em \} of a job/,
  );
  await t.rejects(notifyLists({ em }, Task), /notifyLists\(\): the ORM needs the entity ListChange of @viewset\/live/);
});
