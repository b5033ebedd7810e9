import type { EntityManager } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';
import type { Backend } from '../backends/backend.ts';
import type { DatabaseErrors } from '../backends/database-errors.ts';
import { readerOf, type Source } from '../backends/source.ts';
import type { Dialect } from '../backends/sql/dialects/dialect.ts';
import { LibSqlDialect } from '../backends/sql/dialects/libsql-dialect.ts';
import { PostgreSqlDialect } from '../backends/sql/dialects/postgresql-dialect.ts';
import { SQL_ERRORS } from '../backends/sql/dialects/sql-errors.ts';
import { SqliteDialect } from '../backends/sql/dialects/sqlite-dialect.ts';
import { SqlBackend } from '../backends/sql/sql-backend.ts';

interface Supported {
  /** The name of the database in messages, with its package of MikroORM. */
  readonly name: string;
  readonly dialect: (em: EntityManager) => Dialect;
}

/**
 * The databases that core serves, by the client package that MikroORM's driver of each one runs on. The driver's own list of client
 * packages decides, and no name of a class: a minified bundle renames classes, and drivers on different clients share a platform.
 */
const DIALECTS: Readonly<Record<string, Supported>> = {
  'better-sqlite3': { name: 'SQLite (@mikro-orm/sqlite)', dialect: (em) => new SqliteDialect(em) },
  libsql: { name: 'libSQL (@mikro-orm/libsql)', dialect: (em) => new LibSqlDialect(em) },
  pg: { name: 'PostgreSQL (@mikro-orm/postgresql)', dialect: (em) => new PostgreSqlDialect(em.getPlatform()) },
};

/** The extensions of MikroORM that bring a backend (`registerBackend`), by the client package of its driver. */
const EXTENSIONS: Readonly<Record<string, string>> = { mongodb: 'extensions: [MongoExtension], of @viewset/mongodb' };

type Driver = ReturnType<EntityManager['getDriver']>;

const known = new WeakMap<object, Backend>();
const errors = new Set<DatabaseErrors>([SQL_ERRORS]);

/**
 * Has a backend serve the ORM of a driver. Called by an extension of MikroORM, before the ORM has read its entities.
 *
 * @param driver `orm.driver`
 * @example
 * export const OtherExtension = {
 *   register: (orm: MikroORM) => registerBackend(orm.driver, makeBackend()),
 * };
 */
export function registerBackend(driver: object, backend: Backend): void {
  known.set(driver, backend);
  errors.add(backend.errors);
}

/** Lists how the errors of each kind of database are read that has a backend here. */
export function knownErrors(): Iterable<DatabaseErrors> {
  return errors;
}

/**
 * Finds the backend of the ORM that an entity manager belongs to.
 *
 * @throws ImproperlyConfigured for a database that is not supported
 */
export function backendOf(source: Source): Backend {
  const em = readerOf(source);
  const backend = findBackend(em);
  if (backend !== undefined) return backend;
  const ofCore = Object.values(DIALECTS).map(({ name }) => name);
  throw new ImproperlyConfigured(
    `The databases that are supported are ${ofCore.join(', ')} and MongoDB (@mikro-orm/mongodb, with @viewset/mongodb); ` +
      `got an ORM whose driver runs on ${clientsOf(em.getDriver()).join(', ')}`,
  );
}

/**
 * Returns undefined for a database that is not supported.
 *
 * @throws ImproperlyConfigured if the extension is missing that brings the backend
 */
export function findBackend(em: EntityManager): Backend | undefined {
  const driver = em.getDriver();
  let backend = known.get(driver);
  if (backend === undefined && (backend = makeBackend(em, driver)) !== undefined) known.set(driver, backend);
  return backend;
}

function makeBackend(em: EntityManager, driver: Driver): Backend | undefined {
  for (const client of clientsOf(driver)) {
    const supported = DIALECTS[client];
    if (supported !== undefined) return new SqlBackend(supported.dialect(em));
    const extension = EXTENSIONS[client];
    if (extension === undefined) continue;
    throw new ImproperlyConfigured(
      `An extension of MikroORM brings the backend for a driver that runs on ${client}: give the ORM ${extension}`,
    );
  }
  return undefined;
}

function clientsOf(driver: Driver): readonly string[] {
  return driver.getDependencies().filter((client) => client !== 'kysely');
}
