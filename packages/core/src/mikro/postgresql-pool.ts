import type { Connection, EntityManager, SessionContext } from '@mikro-orm/core';
import { checkNotGivenUp, onGivenUp } from '../given-up.ts';
import { cancelStatement, type CancellableClient } from './cancel-statement.ts';

/** A query of pg whose rows come as arrays. */
export interface PgQuery {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly rowMode: 'array';
  readonly name?: string;
}

/** There is a result, or there is an error. */
export type Settle = (error: Error, result?: { readonly rows: unknown[][] }) => void;

/** The part of pg's pool that is used. */
export interface PgPool {
  readonly ending: boolean;
  connect(settle: (error: Error | undefined, client: PgClient, release: (error?: Error) => void) => void): void;
}

export interface PgClient extends CancellableClient {
  query(query: PgQuery, settle: Settle): void;
}

/** The part of Kysely that is used: its client, and its transactions. */
export interface KyselyClient {
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

/** The part of MikroORM's SQL connections that is used. */
export interface SqlConnection {
  getClient(): KyselyClient;
}

/** Runs a statement. Kysely gives objects, whose keys stand in the order of the select list if all differ. */
export async function kyselyRows(
  client: KyselyClient,
  sql: string,
  parameters: readonly unknown[],
): Promise<unknown[][]> {
  const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] } as const;
  const { rows } = await client.executeQuery({ sql, parameters, query, queryId: { queryId: 'viewset' } });
  return rows.map((row) => Object.values(row));
}

/**
 * SQLSTATEs with which a server ends the connection, or of whose state nothing is known after them: the connection itself (08), the time of a
 * transaction or a session is over (25P03, 25P04, 57P05), the server stops (57P), its system or itself fails (58, F0, XX).
 */
const ENDS_CONNECTION = /^(?:08|25P0[34]|57P|58|F0|XX)/;

/** Tells if a connection can go on after an error: the server has refused one statement, by an error of severity ERROR. */
function survives(error: Error): boolean {
  const { code, severity } = error as { readonly code?: unknown; readonly severity?: unknown };
  // The server may tell the severity in its own language, which leaves out neither FATAL nor PANIC of the codes above.
  if (typeof severity !== 'string' || severity === 'FATAL' || severity === 'PANIC') return false;
  return typeof code === 'string' && !ENDS_CONNECTION.test(code);
}

/**
 * Runs a statement on a connection of the pool, which goes back there unless it has broken: pg's own `pool.query` closes it after any error,
 * so that clients who repeat a refused write would cost everybody else their connections.
 *
 * Nothing runs for a request that was given up, and a statement of it that waits for a lock is cancelled.
 */
export function queryPool(pool: PgPool, query: PgQuery, request: object | undefined, settle: Settle): void {
  pool.connect((problem, client, release) => {
    if (problem instanceof Error) return settle(problem);
    try {
      if (request !== undefined) checkNotGivenUp(request);
    } catch (error) {
      release();
      return settle(error as Error);
    }
    let whenCancelled: ((then: () => void) => void) | undefined;
    const stopListening =
      request &&
      onGivenUp(request, () => {
        whenCancelled = cancelStatement(client);
      });
    client.query(query, (error, result) => {
      stopListening?.();
      const end = (): void => {
        release(result !== undefined || survives(error) ? undefined : error);
        settle(error, result);
      };
      // A cancellation that comes late would hit the next statement of the connection.
      if (whenCancelled === undefined) end();
      else whenCancelled(end);
    });
  });
}

/** The session that an entity manager asks for within a transaction (row level security); undefined if it asks for none. */
export function sessionOf(em: EntityManager): SessionContext | undefined {
  return em.config.get('sessionContext') === 'transaction' ? em.getSessionContext() : undefined;
}

/** Runs work in a transaction of its own that has a session. */
export function inSession<Result>(
  connection: Connection,
  sessionContext: SessionContext,
  work: (transaction: KyselyClient) => Promise<Result>,
): Promise<Result> {
  return connection.transactional(work, { sessionContext });
}

/** The pool of a connection, or its client if each connection of the pool is prepared for its use. */
export async function poolOrClient(
  em: EntityManager,
  connection: Connection,
): Promise<{ readonly pool: PgPool } | { readonly client: KyselyClient }> {
  const { config } = em;
  const isPrepared =
    config.get('onCreateConnection') !== undefined ||
    config.get('onReserveConnection') !== undefined ||
    config.get('sessionContext') === 'connection' ||
    isForeign(config.get('driverOptions'));
  if (!isPrepared) return { pool: (await connection.getNativeClient()) as PgPool };
  await connection.ensureConnection();
  return { client: (connection as Connection & SqlConnection).getClient() };
}

/** True of a Kysely, or a dialect of it, that the application made itself. */
function isForeign(driverOptions: unknown): boolean {
  if (typeof driverOptions === 'function') return true;
  return (
    typeof driverOptions === 'object' &&
    driverOptions !== null &&
    ('createDriver' in driverOptions || 'executeQuery' in driverOptions)
  );
}
