import type { Connection } from '@mikro-orm/core';

/** Writes a statement to MikroORM's log, as its own connections do with a protected method. */
export function writeQueryLog(connection: Connection, sql: string, context: Record<string, unknown>): void {
  (connection as unknown as { logQuery(sql: string, context: object): void }).logQuery(sql, context);
}
