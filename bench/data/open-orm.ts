import type { AnyEntity, EntityClass, EntitySchema, MikroORM } from '@mikro-orm/core';
import { MikroORM as MongoORM } from '@mikro-orm/mongodb';
import { MikroORM as PostgreSqlORM } from '@mikro-orm/postgresql';
import { MikroORM as SqliteORM } from '@mikro-orm/sqlite';
import { MongoExtension } from '@viewset/mongodb';
import type { DatabaseKind } from './database.ts';
import { entities as benchEntities } from './entities.ts';

export type BenchEntities = readonly (EntityClass<AnyEntity> | EntitySchema)[];

/** MikroORM with its defaults on a database of the benchmark; on MongoDB with the extension that counts keys. */
export async function openOrm(
  kind: DatabaseKind,
  location: string,
  entities: BenchEntities = benchEntities,
): Promise<MikroORM> {
  if (kind === 'postgresql') {
    return PostgreSqlORM.init({ clientUrl: location, entities: [...entities] });
  }
  if (kind === 'mongodb') {
    return MongoORM.init({ clientUrl: location, entities: [...entities], extensions: [MongoExtension] });
  }
  const orm = await SqliteORM.init({ dbName: location, entities: [...entities] });
  await orm.em.getConnection().execute(SQLITE_PRAGMA);
  return orm;
}

/** Set on every connection of every server: a commit's wait for the disk does not depend on the frameworks. */
export const SQLITE_PRAGMA = 'pragma synchronous = normal';
