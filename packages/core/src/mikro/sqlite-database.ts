import type { Connection } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors/errors.ts';

/** The part of better-sqlite3 and libSQL that is used. `function` throws in libSQL. */
export interface SqliteDatabase {
  readonly open: boolean;
  readonly inTransaction: boolean;
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
  pragma(text: string): unknown;
  function(name: string, options: { deterministic: boolean }, implementation: (value: unknown) => unknown): unknown;
}

/** A prepared statement in both packages. */
export interface SqliteStatement {
  raw(toggle: boolean): this;
  all(...values: readonly unknown[]): unknown[][];
  get(...values: readonly unknown[]): unknown[] | undefined;
}

/** The part of MikroORM's SQLite connections that is used. */
export interface SqliteConnection {
  getClient(): { connection(): { execute<T>(work: () => Promise<T>): Promise<T> } };
}

/**
 * Opens and returns the database of a connection.
 * @throws ImproperlyConfigured for a driver on another package
 */
export async function sqliteDatabase(connection: Connection): Promise<SqliteDatabase> {
  const database = (await connection.getNativeClient()) as Partial<SqliteDatabase> | undefined;
  if (typeof database?.function !== 'function' || typeof database.prepare !== 'function') {
    throw new ImproperlyConfigured(
      'SQLite needs the package better-sqlite3, as @mikro-orm/sqlite uses it, or libsql, as @mikro-orm/libsql does',
    );
  }
  return database as SqliteDatabase;
}

/** Runs work after the open transaction of a connection has ended, and before the next one begins. */
export function betweenTransactions<Result>(connection: Connection, work: () => Promise<Result>): Promise<Result> {
  return (connection as Connection & SqliteConnection).getClient().connection().execute(work);
}
