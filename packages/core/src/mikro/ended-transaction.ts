import type { SqliteDatabase } from './sqlite-database.ts';

/** The part of a Kysely transaction that is used. */
export interface RunningTransaction {
  getExecutor(): { executeQuery(...query: unknown[]): Promise<unknown> };
  rollback(): { execute(): Promise<void> };
}

/** The errors with which SQLite ended the last transaction of a database. */
const reasons = new WeakMap<SqliteDatabase, unknown>();

/**
 * Keeps the order of a transaction that SQLite itself ends: after a full disk, an I/O error or `raise(rollback)`. Later
 * statements of the transaction fail, because SQLite would store each of them at once. So does its COMMIT. Its ROLLBACK
 * succeeds. Kysely keeps the connection, which is the only one, after a ROLLBACK that fails, and SQLite rejects one
 * without a transaction. Call it for savepoints too, because they run their statements themselves.
 */
export function keepEndedTransaction(transaction: RunningTransaction, database: SqliteDatabase): void {
  const executor = transaction.getExecutor();
  const executeQuery = executor.executeQuery.bind(executor);
  executor.executeQuery = async (...query) => {
    checkTransactionOpen(database);
    try {
      return await executeQuery(...query);
    } catch (error) {
      if (!database.inTransaction) reasons.set(database, error);
      throw error;
    }
  };
  const rollback = transaction.rollback.bind(transaction);
  transaction.rollback = () => {
    const command = rollback();
    return {
      execute: async () => {
        if (!database.inTransaction) database.exec('begin');
        await command.execute();
      },
    };
  };
}

/** @throws Error if SQLite has ended the transaction of a database */
export function checkTransactionOpen(database: SqliteDatabase): void {
  if (database.inTransaction) return;
  const cause = reasons.get(database);
  const why = cause instanceof Error ? `: ${cause.message}` : '';
  throw new Error(`SQLite has ended the transaction, so its statements would be stored one by one${why}`, { cause });
}
