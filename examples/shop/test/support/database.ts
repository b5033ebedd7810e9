import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MikroORM } from '@mikro-orm/core';
import { MikroORM as MongoORM } from '@mikro-orm/mongodb';
import { PostgreSqlDriver } from '@mikro-orm/postgresql';
import { SqliteDriver } from '@mikro-orm/sqlite';
import type { Test } from 'tap';

export const DATABASES = ['sqlite', 'postgresql', 'mongodb'] as const;
export type DatabaseKind = (typeof DATABASES)[number];

/** A PostgreSQL server on which the tests may create databases: `postgres://user:password@host:port/postgres`. */
const SERVER = nonEmpty(process.env['TEST_POSTGRES_URL']);

/** A MongoDB on which the tests may create databases. */
const MONGO = nonEmpty(process.env['TEST_MONGODB_URL']);

/** An empty database that is gone when the test ends: its DATABASE_URL. */
export async function freshDatabase(t: Test, kind: DatabaseKind): Promise<string> {
  if (kind === 'mongodb') return freshMongo(t);
  return kind === 'sqlite' ? freshFile(t) : freshPostgresql(t);
}

/** Skips a test that needs a server where there is none; on CI, fails it. */
export function isMissing(kind: DatabaseKind): string | false {
  if (kind === 'sqlite' || process.env['CI'] === 'true') return false;
  if (kind === 'mongodb') return MONGO === undefined && 'MongoDB is NOT TESTED: set TEST_MONGODB_URL';
  return SERVER === undefined && 'PostgreSQL is NOT TESTED: set TEST_POSTGRES_URL';
}

function freshFile(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'shop-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  return `sqlite:${join(folder, 'shop.sqlite')}`;
}

async function freshPostgresql(t: Test): Promise<string> {
  if (SERVER === undefined) throw new Error('TEST_POSTGRES_URL must be set under CI');
  const name = `shop_test_${randomBytes(6).toString('hex')}`;
  await onServer(SERVER, `create database ${name}`);
  t.teardown(() => onServer(SERVER, `drop database ${name} with (force)`));
  const url = new URL(SERVER);
  url.pathname = `/${name}`;
  return url.href;
}

function freshMongo(t: Test): string {
  if (MONGO === undefined) throw new Error('TEST_MONGODB_URL must be set under CI');
  const url = new URL(MONGO);
  url.pathname = `/shop_test_${randomBytes(6).toString('hex')}`;
  t.teardown(() => inMongo(url.href, (database) => database.dropDatabase()));
  return url.href;
}

type MongoDatabase = ReturnType<ReturnType<MongoORM['em']['getConnection']>['getDb']>;

/** Does something in the database of a shop on MongoDB, past the shop. */
export async function inMongo<Result>(
  clientUrl: string,
  work: (database: MongoDatabase) => Promise<Result>,
): Promise<Result> {
  const orm = await MongoORM.init({ clientUrl, entities: [], discovery: { warnWhenNoEntities: false } });
  try {
    return await work(orm.em.getConnection().getDb());
  } finally {
    await orm.close();
  }
}

/** Runs one statement on the database of a shop, past the shop. */
export async function queryDatabase<Row>({ databaseUrl }: { databaseUrl: string }, sql: string): Promise<Row[]> {
  if (!databaseUrl.startsWith('sqlite:')) return onServer<Row>(databaseUrl, sql);
  const orm = await MikroORM.init({
    driver: SqliteDriver,
    dbName: databaseUrl.slice('sqlite:'.length),
    entities: [],
    discovery: { warnWhenNoEntities: false },
  });
  try {
    return await orm.em.getConnection().execute(sql);
  } finally {
    await orm.close();
  }
}

/** Runs one statement on the database of a PostgreSQL URL. */
export async function onServer<Row>(url: string, sql: string): Promise<Row[]> {
  const orm = await MikroORM.init({
    driver: PostgreSqlDriver,
    clientUrl: url,
    driverOptions: { connectionString: url },
    entities: [],
    discovery: { warnWhenNoEntities: false },
  });
  try {
    return await orm.em.getConnection().execute(sql);
  } finally {
    await orm.close();
  }
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
