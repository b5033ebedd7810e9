import type { EntityManager } from '@mikro-orm/core';
import { ImproperlyConfigured } from '@viewset/core';
import { MIGRATIONS } from '../migrations/index.ts';
import { type Database, MIGRATIONS_TABLE } from './database.ts';
import { startOnMongo } from './mongo-schema.ts';

/**
 * What to do with a schema of an earlier version: migrate it, or refuse to start. An empty database always gets its schema, and so does a
 * SQLite file, which has only one process.
 */
export type SchemaPolicy = 'migrate' | 'require';

type Execute = <Row>(sql: string) => Promise<Row[]>;

/**
 * The statement that makes shops wait for each other if they start at the same time on one database, until the end of its transaction, and
 * the statement that lists the existing tables.
 */
const DIALECTS = {
  sqlite: {
    // Writing the version takes SQLite's one write lock.
    lock: ['pragma user_version = 1'],
    tables: `select name from sqlite_master where type = 'table'`,
  },
  postgresql: {
    // Neither the wait nor a migration has the time limits of a request. A shop that waited must see the tables that others created.
    lock: [
      'set transaction isolation level read committed',
      'set local statement_timeout = 0',
      'set local idle_in_transaction_session_timeout = 0',
      `select pg_advisory_xact_lock(hashtext('viewset shop'))`,
    ],
    tables: 'select tablename as name from pg_tables where schemaname = current_schema()',
  },
} as const;

/**
 * Runs `start` in one transaction that no other shop's start shares, after the schema exists: a first start is stored completely or not at
 * all.
 *
 * @throws ImproperlyConfigured if the schema is required and a database in use lacks a migration
 */
export async function startOnce(
  database: Database,
  policy: SchemaPolicy,
  start: (em: EntityManager, isFirst: boolean) => Promise<void>,
): Promise<void> {
  const { orm, kind } = database;
  if (kind === 'mongodb') return startOnMongo(database, policy, start);
  const dialect = DIALECTS[kind];
  await orm.em.fork().transactional(async (em) => {
    const execute: Execute = (sql) =>
      em.getConnection().execute(sql, [], 'all', em.getTransactionContext()) as Promise<never[]>;
    for (const statement of dialect.lock) await execute(statement);
    const tables = (await execute<{ name: string }>(dialect.tables)).map(({ name }) => name);
    const isFirst = !tables.includes('product');
    if (kind === 'sqlite') await createTables(database, tables, execute);
    else await migrate(database, isFirst ? 'migrate' : policy, em, await pendingMigrations(tables, execute));
    await start(em, isFirst);
  });
}

/** Creates the tables that are missing, with their indexes: a file has one owner, and needs no migration for a table of a later version. */
async function createTables({ orm }: Database, tables: readonly string[], execute: Execute): Promise<void> {
  const schema = await orm.schema.getCreateSchemaSQL({ wrap: false });
  for (const statement of schema.split(/;\s*\n/).filter(Boolean)) {
    const [, table = ''] = /^\s*create (?:table|(?:unique )?index `\w+` on) `(\w+)`/.exec(statement) ?? [];
    if (!tables.includes(table)) await execute(statement);
  }
}

/** Read by hand: MikroORM would create the table that it remembers migrations in, which production may not. */
async function pendingMigrations(tables: readonly string[], execute: Execute): Promise<string[]> {
  const executed = tables.includes(MIGRATIONS_TABLE)
    ? await execute<{ name: string }>(`select name from ${MIGRATIONS_TABLE}`)
    : [];
  const names = new Set(executed.map(({ name }) => name));
  return MIGRATIONS.map(({ name }) => name).filter((name) => !names.has(name));
}

async function migrate(
  { orm }: Database,
  policy: SchemaPolicy,
  em: EntityManager,
  pending: readonly string[],
): Promise<void> {
  if (pending.length === 0) return;
  if (policy === 'migrate') {
    await orm.migrator.up({ transaction: em.getTransactionContext<object>()! });
    return;
  }
  throw new ImproperlyConfigured(
    `DATABASE_URL must name a database with the schema of this version, since in production a start does not ` +
      `change one that is in use; missing: ${pending.join(', ')}. Run "pnpm --filter @viewset/shop migrate" first`,
  );
}
