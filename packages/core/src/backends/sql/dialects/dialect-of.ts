import type { Platform } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../../errors.ts';
import type { Dialect } from './dialect.ts';
import { PostgreSqlDialect } from './postgresql-dialect.ts';
import { SqliteDialect } from './sqlite-dialect.ts';

const known = new WeakMap<Platform, Dialect>();

const DIALECTS: Readonly<Record<string, new (platform: Platform) => Dialect>> = {
  SqlitePlatform: SqliteDialect,
  BasePostgreSqlPlatform: PostgreSqlDialect,
};

/**
 * The dialect of a platform, found by the names of its classes so that no driver is imported.
 * @throws ImproperlyConfigured for a database that is not supported
 */
export function dialectOf(platform: Platform): Dialect {
  let dialect = known.get(platform);
  if (dialect === undefined) known.set(platform, (dialect = make(platform)));
  return dialect;
}

function make(platform: Platform): Dialect {
  let prototype = Object.getPrototypeOf(platform) as object | null;
  while (prototype !== null) {
    const Found = DIALECTS[prototype.constructor.name];
    if (Found !== undefined) return new Found(platform);
    prototype = Object.getPrototypeOf(prototype) as object | null;
  }
  throw new ImproperlyConfigured(
    `query sets run on SQLite (better-sqlite3, @mikro-orm/sqlite) and PostgreSQL (@mikro-orm/postgresql), not on ${platform.constructor.name}`,
  );
}
