import type { EntityManager, Platform } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';
import type { Backend } from '../backends/backend.ts';
import { MongoBackend } from '../backends/mongodb/mongo-backend.ts';
import { readerOf, type Source } from '../backends/source.ts';
import { PostgreSqlDialect } from '../backends/sql/dialects/postgresql-dialect.ts';
import { SqliteDialect } from '../backends/sql/dialects/sqlite-dialect.ts';
import { SqlBackend } from '../backends/sql/sql-backend.ts';
import { clientsOf, type Database, databaseOf } from '../mikro/database.ts';
import { isExtended } from '../mikro/mongo-extension.ts';

const BACKENDS: Readonly<Record<Database, (em: EntityManager) => Backend>> = {
  sqlite: (em) => new SqlBackend(new SqliteDialect(em)),
  postgresql: (em) => new SqlBackend(new PostgreSqlDialect(em.getPlatform())),
  mongodb: makeMongoBackend,
};

function makeMongoBackend(em: EntityManager): Backend {
  if (isExtended(em)) return new MongoBackend();
  throw new ImproperlyConfigured(
    'On MongoDB, the keys, references and unique fields of entities are kept by an extension of MikroORM: give the ORM ' +
      'extensions: [MongoExtension], of @viewset/core',
  );
}

const known = new WeakMap<Platform, Backend>();

/**
 * The backend of the ORM that an entity manager belongs to.
 * @throws ImproperlyConfigured for a database that is not supported
 */
export function backendOf(source: Source): Backend {
  const em = readerOf(source);
  const platform = em.getPlatform();
  let backend = known.get(platform);
  if (backend === undefined) known.set(platform, (backend = makeBackend(em)));
  return backend;
}

function makeBackend(em: EntityManager): Backend {
  const driver = em.getDriver();
  const database = databaseOf(driver);
  if (database !== undefined) return BACKENDS[database](em);
  throw new ImproperlyConfigured(
    'The databases that are supported are SQLite (@mikro-orm/sqlite, with better-sqlite3), PostgreSQL ' +
      `(@mikro-orm/postgresql) and MongoDB (@mikro-orm/mongodb); got an ORM whose driver runs on ${clientsOf(driver)}`,
  );
}
