import type { Connection, EntityManager, Platform } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors.ts';
import { foldCase } from './case-folding.ts';
import { readError } from './driver-error.ts';
import { LruMap } from '../sql/lru-map.ts';
import { logged } from './query-log.ts';
import type { Reader, Statement } from './reader.ts';

/** What is used of better-sqlite3. */
interface Database {
  readonly inTransaction: boolean;
  prepare(sql: string): PreparedStatement;
  function(name: string, options: { deterministic: boolean }, implementation: (value: unknown) => unknown): unknown;
}

interface PreparedStatement {
  raw(toggle: boolean): this;
  all(...values: unknown[]): unknown[][];
}

/** What is used of Kysely. */
interface Client {
  connection(): { execute<T>(work: () => Promise<T>): Promise<T> };
}

interface SqliteConnection extends Connection {
  getNativeClient(): Promise<unknown>;
  getClient(): Client;
}

/** The SQL function that folds case by Unicode; see `foldCase`. */
export const FOLD = 'viewset_fold';

const MAX_STATEMENTS = 500;

const readers = new WeakMap<Database, Reader>();

/**
 * Runs work that reads on the one connection there is. A transaction of somebody else that is open on it is waited for:
 * what it has not committed is not seen.
 */
export async function readSqlite<T>(
  em: EntityManager,
  platform: Platform,
  work: (reader: Reader) => T | Promise<T>,
): Promise<T> {
  const own = em.getTransactionContext<unknown>() !== undefined;
  const connection = em.getConnection(own ? 'write' : 'read') as SqliteConnection;
  try {
    const database = (await connection.getNativeClient()) as Database;
    const reader = logged(em, connection, readerOf(database));
    if (own || !database.inTransaction) return await work(reader);
    return await connection.getClient().connection().execute(async () => work(reader));
  } catch (error) {
    throw readError(platform, error);
  }
}

function readerOf(database: Database): Reader {
  let reader = readers.get(database);
  if (reader === undefined) readers.set(database, (reader = makeReader(database)));
  return reader;
}

function makeReader(database: Database): Reader {
  if (typeof database.function !== 'function' || typeof database.prepare !== 'function') {
    throw new ImproperlyConfigured('query sets on SQLite need the driver better-sqlite3, as @mikro-orm/sqlite uses it');
  }
  database.function(FOLD, { deterministic: true }, (value) => (typeof value === 'string' ? foldCase(value) : value));
  const prepared = new LruMap<string, PreparedStatement>(MAX_STATEMENTS);
  return {
    rows({ sql }: Statement, values: readonly unknown[]): unknown[][] {
      let statement = prepared.get(sql);
      if (statement === undefined) prepared.set(sql, (statement = database.prepare(sql).raw(true)));
      return statement.all(...values);
    },
  };
}
