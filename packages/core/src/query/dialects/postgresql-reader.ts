import type { Connection, EntityManager, Platform } from '@mikro-orm/core';
import { createHash } from 'node:crypto';
import type { Awaitable } from '../../awaitable.ts';
import { readError } from './driver-error.ts';
import { LruMap } from '../sql/lru-map.ts';
import { logged } from './query-log.ts';
import type { Reader, Statement } from './reader.ts';

interface PgQuery {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly rowMode: 'array';
  readonly name?: string;
}

/** What is used of pg. */
interface Pool {
  readonly ending: boolean;
  query(query: PgQuery): Promise<{ readonly rows: unknown[][] }>;
}

/** What is used of Kysely: its client, and its transactions. */
interface Client {
  executeQuery(query: {
    readonly sql: string;
    readonly parameters: readonly unknown[];
    readonly query: {
      readonly kind: 'RawNode';
      readonly sqlFragments: readonly string[];
      readonly parameters: readonly [];
    };
    readonly queryId: { readonly queryId: string };
  }): Promise<{ readonly rows: readonly Record<string, unknown>[] }>;
}

interface PostgreSqlConnection extends Connection {
  getNativeClient(): Promise<unknown>;
  getClient(): Client;
  transactional<T>(work: (transaction: unknown) => Promise<T>, options: object): Promise<T>;
}

/** What MikroORM keeps for row level security. */
interface SessionManager {
  getTransactionSessionContext?(): object | undefined;
}

/** Runs work that reads: in the transaction of the entity manager, or on the pool. */
export function readPostgreSql<T>(
  em: EntityManager,
  platform: Platform,
  purpose: 'read' | 'write',
  work: (reader: Reader) => Awaitable<T>,
): Promise<T> {
  const transaction = em.getTransactionContext<Client>();
  const connection = em.getConnection(transaction === undefined ? purpose : 'write') as PostgreSqlConnection;
  return read(em, connection, transaction, (reader) => work(logged(em, connection, reader))).catch((error: unknown) => {
    throw readError(platform, error);
  });
}

async function read<T>(
  em: EntityManager,
  connection: PostgreSqlConnection,
  transaction: Client | undefined,
  run: (reader: Reader) => Awaitable<T>,
): Promise<T> {
  if (transaction !== undefined) return run(clientReader(transaction));
  const sessionContext = (em as SessionManager).getTransactionSessionContext?.();
  if (sessionContext !== undefined) {
    return connection.transactional(async (begun) => run(clientReader(begun as Client)), { sessionContext });
  }
  return run(openPool(connection) ?? (await freeReader(em, connection)));
}

const pools = new WeakMap<PostgreSqlConnection, Pool>();

/** The pool of a connection, once it is known that its clients are taken from it as they are. */
function openPool(connection: PostgreSqlConnection): Reader | undefined {
  const pool = pools.get(connection);
  return pool === undefined || pool.ending ? undefined : poolReader(pool);
}

/** Where connections are prepared for each use, they have to come from where that is done. */
async function freeReader(em: EntityManager, connection: PostgreSqlConnection): Promise<Reader> {
  const { config } = em;
  const isPrepared =
    config.get('onCreateConnection') !== undefined ||
    config.get('onReserveConnection') !== undefined ||
    config.get('sessionContext') === 'connection' ||
    isForeign(config.get('driverOptions'));
  if (isPrepared) {
    await connection.ensureConnection();
    return clientReader(connection.getClient());
  }
  const pool = (await connection.getNativeClient()) as Pool;
  pools.set(connection, pool);
  return poolReader(pool);
}

/** A Kysely, or a dialect of it, that the application made itself. */
function isForeign(driverOptions: unknown): boolean {
  if (typeof driverOptions === 'function') return true;
  return (
    typeof driverOptions === 'object' &&
    driverOptions !== null &&
    ('createDriver' in driverOptions || 'executeQuery' in driverOptions)
  );
}

/** Kysely gives objects, whose keys stand in the order of the select list since every column has a name of its own. */
function clientReader(client: Client): Reader {
  return {
    async rows({ sql }, values) {
      const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] } as const;
      const { rows } = await client.executeQuery({ sql, parameters: values, query, queryId: { queryId: 'viewset' } });
      return rows.map((row) => Object.values(row));
    },
  };
}

const readers = new WeakMap<Pool, Reader>();

function poolReader(pool: Pool): Reader {
  let reader = readers.get(pool);
  if (reader === undefined) readers.set(pool, (reader = new PoolReader(pool)));
  return reader;
}

const MAX_NAMES = 500;

/**
 * Reads through pg's pool. A statement that comes again is prepared under a name, once on each connection. Names live as
 * long as their connection, so there is a limit to them; a name tells its text, so that processes which share
 * connections behind a pooler agree on what it means.
 */
class PoolReader implements Reader {
  readonly #pool: Pool;
  /** The texts that have come, and the names of those that came again. */
  #seen = new LruMap<string, string | null>(2 * MAX_NAMES);
  #names = 0;
  #generation = 0;
  #unnamed = false;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async rows(statement: Statement, values: readonly unknown[]): Promise<unknown[][]> {
    const { sql: text } = statement;
    const name = this.#nameOf(text);
    if (name === undefined) return (await this.#pool.query({ text, values, rowMode: 'array' })).rows;
    try {
      return (await this.#pool.query({ text, values, rowMode: 'array', name })).rows;
    } catch (error) {
      if (!this.#isAboutNames(error)) throw error;
      return (await this.#pool.query({ text, values, rowMode: 'array' })).rows;
    }
  }

  #nameOf(text: string): string | undefined {
    if (this.#unnamed) return undefined;
    const name = this.#seen.get(text);
    if (name === undefined) this.#seen.set(text, null);
    return name === null ? this.#giveName(text) : name;
  }

  #giveName(text: string): string | undefined {
    if (this.#names >= MAX_NAMES) return undefined;
    this.#names++;
    const name = `viewset_${this.#generation}_${createHash('sha1').update(text).digest('hex')}`;
    this.#seen.set(text, name);
    return name;
  }

  /** A pooler does not keep statements; or the schema has changed under their plans, and they need new names. */
  #isAboutNames(error: unknown): boolean {
    const { code, message } = error as { code?: string; message?: string };
    if (code === '26000' || code === '42P05') return (this.#unnamed = true);
    if (code !== '0A000' || message?.includes('cached plan') !== true) return false;
    this.#generation++;
    this.#names = 0;
    this.#seen = new LruMap<string, string | null>(2 * MAX_NAMES);
    return true;
  }
}
