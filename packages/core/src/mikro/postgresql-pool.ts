import type { Connection, EntityManager, SessionContext } from '@mikro-orm/core';
import { checkNotAborted, onAbort } from '../http/abort-state.ts';
import { cancelStatement, type CancellableClient } from './cancel-statement.ts';
import { survives } from './ends-connection.ts';

/** A pg query whose rows are arrays. */
export interface PgQuery {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly rowMode: 'array';
  readonly name?: string;
}

/** Receives either a result or an error. */
export type Settle = (error: Error, result?: { readonly rows: unknown[][] }) => void;

/** The part of pg's pool that is used. */
export interface PgPool {
  readonly ending: boolean;
  connect(thenOrCatch: (error: Error | undefined, client: PgClient, release: (error?: Error) => void) => void): void;
}

export interface PgClient extends CancellableClient {
  query(query: PgQuery, thenOrCatch: Settle): void;
}

/** The part of Kysely that is used: the client and its transactions. */
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

/** Runs a statement. Kysely returns objects. If all names differ, their keys are in the order of the select list. */
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
 * Runs a statement on a pool connection, and returns the connection unless it has broken. pg's own `pool.query` closes
 * it after any error, so clients who repeat a rejected write would cost others their connections.
 *
 * For a request that was given up, nothing runs, and a statement that waits for a lock is cancelled.
 */
export function queryPool(pool: PgPool, query: PgQuery, request: object | undefined, thenOrCatch: Settle): void {
  pool.connect((problem, client, release) => {
    if (problem instanceof Error) return thenOrCatch(problem);
    try {
      if (request !== undefined) checkNotAborted(request);
    } catch (error) {
      release();
      return thenOrCatch(error as Error);
    }
    let whenCancelled: ((then: () => void) => void) | undefined;
    const stopListening =
      request &&
      onAbort(request, () => {
        whenCancelled = cancelStatement(client);
      });
    client.query(query, (error, result) => {
      stopListening?.();
      const end = (): void => {
        release(result !== undefined || survives(error) ? undefined : error);
        thenOrCatch(error, result);
      };
      // A late cancellation would hit the connection's next statement.
      if (whenCancelled === undefined) end();
      else whenCancelled(end);
    });
  });
}

/** The session that an entity manager needs within a transaction (row-level security); undefined if it needs none. */
export function sessionOf(em: EntityManager): SessionContext | undefined {
  return em.config.get('sessionContext') === 'transaction' ? em.getSessionContext() : undefined;
}

/** Runs work in a new transaction with a session. */
export function inSession<Result>(
  connection: Connection,
  sessionContext: SessionContext,
  work: (transaction: KyselyClient) => Promise<Result>,
): Promise<Result> {
  return connection.transactional(work, { sessionContext });
}

/** Returns the pool of a connection, or its client if each pool connection is prepared before use. */
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

/** True for a Kysely, or a dialect of it, that the application made itself. */
function isForeign(driverOptions: unknown): boolean {
  if (typeof driverOptions === 'function') return true;
  return (
    typeof driverOptions === 'object' &&
    driverOptions !== null &&
    ('createDriver' in driverOptions || 'executeQuery' in driverOptions)
  );
}
