import { MikroORM, type Options } from '@mikro-orm/core';
import { MongoDriver } from '@mikro-orm/mongodb';
import { PostgreSqlDriver } from '@mikro-orm/postgresql';
import { SqliteDriver } from '@mikro-orm/sqlite';
import { MongoExtension } from '@viewset/mongodb';
import { ENTITIES } from './entities.ts';

/**
 * Connects to the database of a URL: `sqlite:/path/to/file`, `sqlite::memory:`, `postgres://user:password@host/database`, or
 * `mongodb://host/database`, a replica set.
 */
export function openDatabase(url: string): Promise<MikroORM> {
  const where: Partial<Options> = url.startsWith('sqlite:')
    ? { driver: SqliteDriver, dbName: url.slice('sqlite:'.length) }
    : url.startsWith('mongodb')
      ? { driver: MongoDriver, clientUrl: url, extensions: [MongoExtension] }
      : { driver: PostgreSqlDriver, clientUrl: url };
  return MikroORM.init({ ...where, entities: ENTITIES });
}
