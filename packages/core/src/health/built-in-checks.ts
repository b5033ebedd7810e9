import { replicasOf } from '../mikro/replicas.ts';
import { wrongOption } from '../errors/options.ts';
import { isBusy } from '../support/sqlite-busy.ts';
import { isCluster, isConnectionLost, type RedisClient } from '../stores/redis-connection.ts';
import { HealthCheck, type HealthCheckOptions, OPTION_NAMES } from './health-check.ts';

/** The options of the checks of databases. */
export interface DatabaseHealthCheckOptions extends HealthCheckOptions {
  /** False: the application only reads, so the check reads too. Default: true, the check proves that the database takes writes. */
  readonly needsWrites?: boolean;
}

/** A MikroORM instance. */
export interface OrmSource {
  readonly em: { getConnection(): object };
}

/** A source of PostgreSQL: a MikroORM, or a pool or client of `pg`. */
export type PostgresSource = OrmSource | { query(sql: string): Promise<unknown> };

/** The part of better-sqlite3 that is needed. */
interface SqliteDatabase {
  prepare(sql: string): { get(): unknown };
  exec(sql: string): unknown;
}

/** A source of SQLite: a MikroORM, or a database of better-sqlite3. */
export type SqliteSource = OrmSource | SqliteDatabase;

/** The part of MikroORM's SQL connections that is needed. */
interface SqlConnection {
  execute(sql: string, values?: [], method?: 'get' | 'all' | 'run', transaction?: unknown): Promise<unknown>;
  transactional<Result>(work: (transaction: unknown) => Promise<Result>): Promise<Result>;
}

/** Checks a database by a write that changes nothing, or by reading. */
abstract class DatabaseHealthCheck extends HealthCheck {
  readonly #needsWrites: boolean;

  constructor({ needsWrites = true, ...options }: DatabaseHealthCheckOptions) {
    super(options, [...OPTION_NAMES, 'needsWrites']);
    if (typeof needsWrites !== 'boolean') {
      throw wrongOption(new.target.name, 'needsWrites', 'true or false', needsWrites);
    }
    this.#needsWrites = needsWrites;
  }

  check(): Promise<boolean> {
    return this.#needsWrites ? this.write() : this.read();
  }

  protected abstract read(): Promise<boolean>;
  protected abstract write(): Promise<boolean>;
}

const READ = 'select 1';

/**
 * Takes a transaction number, which has to be committed like a write of a row. The error of a read-only server is that of
 * a write, so its connection is replaced.
 */
const WRITE = `do $$ begin
  if current_setting('transaction_read_only') = 'on' then
    raise exception 'the server takes no writes' using errcode = 'read_only_sql_transaction';
  end if;
  perform txid_current();
end $$`;

/**
 * Checks that PostgreSQL takes writes, by committing an empty transaction with a number. A standby, a server under
 * `default_transaction_read_only`, and one whose commits wait for a lost synchronous standby fail. With
 * `needsWrites: false` it reads one row. With read replicas it registers a check for each, which is not essential. Takes a
 * MikroORM on PostgreSQL, or a pool or client of `pg`. Its name is
 * `postgresql` unless another is given. Throws ImproperlyConfigured for another source or a wrong option.
 *
 * @example
 * health.register(new PostgresHealthCheck(orm));
 */
export class PostgresHealthCheck extends DatabaseHealthCheck {
  readonly #execute: (sql: string) => unknown;
  readonly #replicas: readonly SqlConnection[];

  constructor(source: PostgresSource, options: DatabaseHealthCheckOptions = {}) {
    super({ name: 'postgresql', ...options });
    const { em, query } = (source ?? {}) as Partial<OrmSource & { query: unknown }>;
    this.#replicas = em === undefined ? [] : replicasOf(em);
    if (em !== undefined) {
      this.#execute = (sql) => (em.getConnection() as SqlConnection).execute(sql);
    } else if (typeof query === 'function') {
      this.#execute = (sql) => (source as { query(sql: string): unknown }).query(sql);
    } else {
      throw wrongOption(new.target.name, 'source', 'a MikroORM, or a pool or client of pg', source);
    }
  }

