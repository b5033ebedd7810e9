import type { EntityManager } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors/errors.ts';
import type { Backend } from '../backends/backend.ts';
import type { DatabaseErrors } from '../backends/database-errors.ts';
import { readerOf, type Source } from '../backends/source.ts';
import type { Dialect } from '../backends/sql/dialects/dialect.ts';
import { LibSqlDialect } from '../backends/sql/dialects/libsql-dialect.ts';
import { PostgreSqlDialect } from '../backends/sql/dialects/postgresql-dialect.ts';
import { SQL_ERRORS } from '../backends/sql/dialects/sql-errors.ts';
import { SqliteDialect } from '../backends/sql/dialects/sqlite-dialect.ts';
import { compareDecimals } from '../mikro/exact-decimals.ts';
import { readElements } from '../mikro/exact-lists.ts';
import { keepUndeclaredKeys } from '../mikro/undeclared-keys.ts';
import { SqlBackend } from '../backends/sql/sql-backend.ts';

interface Supported {
  /** The name of the database in messages, with its MikroORM package. */
  readonly name: string;
  readonly dialect: (em: EntityManager) => Dialect;
}

/**
 * The databases that core supports, by the client package of MikroORM's driver. The driver's own list of client
 * packages decides, and not a class name: minified bundles rename classes, and drivers with different clients share a
 * platform.
 */
const DIALECTS: Readonly<Record<string, Supported>> = {
  'better-sqlite3': { name: 'SQLite (@mikro-orm/sqlite)', dialect: (em) => new SqliteDialect(em) },
  libsql: { name: 'libSQL (@mikro-orm/libsql)', dialect: (em) => new LibSqlDialect(em) },
  pg: { name: 'PostgreSQL (@mikro-orm/postgresql)', dialect: (em) => new PostgreSqlDialect(em.getPlatform()) },
};

/** The MikroORM extensions that register a backend (`registerBackend`), by the client package of the driver. */
const EXTENSIONS: Readonly<Record<string, string>> = { mongodb: 'extensions: [MongoExtension], of @viewset/mongodb' };

type Driver = ReturnType<EntityManager['getDriver']>;

const known = new WeakMap<object, Backend>();
const errors = new Set<DatabaseErrors>([SQL_ERRORS]);

/**
 * Registers the backend of a driver's ORM. A MikroORM extension calls it, before the ORM has read its entities.
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

/** Lists the error readers of all databases with a registered backend. */
export function knownErrors(): Iterable<DatabaseErrors> {
  return errors;
}

/**
 * Finds the backend of an entity manager's ORM.
 *
 * @throws ImproperlyConfigured for an unsupported database
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
 * Returns undefined for an unsupported database.
 *
 * @throws ImproperlyConfigured if the extension that registers the backend is missing
 */
export function findBackend(em: EntityManager): Backend | undefined {
  const driver = em.getDriver();
  let backend = known.get(driver);
  if (backend === undefined && (backend = makeBackend(em, driver)) !== undefined) known.set(driver, backend);
  if (backend !== undefined) {
    readElements(em);
    compareDecimals(em);
    keepUndeclaredKeys(em);
  }
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
