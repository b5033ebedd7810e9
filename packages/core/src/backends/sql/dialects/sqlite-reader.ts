import type { Connection, EntityManager, Platform } from '@mikro-orm/core';
import { type Awaitable, isPromise } from '../../../awaitable.ts';
import { ImproperlyConfigured } from '../../../errors.ts';
import { foldCase } from './case-folding.ts';
import { readError } from './driver-error.ts';
import { LruMap } from './lru-map.ts';
import { logged } from './query-log.ts';
import type { Reader, Statement } from './reader.ts';

/** What is used of better-sqlite3. */
interface Database {
  readonly open: boolean;
  readonly inTransaction: boolean;
  prepare(sql: string): PreparedStatement;
  function(name: string, options: { deterministic: boolean }, implementation: (value: unknown) => unknown): unknown;
}

interface PreparedStatement {
  raw(toggle: boolean): this;
  all(...values: readonly unknown[]): unknown[][];
  get(...values: readonly unknown[]): unknown[] | undefined;
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
/** Statements of forms that clients choose, of which there may be endlessly many. */
const MAX_CLIENT_STATEMENTS = 100;

const readers = new WeakMap<Database, Reader>();

const databases = new WeakMap<Connection, Database>();

/**
 * Runs work that reads on the one connection there is: at once where it is open and free. A transaction of somebody else
 * that is open on it is waited for: what it has not committed is not seen.
 */
export function readSqlite<T>(
  em: EntityManager,
  platform: Platform,
  purpose: 'read' | 'write',
  work: (reader: Reader) => Awaitable<T>,
): Awaitable<T> {
  const own = em.getTransactionContext<unknown>() !== undefined;
  const connection = em.getConnection(own ? 'write' : purpose) as SqliteConnection;
  const database = databases.get(connection);
  // One that was closed meanwhile is in no transaction; it says so when it is asked for more.
  if (database === undefined || (!own && database.inTransaction)) {
    return readLater(em, platform, connection, own, work);
  }
  try {
    const result = work(logged(em, connection, readerOf(database)));
    return isPromise(result) ? result.catch((error: unknown) => rethrow(platform, error)) : result;
  } catch (error) {
    if (!database.open) return readLater(em, platform, connection, own, work);
    return rethrow(platform, error);
  }
}

function rethrow(platform: Platform, error: unknown): never {
  throw readError(platform, error);
}

async function readLater<T>(
  em: EntityManager,
  platform: Platform,
  connection: SqliteConnection,
  own: boolean,
  work: (reader: Reader) => Awaitable<T>,
): Promise<T> {
  try {
    const database = (await connection.getNativeClient()) as Database;
    databases.set(connection, database);
    const reader = logged(em, connection, readerOf(database));
    if (own || !database.inTransaction) return await work(reader);
    return await connection
      .getClient()
      .connection()
      .execute(async () => work(reader));
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
  if (database.prepare("select 'A' like 'a'").raw(true).all()[0]?.[0] !== 1) {
    throw new ImproperlyConfigured('query sets on SQLite need a LIKE that ignores case: leave case_sensitive_like off');
  }
  database.function(FOLD, { deterministic: true }, (value) => (typeof value === 'string' ? foldCase(value) : value));
  const ofViews = new LruMap<string, PreparedStatement>(MAX_STATEMENTS);
  const ofClients = new LruMap<string, PreparedStatement>(MAX_CLIENT_STATEMENTS);
  const prepared = new WeakMap<Statement, PreparedStatement>();
  const prepare = (statement: Statement): PreparedStatement => {
    const { sql, isShapedByClient } = statement;
    const byText = isShapedByClient ? ofClients : ofViews;
    let made = byText.get(sql);
    if (made === undefined) byText.set(sql, (made = database.prepare(sql).raw(true)));
    prepared.set(statement, made);
    return made;
  };
  return {
    rows(statement: Statement, values: readonly unknown[]): unknown[][] {
      const made = prepared.get(statement) ?? prepare(statement);
      if (!statement.one) return made.all(...values);
      const row = made.get(...values);
      return row === undefined ? [] : [row];
    },
  };
}
