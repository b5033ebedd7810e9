import { defineEntity, p } from '@mikro-orm/core';
import { MikroORM as MongoORM } from '@mikro-orm/mongodb';
import { MikroORM as PostgreSqlORM } from '@mikro-orm/postgresql';
import { MikroORM as SqliteORM } from '@mikro-orm/sqlite';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { HealthCheck } from '../../src/health/health-check.ts';
import { HealthRegistry } from '../../src/health/health-registry.ts';
import {
  MongoHealthCheck,
  PostgresHealthCheck,
  RedisHealthCheck,
  SqliteHealthCheck,
} from '../../src/health/built-in-checks.ts';
import { mongoDatabase, openPostgreSql, openSqlite, postgresUrl, skipMongo } from '../support/databases.ts';
import { mongoServer } from '../support/mongo-server.ts';
import { freePort, redisClient, withRedisServer, withRedis } from '../support/redis.ts';

const Thing = defineEntity({ name: 'Thing', properties: { id: p.integer().primary() } });

/** What the report says of one check, and what the log says about it. */
async function statusOf(check: HealthCheck): Promise<{ status: string; complaint: string }> {
  let complaint = '';
  const log = {
    info: () => {},
    warn: ({ err }: { err: Error }) => void (complaint = err.message),
  };
  const { checks } = await new HealthRegistry().register(check).run(log);
  return { status: checks[check.name]!.status, complaint };
}