  /** One for each read replica, named `postgresql-replica-1` and so on. Reads survive without it, so it is not essential. */
  override further(): readonly HealthCheck[] {
    const { timeoutMs } = this;
    return this.#replicas.map(
      (replica, index) => new ReplicaHealthCheck(replica, { name: `${this.name}-replica-${index + 1}`, timeoutMs }),
    );
  }

  protected async read(): Promise<boolean> {
    await this.#execute(READ);
    return true;
  }

  protected async write(): Promise<boolean> {
    await this.#execute(WRITE);
    return true;
  }
}

class ReplicaHealthCheck extends HealthCheck {
  readonly #connection: SqlConnection;

  constructor(connection: SqlConnection, options: HealthCheckOptions) {
    super({ ...options, isEssential: false });
    this.#connection = connection;
  }

  async check(): Promise<boolean> {
    await this.#connection.execute(READ);
    return true;
  }
}

/**
 * Checks that SQLite takes writes, by writing its `user_version` again. A file that is read-only and a full disk fail. If
 * another process is writing, the check is ok. With `needsWrites: false` it reads one row. Takes a MikroORM on SQLite or
 * libSQL, or a database of better-sqlite3. Its name is `sqlite` unless another is given. Throws ImproperlyConfigured for
 * another source or a wrong option.
 *
 * @example
 * health.register(new SqliteHealthCheck(orm));
 */
export class SqliteHealthCheck extends DatabaseHealthCheck {
  readonly #source: SqliteSource;

  constructor(source: SqliteSource, options: DatabaseHealthCheckOptions = {}) {
    super({ name: 'sqlite', ...options });
    const { em, prepare } = (source ?? {}) as Partial<OrmSource & { prepare: unknown }>;
    if (em === undefined && typeof prepare !== 'function') {
      throw wrongOption(new.target.name, 'source', 'a MikroORM, or a database of better-sqlite3', source);
    }
    this.#source = source;
  }

