import type { EntityManager } from '@mikro-orm/core';
import type { Database } from './database.ts';

/**
 * The statement that makes shops which start at the same moment on one database wait for each other, until the end of
 * the transaction that it opens, and the one that lists the tables there are.
 */
const DIALECTS = {
  // Writing the version takes SQLite's one write lock.
  sqlite: {
    lock: 'pragma user_version = 1',
    tables: `select name from sqlite_master where type = 'table'`,
  },
  postgresql: {
    lock: `select pg_advisory_xact_lock(hashtext('viewset shop'))`,
    tables: 'select tablename as name from pg_tables where schemaname = current_schema()',
  },
} as const;

/**
 * Runs `start` in one transaction that no other shop's start shares, after it has created the tables if there are
 * none: what a first start leaves is whole, or nothing.
 */
export async function startOnce(
  { orm, kind }: Database,
  start: (em: EntityManager, isFirst: boolean) => Promise<void>,
): Promise<void> {
  const dialect = DIALECTS[kind];
  const createSchema = await orm.schema.getCreateSchemaSQL({ wrap: false });
  await orm.em.fork().transactional(async (em) => {
    const execute = <Row>(sql: string): Promise<Row[]> =>
      em.getConnection().execute(sql, [], 'all', em.getTransactionContext()) as Promise<Row[]>;
    await execute(dialect.lock);
    const tables = await execute<{ name: string }>(dialect.tables);
    const isFirst = !tables.some((table) => table.name === 'product');
    if (isFirst) for (const statement of createSchema.split(/;\s*\n/).filter(Boolean)) await execute(statement);
    await start(em, isFirst);
  });
}
