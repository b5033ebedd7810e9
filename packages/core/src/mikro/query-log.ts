import type { Connection } from '@mikro-orm/core';

/** Logs a statement in MikroORM's log, like its own connections (protected there). */
export function tellQueryLog(connection: Connection, sql: string, context: Record<string, unknown>): void {
  (connection as unknown as { logQuery(sql: string, context: object): void }).logQuery(sql, context);
}
