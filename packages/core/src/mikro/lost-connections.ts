import type { Connection, MikroORM } from '@mikro-orm/core';
import type { EventEmitter } from 'node:events';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** The parts of pg's pool and of its connections that are needed. */
export interface PooledClient extends EventEmitter {
  release: (this: void, error?: Error) => void;
}
export interface WatchedPool extends EventEmitter {
  on(event: 'acquire', listener: (client: PooledClient) => void): this;
  on(event: 'release', listener: (error: unknown, client: PooledClient) => void): this;
}

const guarded = new WeakSet<object>();

/**
 * The longest wait for the database at startup: on the first connection MikroORM creates a missing database. Without an
 * answer the application starts anyway, within Fastify's time limit for a hook (10 s).
 */
const PATIENCE_MS = 5000;

/**
 * Returns a connection that breaks within a transaction to pg's pool. Kysely returns it only after BEGIN, COMMIT or
 * ROLLBACK was answered, and a broken connection never answers. Without this, every restart of PostgreSQL would cost
 * the pool one place for each open transaction, until none were left.
 */
export async function releaseLostConnections(orm: MikroORM): Promise<void> {
  // Without replicas, both are the same.
  const connections = new Set([orm.em.getConnection('write'), orm.em.getConnection('read')]);
  const guards = [...connections].map(guardPools);
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
  const known = new WeakSet<PooledClient>();
  const taken = new WeakSet<PooledClient>();
  pool.on('release', (_error, client) => void taken.delete(client));
  pool.on('acquire', (client) => {
    taken.add(client);
    if (known.has(client)) return;
    known.add(client);
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
