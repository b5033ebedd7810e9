import type { Connection } from '@mikro-orm/core';

/** Tells MikroORM's log of a statement, as its connections do of their own (protected there). */
export function tellQueryLog(connection: Connection, sql: string, context: Record<string, unknown>): void {
  (connection as unknown as { logQuery(sql: string, context: object): void }).logQuery(sql, context);
}
