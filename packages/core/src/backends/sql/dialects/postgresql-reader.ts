import type { Connection, EntityManager, Platform } from '@mikro-orm/core';
import { createHash } from 'node:crypto';
import type { Awaitable } from '../../../awaitable.ts';
import type { WriteGuard } from '../../../given-up.ts';
import {
  inSession,
  type KyselyClient,
  kyselyRows,
  type PgPool,
  type PgQuery,
  poolOrClient,
  queryGuarded,
  sessionOf,
  type Settle,
} from '../../../mikro/postgresql-pool.ts';
import { readError } from './driver-error.ts';
import { LruMap } from './lru-map.ts';
import { logged } from './query-log.ts';
import type { Reader, Statement } from './reader.ts';

const rowMode = 'array';

/** Runs work that reads: in the transaction of the entity manager, or on the pool. */
export function readPostgreSql<T>(
  em: EntityManager,
  platform: Platform,
  purpose: 'read' | 'write',
  work: (reader: Reader) => Awaitable<T>,
): Awaitable<T> {
  const transaction = em.getTransactionContext<KyselyClient>();
  const connection = em.getConnection(transaction === undefined ? purpose : 'write');
  const run = (reader: Reader): Awaitable<T> => work(logged(em, connection, reader));
  if (transaction !== undefined) return run(new ClientReader(transaction, platform));
  const session = sessionOf(em);
  const pool = session === undefined ? pools.get(connection) : undefined;
  return pool?.isOpen === true ? run(pool) : readLater(em, connection, platform, session, run);
}

const pools = new WeakMap<Connection, PoolReader>();

async function readLater<T>(
  em: EntityManager,
  connection: Connection,
  platform: Platform,
  session: object | undefined,
  run: (reader: Reader) => Awaitable<T>,
): Promise<T> {
  try {
    if (session === undefined) return await run(await openReader(em, connection, platform));
    return await inSession(connection, session, async (begun) => run(new ClientReader(begun, platform)));
  } catch (error) {
    throw readError(platform, error);
  }
}

/** Connections that are prepared for each use have to come from where that is done. */
async function openReader(em: EntityManager, connection: Connection, platform: Platform): Promise<Reader> {
  const opened = await poolOrClient(em, connection);
  if ('client' in opened) return new ClientReader(opened.client, platform);
  // Others may have waited for the same pool.
  const known = pools.get(connection);
  if (known?.isOpen === true) return known;
  const reader = new PoolReader(opened.pool, platform);
  pools.set(connection, reader);
  return reader;
}

/** Reads through Kysely, within a transaction or on connections that are prepared for each use. */
class ClientReader implements Reader {
  readonly #client: KyselyClient;
  readonly #platform: Platform;

  constructor(client: KyselyClient, platform: Platform) {
    this.#client = client;
    this.#platform = platform;
  }

  async rows({ sql }: Statement, values: readonly unknown[]): Promise<unknown[][]> {
    try {
      return await kyselyRows(this.#client, sql, values);
    } catch (error) {
      throw readError(this.#platform, error);
    }
  }
}

/** How often a text comes before it gets a name, and how many names there are, for each connection to keep. */
interface NameRule {
  readonly comes: number;
  readonly most: number;
}

const OF_VIEWS: NameRule = { comes: 2, most: 500 };
/** Of the forms that clients choose there may be endlessly many: only those that come often get one of few names. */
const OF_CLIENTS: NameRule = { comes: 5, most: 50 };

/** Names for the texts that come again. Names live as long as their connection, so that there is a limit to them. */
class StatementNames {
  readonly #rule: NameRule;
  /** The texts that have come, with how often, or with their name. */
  readonly #seen: LruMap<string, number | string>;
  #given = 0;

  constructor(rule: NameRule) {
    this.#rule = rule;
    this.#seen = new LruMap(2 * rule.most);
  }

  /** The name of a text; undefined as long as it has none. */
  of(text: string, generation: number): string | undefined {
    const seen = this.#seen.get(text) ?? 0;
    if (typeof seen === 'string') return seen;
    const isNamed = seen + 1 >= this.#rule.comes && this.#given < this.#rule.most;
    // The name tells the text, so that processes which share connections behind a pooler agree on what it means.
    const name = isNamed ? `viewset_${generation}_${createHash('sha1').update(text).digest('hex')}` : undefined;
    if (isNamed) this.#given++;
    this.#seen.set(text, name ?? seen + 1);
    return name;
  }
}

/** Reads through pg's pool. A statement that comes again is prepared under a name, once on each connection. */
class PoolReader implements Reader {
  readonly #pool: PgPool;
  readonly #platform: Platform;
  #ofViews = new StatementNames(OF_VIEWS);
  #ofClients = new StatementNames(OF_CLIENTS);
  #generation = 0;
  #unnamed = false;

  constructor(pool: PgPool, platform: Platform) {
    this.#pool = pool;
    this.#platform = platform;
  }

  get isOpen(): boolean {
    return !this.#pool.ending;
  }

  async rows(
    { sql: text, isShapedByClient }: Statement,
    values: readonly unknown[],
    guard?: WriteGuard,
  ): Promise<unknown[][]> {
    try {
      return await this.#query(text, values, this.#nameOf(text, isShapedByClient), guard);
    } catch (error) {
      // Made here, where the stack leads back to who asked.
      throw readError(this.#platform, error);
    }
  }

  #query(
    text: string,
    values: readonly unknown[],
    name: string | undefined,
    guard: WriteGuard | undefined,
  ): Promise<unknown[][]> {
    let mayRetry = name !== undefined;
    const run = (query: PgQuery, settle: Settle): void =>
      guard === undefined ? this.#pool.query(query, settle) : queryGuarded(this.#pool, query, guard, settle);
    return new Promise((resolve, reject) => {
      const settle: Settle = (error, result) => {
        if (result !== undefined) return resolve(result.rows);
        if (!mayRetry || !this.#isAboutNames(error)) return reject(error);
        mayRetry = false;
        run({ text, values, rowMode }, settle);
      };
      run(name === undefined ? { text, values, rowMode } : { text, values, rowMode, name }, settle);
    });
  }

  #nameOf(text: string, isShapedByClient: boolean): string | undefined {
    if (this.#unnamed) return undefined;
    return (isShapedByClient ? this.#ofClients : this.#ofViews).of(text, this.#generation);
  }

  /** A pooler does not keep statements; or the schema has changed under their plans, and they need new names. */
  #isAboutNames(error: unknown): boolean {
    const { code, message } = error as { code?: string; message?: string };
    if (code === '26000' || code === '42P05') return (this.#unnamed = true);
    if (code !== '0A000' || message?.includes('cached plan') !== true) return false;
    this.#generation++;
    this.#ofViews = new StatementNames(OF_VIEWS);
    this.#ofClients = new StatementNames(OF_CLIENTS);
    return true;
  }
}
