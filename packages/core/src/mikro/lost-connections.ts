import type { Connection, MikroORM } from '@mikro-orm/core';
import type { EventEmitter } from 'node:events';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** A connection of pg's pool, and the pool, as far as they are needed. */
export interface PooledClient extends EventEmitter {
  release: (this: void, error?: Error) => void;
}
export interface WatchedPool extends EventEmitter {
  on(event: 'acquire', listener: (client: PooledClient) => void): this;
  on(event: 'release', listener: (error: unknown, client: PooledClient) => void): this;
}

const guarded = new WeakSet<object>();

/**
 * The longest wait of a start for its database: MikroORM makes one that is not there on the first connection. An application
 * starts without an answer too, within the time that Fastify gives a hook (10 s).
 */
const PATIENCE_MS = 5000;

/**
 * Gives the place of a connection that breaks in the middle of a transaction back to pg's pool. Kysely returns the
 * connection of a transaction only once BEGIN, COMMIT or ROLLBACK was answered, and a broken one answers nothing: every
 * restart of PostgreSQL would cost the pool as many places as there were transactions, until none were left.
 */
export async function releaseLostConnections(orm: MikroORM): Promise<void> {
  // Without replicas, both are one.
  const connections = new Set([orm.em.getConnection('write'), orm.em.getConnection('read')]);
  const guards = [...connections].map(guardPools);
  await Promise.race([Promise.all(guards), sleep(PATIENCE_MS, undefined, { ref: false })]);
}

async function guardPools(connection: Connection): Promise<void> {
  const whenAnswered = poolOf(connection);
  await nextTurn();
  // The pool is there before the database has said anything, which it may never do.
  guard(await poolOf(connection));
  // If MikroORM has made the database meanwhile, the pool is another one.
  guard(await whenAnswered);
}

/** Undefined if there is no pool: another driver, or a Kysely of the application's own. */
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
      // Whoever holds it will still want to return it, and pg throws at a second time.
      client.release = () => {};
      release(new Error('The connection was lost'));
    });
  });
}

function isPgPool(client: unknown): client is WatchedPool {
  const { on, totalCount, waitingCount } = (client ?? {}) as Partial<Record<string, unknown>>;
  return typeof on === 'function' && typeof totalCount === 'number' && typeof waitingCount === 'number';
}
