import type { EntityManager } from '@mikro-orm/core';
import { dialectOf } from './dialects/dialect-of.ts';

/**
 * The tables with triggers, in lower case and of any schema. `returning` shows a row before the triggers that run after
 * its statement, and a trigger may drop the row.
 */
export async function tablesWithTriggers(em: EntityManager): Promise<ReadonlySet<string>> {
  const dialect = dialectOf(em.getPlatform());
  const rows = await dialect.read(em, (reader) => reader.rows({ sql: dialect.triggers, one: false }, []));
  return new Set(rows.map(([table]) => String(table).toLowerCase()));
}
