import type { Connection, MikroORM } from '@mikro-orm/core';
import type { EventEmitter } from 'node:events';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { replicasOf } from './replicas.ts';
import { isReadOnly, survives } from './ends-connection.ts';

/** The parts of pg's pool and of its connections that are needed. */
export interface PooledClient extends EventEmitter {
  /** Emits `errorMessage` for each error that the server sends. A client on libpq has none. */
  readonly connection?: EventEmitter;
  release: (this: void, error?: Error) => void;
  end(): Promise<void>;
}
export interface WatchedPool extends EventEmitter {
  readonly idleCount: number;
  connect(thenOrCatch: (error: Error | undefined, client: unknown, release: () => void) => void): void;
  on(event: 'acquire' | 'remove', listener: (client: PooledClient) => void): this;
  on(event: 'release', listener: (error: unknown, client: PooledClient) => void): this;
}

const guarded = new WeakSet<object>();

/**
 * The longest wait for the database at startup: on the first connection MikroORM creates a missing database. Without an
 * answer the application starts anyway, within Fastify's time limit for a hook (10 s).
 */
const PATIENCE_MS = 5000;

/** The least time between two replacements of all connections of a pool, in milliseconds. */
const REPLACEMENT_INTERVAL_MS = 1000;

/**
 * Watches pg's pools, so that no broken connection and no connection to a server that cannot serve stays in them.
 *
 * - A connection that breaks within a transaction is returned to the pool. Kysely returns it only after BEGIN, COMMIT or
 *   ROLLBACK was answered, and a broken connection never answers. Without this, every restart of PostgreSQL would cost
 *   the pool one place for each open transaction, until none were left.
 * - A connection is closed when it is returned after an error that ends it (`survives`). Kysely does not tell the pool.
 * - After the first write that a read-only server rejects, all connections of the pool are replaced. The name of the
 *   server may lead to another one by now, as after a failover. Otherwise each connection would have to fail once.
 */
export async function releaseLostConnections(orm: MikroORM): Promise<void> {
  const connections = [orm.em.getConnection('write'), ...replicasOf(orm.em)];
  const guards = connections.map(guardPools);
  await Promise.race([Promise.all(guards), sleep(PATIENCE_MS, undefined, { ref: false })]);
}

async function guardPools(connection: Connection): Promise<void> {
  const whenAnswered = poolOf(connection);
  await nextTurn();
  // The pool exists before the database has answered, which may never happen.
  guard(await poolOf(connection));
  // If MikroORM has created the database in the meantime, the pool is another one.
  guard(await whenAnswered);
}

/** Returns undefined if there is no pool: another driver, or the application's own Kysely. */
async function poolOf(connection: Connection): Promise<unknown> {
  try {
    return await connection.getNativeClient();
  } catch {
    return undefined;
  }
}

function guard(pool: unknown): void {
  if (!isPgPool(pool) || guarded.has(pool)) return;
  guarded.add(pool);
  const known = new Set<PooledClient>();
  const taken = new WeakSet<PooledClient>();
  const unusable = new WeakSet<PooledClient>();
  let replacedAt = -Infinity;
  const replaceAll = (): void => {
    const now = performance.now();
    if (now - replacedAt < REPLACEMENT_INTERVAL_MS) return;
    replacedAt = now;
    for (const client of known) unusable.add(client);
    // Idle connections are closed when they are returned, like the others.
    for (let idle = pool.idleCount; idle > 0; idle -= 1) pool.connect((_error, _client, release) => release());
  };
  pool.on('remove', (client) => void known.delete(client));
  pool.on('release', (_error, client) => {
    taken.delete(client);
    // The pool drops a client that is ending.
    if (unusable.has(client)) void client.end();
  });
  pool.on('acquire', (client) => {
    taken.add(client);
    if (known.has(client)) return;
    known.add(client);
    client.connection?.on('errorMessage', (error: Error) => {
      if (survives(error)) return;
      unusable.add(client);
      if (isReadOnly(error)) replaceAll();
    });
    client.once('end', () => {
      if (!taken.has(client)) return;
      const { release } = client;
      // The holder will still call `release`, and pg throws on a second call.
      client.release = () => {};
      release(new Error('The connection was lost'));
    });
  });
}

function isPgPool(client: unknown): client is WatchedPool {
  const { on, totalCount, waitingCount } = (client ?? {}) as Partial<Record<string, unknown>>;
  return typeof on === 'function' && typeof totalCount === 'number' && typeof waitingCount === 'number';
}
