import type { Connection, EntityManager } from '@mikro-orm/core';
import { type Awaitable, isPromise } from '../../../support/awaitable.ts';
import { ImproperlyConfigured, ServiceUnavailable } from '../../../errors/errors.ts';
import { connectionFor, type Purpose } from '../../../mikro/connection-for.ts';
import { checkTransactionOpen } from '../../../mikro/ended-transaction.ts';
import {
  betweenTransactions,
  type SqliteDatabase,
  sqliteDatabase,
  type SqliteStatement,
} from '../../../mikro/sqlite-database.ts';
import { readError } from '../../database-errors.ts';
import { foldCase } from '../../../query/language/fold-case.ts';
import { LruMap } from '../../../support/lru-map.ts';
import { isBusy } from '../../../support/sqlite-busy.ts';
import { logged } from './query-log.ts';
import type { Reader, Statement } from './reader.ts';
import { SQL_ERRORS } from './sql-errors.ts';
import { BUSY_TIMEOUT_MS, whenFree } from './sqlite-lock.ts';

/** The SQL function that folds case by Unicode; see `foldCase`. */
export const FOLD = 'viewset_fold';

/** The SQL function that returns true, or ends a statement that has blocked the process for too long. */
export const IN_TIME = 'viewset_in_time';

/** The time after which IN_TIME ends a statement. */
const STATEMENT_LIMIT_MS = 1000;

const MAX_STATEMENTS = 500;
/** The most statements of forms that clients choose, of which there may be endlessly many. */
const MAX_CLIENT_STATEMENTS = 100;

/** Makes the reader of a database. SQLite's packages differ in how they run a statement. */
export type MakeReader = (database: SqliteDatabase) => Reader;

const readers = new WeakMap<SqliteDatabase, Reader>();

const databases = new WeakMap<Connection, SqliteDatabase>();

/**
 * Runs work on the only connection, at once if it is open and free. If another transaction is open on it, waits for its
 * end, so that nobody sees uncommitted data. If another process has locked the database, waits without blocking this
 * process. Within an own transaction, `waitForWriters` has already done that.
 */
export function runSqlite<T>(
  em: EntityManager,
  purpose: Purpose,
  makeReader: MakeReader,
  workWith: (reader: Reader) => Awaitable<T>,
): Awaitable<T> {
  const isInTransaction = em.getTransactionContext<unknown>() !== undefined;
  const connection = connectionFor(em, purpose);
  const database = databases.get(connection);
  const work = (open: SqliteDatabase): Awaitable<T> => workWith(logged(em, connection, readerOf(open, makeReader)));
  if (database === undefined || (!isInTransaction && database.inTransaction)) {
    return readLater(em, connection, isInTransaction, work);
  }
  const failed = (error: unknown): Promise<T> => {
    // Opens a connection again that was closed in the meantime.
    if (!database.open || (!isInTransaction && isBusy(error))) return readLater(em, connection, isInTransaction, work);
    throw readError(SQL_ERRORS, em.getPlatform(), error);
  };
  try {
    if (isInTransaction) checkTransactionOpen(database);
    const result = work(database);
    return isPromise(result) ? result.catch(failed) : result;
  } catch (error) {
    return failed(error);
  }
}

async function readLater<T>(
  em: EntityManager,
  connection: Connection,
  isInTransaction: boolean,
  work: (database: SqliteDatabase) => Awaitable<T>,
): Promise<T> {
  try {
    const database = await sqliteDatabase(connection);
    if (!databases.has(connection)) waitShortly(em, database);
    databases.set(connection, database);
    const run = async (): Promise<T> => work(database);
    if (isInTransaction) {
      checkTransactionOpen(database);
      return await run();
    }
    return await whenFree(connection, () => (database.inTransaction ? betweenTransactions(connection, run) : run()));
  } catch (error) {
    throw readError(SQL_ERRORS, em.getPlatform(), error);
  }
}

/**
 * Shortens SQLite's wait for other processes, which blocks this process and lasts 5 s by default. Keeps the `timeout`
 * of the application, if there is one.
 */
function waitShortly(em: EntityManager, database: SqliteDatabase): void {
  const options = em.config.get('driverOptions') as { readonly timeout?: unknown } | undefined;
  if (options?.timeout === undefined) database.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`);
}

function readerOf(database: SqliteDatabase, makeReader: MakeReader): Reader {
  let reader = readers.get(database);
  if (reader === undefined) readers.set(database, (reader = makeReader(database)));
  return reader;
}

/** Makes the reader of a better-sqlite3 database, and adds our functions to the database. */
export function betterSqliteReader(database: SqliteDatabase): Reader {
  const prepared = preparedBy(database);
  database.function(FOLD, { deterministic: true }, (value) => (typeof value === 'string' ? foldCase(value) : value));
  let startedAtMs: number | undefined;
  database.function(IN_TIME, { deterministic: false }, () => {
    startedAtMs ??= performance.now();
    if (performance.now() - startedAtMs <= STATEMENT_LIMIT_MS) return 1;
    throw new ServiceUnavailable(`The database needs too long for this query; ask for less at once`);
  });
  return {
    rows(statement: Statement, values: readonly unknown[]): unknown[][] {
      const made = prepared(statement);
      startedAtMs = undefined;
      if (!statement.one) return made.all(...values);
      const row = made.get(...values);
      return row === undefined ? [] : [row];
    },
  };
}

/**
 * Prepares and caches statements.
 *
 * @throws ImproperlyConfigured for a database whose LIKE is case-sensitive
 */
export function preparedBy(database: SqliteDatabase): (statement: Statement) => SqliteStatement {
  if (database.prepare("select 'A' like 'a'").raw(true).all()[0]?.[0] !== 1) {
    throw new ImproperlyConfigured('query sets on SQLite need a LIKE that ignores case: leave case_sensitive_like off');
  }
  const ofViews = new LruMap<string, SqliteStatement>(MAX_STATEMENTS);
  const ofClients = new LruMap<string, SqliteStatement>(MAX_CLIENT_STATEMENTS);
  return ({ sql, isShapedByClient }) => {
    const byText = isShapedByClient ? ofClients : ofViews;
    let made = byText.get(sql);
    if (made === undefined) byText.set(sql, (made = database.prepare(sql).raw(true)));
    return made;
  };
}
