import { wrongOption } from '../options.ts';
import { isConnectionLost } from '../stores/redis-connection.ts';
import { HealthCheck, type HealthCheckOptions } from './health-check.ts';

/** A MikroORM instance. */
export interface OrmSource {
  readonly em: { getConnection(): object };
}

/** A source of SQL: a MikroORM, a pool or client of `pg`, a database of better-sqlite3. */
export type SqlSource =
  | OrmSource
  | { query(sql: string): Promise<unknown> }
  | { prepare(sql: string): { get(): unknown } };

const STATEMENT = 'select 1';

/** Reads one row from a server, over the connections of its source. */
abstract class SqlHealthCheck extends HealthCheck {
  readonly #ask: () => unknown;

  constructor(source: SqlSource, options: HealthCheckOptions) {
    super(options);
    this.#ask = selectOne(new.target.name, source);
  }

  async check(): Promise<boolean> {
    await this.#ask();
    return true;
  }
}

function selectOne(owner: string, source: SqlSource): () => unknown {
  const given = (source ?? {}) as Partial<OrmSource & { query: unknown; prepare: unknown }>;
  if (given.em !== undefined) {
    const { em } = given;
    return () => (em.getConnection() as { execute(sql: string): Promise<unknown> }).execute(STATEMENT);
  }
  if (typeof given.query === 'function') return () => (source as { query(sql: string): unknown }).query(STATEMENT);
  if (typeof given.prepare === 'function') {
    return () => (source as { prepare(sql: string): { get(): unknown } }).prepare(STATEMENT).get();
  }
  throw wrongOption(owner, 'source', 'a MikroORM, or a pool or database of the driver', source);
}

/**
 * Checks PostgreSQL by reading one row. Takes a MikroORM on PostgreSQL, or a pool or client of `pg`. Its name is `postgresql` unless
 * another is given. Throws ImproperlyConfigured for another source or a wrong option.
 *
 * @example
 * health.register(new PostgresHealthCheck(orm));   // select 1
 */
export class PostgresHealthCheck extends SqlHealthCheck {
  constructor(source: SqlSource, options: HealthCheckOptions = {}) {
    super(source, { name: 'postgresql', ...options });
  }
}

/**
 * Checks SQLite by reading one row. Takes a MikroORM on SQLite or libSQL, or a database of better-sqlite3. Its name is `sqlite` unless
 * another is given. Throws ImproperlyConfigured for another source or a wrong option.
 *
 * @example
 * health.register(new SqliteHealthCheck(orm));   // select 1
 */
export class SqliteHealthCheck extends SqlHealthCheck {
  constructor(source: SqlSource, options: HealthCheckOptions = {}) {
    super(source, { name: 'sqlite', ...options });
  }
}

/** A client of ioredis, alone or of a Cluster. */
export interface PingableRedis {
  readonly status: string;
  ping(): Promise<unknown>;
}

/**
 * Checks Redis by PING. Takes a client of ioredis. Its name is `redis` unless another is given. Throws
 * ImproperlyConfigured without a client, and for a wrong option.
 *
 * @example
 * health.register(new RedisHealthCheck(redis));
 */
export class RedisHealthCheck extends HealthCheck {
  readonly #client: PingableRedis;

  constructor(client: PingableRedis, options: HealthCheckOptions = {}) {
    super({ name: 'redis', ...options });
    if (typeof client?.ping !== 'function') {
      throw wrongOption(new.target.name, 'client', 'a Redis or Cluster of ioredis', client);
    }
    this.#client = client;
  }

  async check(): Promise<boolean> {
    // A client that lost its connection queues commands. Its status shows the loss at once.
    return !isConnectionLost(this.#client.status) && (await this.#client.ping()) === 'PONG';
  }
}

/** The part of a database handle of the `mongodb` driver that is needed. */
interface MongoDatabase {
  command(command: { ping: 1 }): Promise<{ readonly ok?: unknown }>;
}

/** A MikroORM on MongoDB, or a MongoClient. */
export type MongoSource = OrmSource | { db(): MongoDatabase };

/**
 * Checks MongoDB by a ping. Takes a MikroORM on MongoDB, or a `MongoClient`. Its name is `mongodb` unless another is given. Throws
 * ImproperlyConfigured for another source or a wrong option.
 *
 * @example
 * health.register(new MongoHealthCheck(orm));   // { ping: 1 }
 */
export class MongoHealthCheck extends HealthCheck {
  readonly #source: MongoSource;

  constructor(source: MongoSource, options: HealthCheckOptions = {}) {
    super({ name: 'mongodb', ...options });
    const { em, db } = (source ?? {}) as Partial<OrmSource & { db: unknown }>;
    if (em === undefined && typeof db !== 'function') {
      throw wrongOption(new.target.name, 'source', 'a MikroORM or a MongoClient', source);
    }
    this.#source = source;
  }

  async check(): Promise<boolean> {
    const { ok } = await this.#database().command({ ping: 1 });
    return ok === 1;
  }

  #database(): MongoDatabase {
    if (!('em' in this.#source)) return this.#source.db();
    return (this.#source.em.getConnection() as { getDb(): MongoDatabase }).getDb();
  }
}
