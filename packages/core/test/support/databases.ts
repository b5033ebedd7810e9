import type { AnyEntity, EntityClass, EntitySchema, MikroORM, Options } from '@mikro-orm/core';
import { MikroORM as SqliteORM } from '@mikro-orm/sqlite';
import { randomBytes } from 'node:crypto';
import type { Test } from 'tap';

export type DatabaseName = 'sqlite' | 'postgresql' | 'mongodb';

/** Every database, which is the default of `forEachDatabase`. */
export const EVERY_DATABASE: readonly DatabaseName[] = ['sqlite', 'postgresql', 'mongodb'];

/** The databases of tests that are about SQL: its text, its triggers, its types. */
export const SQL_DATABASES: readonly DatabaseName[] = ['sqlite', 'postgresql'];

export interface DatabaseOptions {
  readonly entities: readonly (EntityClass<AnyEntity> | EntitySchema)[];
  /** Further options of MikroORM, the same for every database. */
  readonly orm?: Partial<Options>;
  /** Only these databases; by default every one. */
  readonly only?: readonly DatabaseName[];
  /** True to run on libSQL too, as `sqlite`. For tests of what its package does: statements, errors, transactions, case. */
  readonly onLibSql?: true;
}

/**
 * Runs the same tests on every database: SQLite in memory, and the PostgreSQL server of TEST_POSTGRES_URL
 * (`postgres://user@host:port/postgres`) in a database of its own that is dropped afterwards. The schema is there, the
 * tables are empty. Without the variable the PostgreSQL half is skipped, aloud; under CI it fails.
 * The same goes for MongoDB, and TEST_MONGODB_URL.
 *
 * @example
 * forEachDatabase(t, { entities: [Role] }, async (t, orm) => {
 *   orm.em.fork().create(Role, { name: 'admin' });
 * });
 */
export function forEachDatabase(
  t: Test,
  options: DatabaseOptions,
  body: (t: Test, orm: MikroORM, database: DatabaseName) => Promise<void>,
): void {
  const wanted = options.only ?? EVERY_DATABASE;
  if (wanted.includes('sqlite')) {
    t.test('on SQLite', async (t) => {
      await body(t, await openSqlite(t, options), 'sqlite');
    });
  }
  if (options.onLibSql) {
    t.test('on libSQL', async (t) => {
      await body(t, await openLibSql(t, options), 'sqlite');
    });
  }
  if (wanted.includes('postgresql')) {
    t.test('on PostgreSQL', { skip: skipPostgreSql() }, async (t) => {
      await body(t, await openPostgreSql(t, options), 'postgresql');
    });
  }
  if (!wanted.includes('mongodb')) return;
  t.test('on MongoDB', { skip: skipMongo() }, async (t) => {
    await body(t, await openMongo(t, options), 'mongodb');
  });
}

/** A MikroORM on an empty SQLite database in memory, closed when the test ends. */
export async function openSqlite(t: Test, options: DatabaseOptions): Promise<MikroORM> {
  const orm = await SqliteORM.init({ ...options.orm, dbName: ':memory:', entities: [...options.entities] } as object);
  t.teardown(() => orm.close(true));
  await orm.schema.create();
  return orm;
}

/** A MikroORM on an empty libSQL database in memory, closed when the test ends. */
export async function openLibSql(t: Test, options: DatabaseOptions): Promise<MikroORM> {
  const { MikroORM: LibSqlORM } = await import('@mikro-orm/libsql');
  const orm = await LibSqlORM.init({ ...options.orm, dbName: ':memory:', entities: [...options.entities] } as object);
  t.teardown(() => orm.close(true));
  await orm.schema.create();
  return orm;
}

/** A MikroORM on an empty PostgreSQL database of its own, dropped when the test ends. */
export async function openPostgreSql(t: Test, options: DatabaseOptions): Promise<MikroORM> {
  const clientUrl = await createPostgreSqlDatabase(t);
  const { MikroORM: PostgreSqlORM } = await import('@mikro-orm/postgresql');
  const orm = await PostgreSqlORM.init({ ...options.orm, clientUrl, entities: [...options.entities] } as object);
  t.teardown(() => orm.close(true));
  await orm.schema.create();
  return orm;
}

