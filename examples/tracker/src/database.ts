import { MikroORM, type Options } from '@mikro-orm/core';
import { PostgreSqlDriver } from '@mikro-orm/postgresql';
import { SqliteDriver } from '@mikro-orm/sqlite';
import { ENTITIES } from './entities.ts';

/** Connects to the database of a URL: `sqlite:/path/to/file`, `sqlite::memory:`, or `postgres://user:password@host/database`. */
export function openDatabase(url: string): Promise<MikroORM> {
  const where: Partial<Options> = url.startsWith('sqlite:')
    ? { driver: SqliteDriver, dbName: url.slice('sqlite:'.length) }
    : { driver: PostgreSqlDriver, clientUrl: url };
  return MikroORM.init({ ...where, entities: ENTITIES });
}
