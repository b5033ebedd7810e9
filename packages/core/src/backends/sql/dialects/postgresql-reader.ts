import type { Connection, EntityManager } from '@mikro-orm/core';
import { createHash } from 'node:crypto';
import type { Awaitable } from '../../../support/awaitable.ts';
import { connectionFor, type Purpose } from '../../../mikro/connection-for.ts';
import {
  inSession,
  type KyselyClient,
  kyselyRows,
  type PgPool,
  type PgQuery,
  poolOrClient,
  queryPool,
  sessionOf,
  type Settle,
} from '../../../mikro/postgresql-pool.ts';
import { readReplica } from '../../../mikro/replicas.ts';
import { repeated } from '../../../support/repeated.ts';
import { readError } from '../../database-errors.ts';
import { isRepeatedLoss } from '../../lost-transactions.ts';
import { LruMap } from '../../../support/lru-map.ts';
import { logged } from './query-log.ts';
import type { Reader, Statement } from './reader.ts';
import { SQL_ERRORS } from './sql-errors.ts';

const rowMode = 'array';

/**
 * Runs work in the entity manager's transaction, else in its session, else on the pool. Outside of a transaction, it is
 * repeated if the database aborts it because of others.
 */
export async function runPostgreSql<T>(
  em: EntityManager,
  purpose: Purpose,
  work: (reader: Reader) => Awaitable<T>,
): Promise<T> {
  const connection = connectionFor(em, purpose);
  const run = (): Promise<T> =>
    readReplica(
      connection,
      () => runOn(em, connection, work),
      () => runOn(em, em.getConnection('write'), work),
    );
  try {
    if (em.isInTransaction()) return await run();
    return await repeated(run, (error, attempt) => isRepeatedLoss(SQL_ERRORS, error, attempt));
  } catch (error) {
    throw readError(SQL_ERRORS, em.getPlatform(), error);
  }
}

async function runOn<T>(em: EntityManager, connection: Connection, work: (reader: Reader) => Awaitable<T>): Promise<T> {
  const transaction = em.getTransactionContext<KyselyClient>();
  const run = (reader: Reader): Awaitable<T> => work(logged(em, connection, reader));
  if (transaction !== undefined) return run(new ClientReader(transaction));
  const session = sessionOf(em);
  if (session !== undefined) {
    return inSession(connection, session, async (begun) => run(new ClientReader(begun)));
  }
  const pool = pools.get(connection);
  return run(pool?.isOpen === true ? pool : await openReader(em, connection));
}

const pools = new WeakMap<Connection, PoolReader>();

/** Opens a reader on the pool, or through Kysely if connections are prepared for each use. */
async function openReader(em: EntityManager, connection: Connection): Promise<Reader> {
  const opened = await poolOrClient(em, connection);
  if ('client' in opened) return new ClientReader(opened.client);
  // Another call may have opened the same pool in the meantime.
  const known = pools.get(connection);
  if (known?.isOpen === true) return known;
  const reader = new PoolReader(opened.pool);
  pools.set(connection, reader);
  return reader;
}

/** Reads through Kysely, in a transaction or on connections that are prepared for each use. */
class ClientReader implements Reader {
  readonly #client: KyselyClient;

  constructor(client: KyselyClient) {
    this.#client = client;
  }

  rows({ sql }: Statement, values: readonly unknown[]): Promise<unknown[][]> {
    return kyselyRows(this.#client, sql, values);
  }
}

/** The number of uses after which a text gets a name, and the most names that each connection must keep. */
interface NameRule {
  readonly comes: number;
  readonly most: number;
}

const OF_VIEWS: NameRule = { comes: 2, most: 500 };
/** Clients may choose endlessly many forms, so only frequent ones get one of a few names. */
const OF_CLIENTS: NameRule = { comes: 5, most: 50 };

/** Names for statements that repeat. Names live as long as their connection, so their number is limited. */
class StatementNames {
  readonly #rule: NameRule;
  /** The texts, each with its number of uses, or with its name. */
  readonly #seen: LruMap<string, number | string>;
  #given = 0;

  constructor(rule: NameRule) {
    this.#rule = rule;
    this.#seen = new LruMap(2 * rule.most);
  }

  /** Returns the name of a text. Undefined if it has none yet. */
  of(text: string, generation: number): string | undefined {
    const seen = this.#seen.get(text) ?? 0;
    if (typeof seen === 'string') return seen;
    const isNamed = seen + 1 >= this.#rule.comes && this.#given < this.#rule.most;
    // The name is derived from the text. So processes that share connections behind a pooler use it for the same text.
    const name = isNamed ? `viewset_${generation}_${createHash('sha1').update(text).digest('hex')}` : undefined;
    if (isNamed) this.#given++;
    this.#seen.set(text, name ?? seen + 1);
    return name;
  }
}

/** Reads through pg's pool. A repeated statement is prepared with a name, once on each connection. */
class PoolReader implements Reader {
  readonly #pool: PgPool;
  #ofViews = new StatementNames(OF_VIEWS);
  #ofClients = new StatementNames(OF_CLIENTS);
  #generation = 0;
  #unnamed = false;

  constructor(pool: PgPool) {
    this.#pool = pool;
  }

  get isOpen(): boolean {
    return !this.#pool.ending;
  }

  async rows(
    { sql: text, isShapedByClient }: Statement,
    values: readonly unknown[],
    request?: object,
  ): Promise<unknown[][]> {
    const query: PgQuery = { text, values, rowMode };
    const name = this.#nameOf(text, isShapedByClient);
    if (name === undefined) return this.#query(query, request);
    try {
      return await this.#query({ ...query, name }, request);
    } catch (error) {
      if (!this.#isAboutNames(error)) throw error;
      return this.#query(query, request);
    }
  }

  #query(query: PgQuery, request: object | undefined): Promise<unknown[][]> {
    return new Promise((resolve, reject) => {
      const thenOrCatch: Settle = (error, result) => (result === undefined ? reject(error) : resolve(result.rows));
      queryPool(this.#pool, query, request, thenOrCatch);
    });
  }

  #nameOf(text: string, isShapedByClient: boolean): string | undefined {
    if (this.#unnamed) return undefined;
    return (isShapedByClient ? this.#ofClients : this.#ofViews).of(text, this.#generation);
  }

  /**
   * Reports whether an error is about statement names. A pooler may not keep statements. After a change of the schema,
   * their plans are invalid, and they need new names.
   */
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
