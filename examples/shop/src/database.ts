import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MikroORM, type Options } from '@mikro-orm/core';
import { Migrator } from '@mikro-orm/migrations';
import { MongoDriver } from '@mikro-orm/mongodb';
import { PostgreSqlDriver } from '@mikro-orm/postgresql';
import { SqliteDriver } from '@mikro-orm/sqlite';
import { ImproperlyConfigured } from '@viewset/core';
import { MongoExtension } from '@viewset/mongodb';
import type { FastifyBaseLogger } from 'fastify';
import { MIGRATIONS } from '../migrations/index.ts';
import { Account } from './entities/account.ts';
import { ApiKey } from './entities/api-key.ts';
import { Identity } from './entities/identity.ts';
import { Passkey } from './entities/passkey.ts';
import { Product } from './entities/product.ts';
import { Role } from './entities/role.ts';
import { Session } from './entities/session.ts';
import { TwoFactor } from './entities/two-factor.ts';
import type { Settings } from './settings.ts';

const DEFAULT_FILE = fileURLToPath(new URL('../shop.sqlite', import.meta.url));
/** The table in which PostgreSQL records the migrations that were run. */
export const MIGRATIONS_TABLE = 'shop_migrations';
/** How long a request waits for a connection: for a new one, or for its turn at the pool. */
const CONNECT_TIMEOUT_MS = 5000;
/** The time between two statements of a transaction after which PostgreSQL ends it and releases its locks. */
const IDLE_TRANSACTION_TIMEOUT_MS = 30_000;
/** With a write-ahead log, readers and a writer do not wait for each other. */
const SQLITE_JOURNAL = 'pragma journal_mode = wal';

export interface Database {
  readonly kind: 'sqlite' | 'postgresql' | 'mongodb';
  readonly orm: MikroORM;
}

type DatabaseSettings = Pick<Settings, 'databaseUrl' | 'databasePoolSize' | 'databaseStatementTimeoutSeconds'>;

/** Connects to the database of a DATABASE_URL; by default, to the file shop.sqlite next to this package. */
export async function openDatabase(settings: DatabaseSettings, log: FastifyBaseLogger): Promise<Database> {
  const { databaseUrl: url } = settings;
  const kind = kindOf(url);
  const open = (options: Partial<Options>): Promise<MikroORM> =>
    MikroORM.init({
      ...options,
      entities: [Account, ApiKey, Identity, Passkey, Product, Role, Session, TwoFactor],
      logger: (message) => log.info(message),
      colors: false,
    });
  let orm = await open(OPTIONS[kind](url, settings));
  if (kind === 'postgresql' && (await refusesParameters(orm))) {
    await orm.close(true);
    log.warn('PgBouncer refuses time limits of connections: set them on the role, or there are none');
    orm = await open(postgresql(url!, settings, {}));
  }
  if (kind === 'sqlite') await orm.em.getConnection().execute(SQLITE_JOURNAL);
  return { kind, orm };
}

const OPTIONS: Readonly<
  Record<Database['kind'], (url: string | undefined, settings: DatabaseSettings) => Partial<Options>>
> = {
  sqlite: (url) => sqlite(url?.slice('sqlite:'.length)),
  postgresql: (url, settings) => postgresql(url!, settings),
  mongodb: (url, settings) => mongodb(url!, settings),
};

function kindOf(url: string | undefined): Database['kind'] {
  if (url === undefined || url.startsWith('sqlite:')) return 'sqlite';
  return url.startsWith('mongodb') ? 'mongodb' : 'postgresql';
}

function sqlite(file: string = DEFAULT_FILE): Partial<Options> {
  const dbName = file === ':memory:' ? file : resolve(file);
  if (dbName !== ':memory:' && !existsSync(dirname(dbName))) {
    throw new ImproperlyConfigured(`DATABASE_URL must name a file in a folder that exists; got "sqlite:${file}"`);
  }
  return { driver: SqliteDriver, dbName };
}

/** Reports whether a server, which is PgBouncer, refuses the time limits that come with a connection. */
async function refusesParameters(orm: MikroORM): Promise<boolean> {
  try {
    await orm.em.getConnection().execute('select 1');
    return false;
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message: string };
    return code === '08P01' && message.includes('startup parameter');
  }
}

function postgresql(
  url: string,
  settings: DatabaseSettings,
  limits: object = {
    statement_timeout: settings.databaseStatementTimeoutSeconds * 1000,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS,
  },
): Partial<Options> {
  return {
    driver: PostgreSqlDriver,
    clientUrl: url,
    pool: { max: settings.databasePoolSize },
    driverOptions: {
      // The driver parses the URL too: socket folders and TLS are in its query string.
      connectionString: url,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      ...limits,
    },
    extensions: [Migrator],
    migrations: { tableName: MIGRATIONS_TABLE, migrationsList: [...MIGRATIONS], snapshot: false, silent: true },
  };
}

function mongodb(url: string, settings: DatabaseSettings): Partial<Options> {
  return {
    driver: MongoDriver,
    clientUrl: url,
    pool: { max: settings.databasePoolSize },
    driverOptions: {
      serverSelectionTimeoutMS: CONNECT_TIMEOUT_MS,
      connectTimeoutMS: CONNECT_TIMEOUT_MS,
      waitQueueTimeoutMS: CONNECT_TIMEOUT_MS,
      // The driver sends the limit to the server (maxTimeMS) with each command.
      timeoutMS: settings.databaseStatementTimeoutSeconds * 1000,
    },
    extensions: [MongoExtension],
  };
}