/** A MikroORM on an empty MongoDB database of its own, dropped when the test ends. */
export async function openMongo(t: Test, options: DatabaseOptions): Promise<MikroORM> {
  const clientUrl = mongoDatabase();
  const { MikroORM: MongoORM } = await import('@mikro-orm/mongodb');
  const { MongoExtension } = await import('../../../mongodb/src/index.ts');
  const extensions = [MongoExtension, ...(options.orm?.extensions ?? [])];
  const orm = await MongoORM.init({ ...options.orm, clientUrl, extensions, entities: [...options.entities] } as object);
  t.teardown(async () => {
    await orm.em.getConnection().getDb().dropDatabase();
    await orm.close(true);
  });
  await orm.schema.create();
  return orm;
}

/** The URL of an empty database on the server of TEST_MONGODB_URL: one is made by its first collection. */
export function mongoDatabase(): string {
  const server = process.env['TEST_MONGODB_URL'];
  if (!server) throw new Error('TEST_MONGODB_URL is not set, and under CI MongoDB has to be tried');
  const url = new URL(server);
  url.pathname = `/viewset_test_${randomBytes(6).toString('hex')}`;
  return url.href;
}

/** Why a test on MongoDB is skipped; false if it is to run. */
export function skipMongo(): string | false {
  if (process.env['TEST_MONGODB_URL'] || process.env['CI'] === 'true') return false;
  return 'TEST_MONGODB_URL is not set: nothing was tried on MongoDB';
}

/** Makes an empty database on the server of TEST_POSTGRES_URL, and answers with its URL. Dropped when the test ends. */
export async function createPostgreSqlDatabase(t: Test): Promise<string> {
  const url = postgresUrl();
  if (url === undefined) throw new Error('TEST_POSTGRES_URL is not set, and under CI PostgreSQL has to be tried');
  const name = `viewset_test_${randomBytes(6).toString('hex')}`;
  await administrate(url, `create database "${name}"`);
  t.teardown(() => administrate(url, `drop database if exists "${name}" with (force)`));
  const database = new URL(url);
  database.pathname = `/${name}`;
  return database.href;
}

/** Runs one statement on the server's own database, over a connection of its own. */
export async function administrate(clientUrl: string, sql: string): Promise<void> {
  const { MikroORM: PostgreSqlORM } = await import('@mikro-orm/postgresql');
  const orm = await PostgreSqlORM.init({ clientUrl, entities: [], discovery: { warnWhenNoEntities: false } });
  try {
    await orm.em.getConnection().execute(sql);
  } finally {
    await orm.close(true);
  }
}

/** Why a test on PostgreSQL is skipped; false where it is to run: under CI it fails where there is no server. */
export function skipPostgreSql(): string | false {
  if (postgresUrl() !== undefined || process.env['CI'] === 'true') return false;
  return 'TEST_POSTGRES_URL is not set: nothing was tried on PostgreSQL';
}

/**
 * The URL of an empty database by way of PgBouncer, which is in transaction mode in front of the server of
 * TEST_POSTGRES_URL. Dropped when the test ends.
 */
export async function createDatabaseBehindPgBouncer(t: Test): Promise<string> {
  const pgBouncer = process.env['TEST_PGBOUNCER_URL'];
  if (!pgBouncer) throw new Error('TEST_PGBOUNCER_URL is not set, and under CI PgBouncer has to be tried');
  const url = new URL(pgBouncer);
  url.pathname = new URL(await createPostgreSqlDatabase(t)).pathname;
  return url.href;
}

/** Why a test by way of PgBouncer is skipped; false if it is to run. */
export function skipPgBouncer(): string | false {
  if (process.env['TEST_PGBOUNCER_URL'] || process.env['CI'] === 'true') return false;
  return 'TEST_PGBOUNCER_URL is not set: nothing was tried behind PgBouncer';
}

/** The PostgreSQL server to test with, or undefined where there is none. */
export function postgresUrl(): string | undefined {
  const url = process.env['TEST_POSTGRES_URL'];
  return url === undefined || url === '' ? undefined : url;
}