/** A port that accepts connections and never answers. */
async function silentPort(t: Test): Promise<number> {
  const sockets = new Set<{ destroy(): unknown }>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

withRedis(t, 'Redis, up', async (t, url) => {
  const check = new RedisHealthCheck(redisClient(t, url));
  t.equal(check.name, 'redis');
  t.equal((await statusOf(check)).status, 'ok');
});

withRedisServer(t, 'Redis, down, silent, and back', async (t, redis) => {
  const client = redisClient(t, redis.url);
  const check = new RedisHealthCheck(client, { timeoutMs: 300 });
  t.equal((await statusOf(check)).status, 'ok');
  redis.freeze();
  t.match(await statusOf(check), { status: 'unavailable', complaint: /did not answer within 300 ms/ });
  redis.thaw();
  await sleep(200);
  t.equal((await statusOf(check)).status, 'ok');
  await redis.kill();
  await sleep(100);
  t.match(await statusOf(check), { status: 'unavailable', complaint: /\S/ });
  await redis.start();
  while (client.status !== 'ready') await sleep(10);
  t.equal((await statusOf(check)).status, 'ok');
});

withRedisServer(t, 'Redis that responds and takes no writes', async (t, redis) => {
  const client = redisClient(t, redis.url);
  const check = new RedisHealthCheck(client, { prefix: 'shop:' });
  t.equal((await statusOf(check)).status, 'ok');
  t.equal(await client.get('shop:health:0'), '1');
  await client.config('SET', 'maxmemory', '1');
  t.match(await statusOf(check), { status: 'unavailable', complaint: /OOM/ });
  await client.config('SET', 'maxmemory', '0');
  await client.replicaof('127.0.0.1', await freePort());
  t.equal(await client.ping(), 'PONG');
  t.match(await statusOf(check), { status: 'unavailable', complaint: /READONLY/ });
  await client.replicaof('NO', 'ONE');
  t.equal((await statusOf(check)).status, 'ok');
});

t.test('PostgreSQL, up', { skip: skipWithout(postgresUrl(), 'TEST_POSTGRES_URL') }, async (t) => {
  const orm = await openPostgreSql(t, { entities: [Thing] });
  const check = new PostgresHealthCheck(orm);
  t.equal(check.name, 'postgresql');
  t.equal((await statusOf(check)).status, 'ok');
  const pool: unknown = await (orm.em.getConnection() as unknown as { getNativeClient(): unknown }).getNativeClient();
  t.equal((await statusOf(new PostgresHealthCheck(pool as never))).status, 'ok', 'a pool of pg');
});

for (const [state, portOf, complaint] of [
  ['down', freePort, /ECONNREFUSED/],
  ['silent', silentPort, /did not answer within 300 ms/],
] as const) {
  t.test(`PostgreSQL, ${state}`, async (t) => {
    const port = await portOf(t);
    const clientUrl = `postgres://nobody@127.0.0.1:${port}/nothing`;
    const orm = await PostgreSqlORM.init({
      clientUrl,
      entities: [Thing],
      driverOptions: { connectionTimeoutMillis: 1000 },
    });
    t.teardown(() => orm.close(true));
    t.match(await statusOf(new PostgresHealthCheck(orm, { timeoutMs: 300 })), { status: 'unavailable', complaint });
  });
}

t.test('SQLite, up and closed', async (t) => {
  const orm = await openSqlite(t, { entities: [Thing] });
  const check = new SqliteHealthCheck(orm);
  t.equal(check.name, 'sqlite');
  t.equal((await statusOf(check)).status, 'ok');
  const connection = orm.em.getConnection() as unknown as { getNativeClient(): Promise<{ close(): void }> };
  const database = await connection.getNativeClient();
  t.equal((await statusOf(new SqliteHealthCheck(database as never))).status, 'ok', 'a database of better-sqlite3');
  database.close();
  t.equal((await statusOf(check)).status, 'unavailable');
});

t.test('SQLite, a file that cannot be opened', async (t) => {
  const orm = await SqliteORM.init({ dbName: '/nowhere/at/all.sqlite', entities: [Thing] });
  t.teardown(() => orm.close(true));
  t.equal((await statusOf(new SqliteHealthCheck(orm))).status, 'unavailable');
});

t.test('MongoDB, up, unwell and silent', async (t) => {
  const server = await mongoServer(t);
  const orm = await MongoORM.init({ clientUrl: server.url, entities: [], discovery: { warnWhenNoEntities: false } });
  t.teardown(() => orm.close(true));
  const check = new MongoHealthCheck(orm, { timeoutMs: 1000 });
  t.equal(check.name, 'mongodb');
  t.equal((await statusOf(check)).status, 'ok');
  const client = (orm.em.getConnection() as unknown as { getClient(): unknown }).getClient();
  t.equal((await statusOf(new MongoHealthCheck(client as never))).status, 'ok', 'a MongoClient');
  server.reply = { ok: 0, errmsg: 'not well', code: 1 };
  t.equal((await statusOf(check)).status, 'unavailable');
  server.reply = undefined;
  t.match(await statusOf(check), { status: 'unavailable', complaint: /did not answer within 1000 ms/ });
});

t.test('MongoDB, down', async (t) => {
  const clientUrl = `mongodb://127.0.0.1:${await freePort()}/test`;
  const orm = await MongoORM.init({ clientUrl, entities: [], discovery: { warnWhenNoEntities: false } });
  t.teardown(() => orm.close(true));
  t.match(await statusOf(new MongoHealthCheck(orm, { timeoutMs: 300 })), { status: 'unavailable', complaint: /\S/ });
});

t.test('MongoDB, a real server', { skip: skipMongo() }, async (t) => {
  const clientUrl = mongoDatabase();
  const orm = await MongoORM.init({ clientUrl, entities: [], discovery: { warnWhenNoEntities: false } });
  t.teardown(() => orm.close(true));
  t.equal((await statusOf(new MongoHealthCheck(orm))).status, 'ok');
});

t.test('invalid sources are rejected', async (t) => {
  for (const source of [undefined, null, 'postgres://localhost', {}]) {
    t.throws(() => new PostgresHealthCheck(source as never), {
      message: /^PostgresHealthCheck: option "source" must be a MikroORM/,
    });
    t.throws(() => new SqliteHealthCheck(source as never), { message: /^SqliteHealthCheck: option "source"/ });
    t.throws(() => new MongoHealthCheck(source as never), {
      message: /^MongoHealthCheck: option "source" must be a MikroORM or a MongoClient/,
    });
    t.throws(() => new RedisHealthCheck(source as never), {
      message: /^RedisHealthCheck: option "client" must be a Redis or Cluster/,
    });
  }
});

/** Under CI a server that is missing is a failure, not a reason to skip. */
function skipWithout(url: string | undefined, variable: string): string | false {
  return url === undefined && process.env['CI'] !== 'true' ? `${variable} is not set: nothing was tried on it` : false;
}