  protected async read(): Promise<boolean> {
    if ('em' in this.#source) await (this.#source.em.getConnection() as SqlConnection).execute(READ);
    else this.#source.prepare(READ).get();
    return true;
  }

  protected async write(): Promise<boolean> {
    try {
      if ('em' in this.#source) await writeByOrm(this.#source.em.getConnection() as SqlConnection);
      else writeByDriver(this.#source);
    } catch (error) {
      if (!isBusy(error)) throw error;
    }
    return true;
  }
}

const VERSION = 'pragma user_version';

/** The version cannot change between reading and writing: SQLite refuses to write over what a transaction has not read. */
function writeByOrm(connection: SqlConnection): Promise<unknown> {
  return connection.transactional(async (transaction) => {
    const row = await connection.execute(VERSION, [], 'get', transaction);
    await connection.execute(writeVersion(row), [], 'run', transaction);
  });
}

/** Runs in one turn, so that nobody else is in the transaction. */
function writeByDriver(database: SqliteDatabase): void {
  database.exec('savepoint viewset_health');
  try {
    database.exec(writeVersion(database.prepare(VERSION).get()));
  } finally {
    database.exec('release viewset_health');
  }
}

function writeVersion(row: unknown): string {
  return `${VERSION} = ${(row as { user_version: number }).user_version}`;
}

/** The options of the check of Redis. */
export interface RedisHealthCheckOptions extends HealthCheckOptions {
  /** The prefix of the keys that it writes. Default: `viewset:`, as that of `RedisStore`. */
  readonly prefix?: string;
}

/** The number of keys that are written to a Cluster. Their slots lie on all masters of any usual size. */
const CLUSTER_KEYS = 16;
/** The lifetime of a key, in milliseconds. */
const KEY_TTL_MS = 1000;

/**
 * Checks that Redis takes writes, by writing a key that expires after a second. A replica and a server whose memory is
 * full fail, although they answer PING. On a Cluster it writes several keys, so that each master is checked. Takes a client
 * of ioredis. Its name is `redis` unless another is given. Throws ImproperlyConfigured without a client, and for a wrong
 * option.
 *
 * @example
 * health.register(new RedisHealthCheck(redis, { isEssential: false }));
 */
export class RedisHealthCheck extends HealthCheck {
  readonly #client: RedisClient;
  readonly #keys: readonly string[];

  constructor(client: RedisClient, { prefix = 'viewset:', ...options }: RedisHealthCheckOptions = {}) {
    super({ name: 'redis', ...options }, [...OPTION_NAMES, 'prefix']);
    if (typeof client?.call !== 'function') {
      throw wrongOption(new.target.name, 'client', 'a Redis or Cluster of ioredis', client);
    }
    if (typeof prefix !== 'string') throw wrongOption(new.target.name, 'prefix', 'a string', prefix);
    this.#client = client;
    const count = isCluster(client) ? CLUSTER_KEYS : 1;
    this.#keys = Array.from({ length: count }, (_, index) => `${prefix}health:${index}`);
  }

  async check(): Promise<boolean> {
    // A client that lost its connection queues commands. Its status shows the loss at once.
    if (isConnectionLost(this.#client.status)) return false;
    const written = this.#keys.map((key) => this.#client.call('set', key, '1', 'PX', KEY_TTL_MS));
    return (await Promise.all(written)).every((reply) => reply === 'OK');
  }
}

/** The part of a database handle of the `mongodb` driver that is needed. */
interface MongoDatabase {
  command(command: object): Promise<object>;
}

/** A MikroORM on MongoDB, or a MongoClient. */
export type MongoSource = OrmSource | { db(): MongoDatabase };

/** Deletes no record, and creates no collection. */
const MONGO_WRITE = {
  delete: 'viewset_health',
  deletes: [{ q: { _id: { $in: [] } }, limit: 1 }],
  writeConcern: { w: 'majority' },
};
const MONGO_READ = { ping: 1 };

/**
 * Checks that MongoDB takes writes, by a deletion that matches no record, with a majority's confirmation. The user
 * needs the right to delete in the database. With `needsWrites: false` it sends a ping. Takes a MikroORM on MongoDB, or a
 * `MongoClient`. Its name is `mongodb` unless another is given. Throws ImproperlyConfigured for another source or a wrong
 * option.
 *
 * @example
 * health.register(new MongoHealthCheck(orm));
 */
export class MongoHealthCheck extends DatabaseHealthCheck {
  readonly #source: MongoSource;

  constructor(source: MongoSource, options: DatabaseHealthCheckOptions = {}) {
    super({ name: 'mongodb', ...options });
    const { em, db } = (source ?? {}) as Partial<OrmSource & { db: unknown }>;
    if (em === undefined && typeof db !== 'function') {
      throw wrongOption(new.target.name, 'source', 'a MikroORM or a MongoClient', source);
    }
    this.#source = source;
  }

  protected read(): Promise<boolean> {
    return this.#run(MONGO_READ);
  }

  protected write(): Promise<boolean> {
    return this.#run(MONGO_WRITE);
  }

  /** The driver returns the errors of a write in its reply. */
  async #run(command: object): Promise<boolean> {
    const { ok, writeErrors, writeConcernError } = (await this.#database().command(command)) as MongoReply;
    if (writeErrors !== undefined || writeConcernError !== undefined) {
      throw new Error('MongoDB takes no writes', { cause: writeErrors ?? writeConcernError });
    }
    return ok === 1;
  }

  #database(): MongoDatabase {
    if (!('em' in this.#source)) return this.#source.db();
    return (this.#source.em.getConnection() as { getDb(): MongoDatabase }).getDb();
  }
}

interface MongoReply {
  readonly ok?: unknown;
  readonly writeErrors?: unknown;
  readonly writeConcernError?: unknown;
}
