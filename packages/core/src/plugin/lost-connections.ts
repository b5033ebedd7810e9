import type { MikroORM } from '@mikro-orm/core';
import type { EventEmitter } from 'node:events';

/** A connection of pg's pool, and the pool, as far as they are needed. */
interface PooledClient extends EventEmitter {
  release: (this: void, error?: Error) => void;
}
interface Pool extends EventEmitter {
  on(event: 'acquire', listener: (client: PooledClient) => void): this;
  on(event: 'release', listener: (error: unknown, client: PooledClient) => void): this;
}

const guarded = new WeakSet<object>();

/**
 * Gives the place of a connection that breaks in the middle of a transaction back to pg's pool. Kysely returns the
 * connection of a transaction only once BEGIN, COMMIT or ROLLBACK was answered, and a broken one answers nothing: every
 * restart of PostgreSQL would cost the pool as many places as there were transactions, until none were left.
 */
export async function releaseLostConnections(orm: MikroORM): Promise<void> {
  for (const kind of ['write', 'read'] as const) {
    const connection = orm.em.getConnection(kind) as { getNativeClient?(): Promise<unknown> };
    // Where the application brought a Kysely of its own there is no pool to be had.
    const pool: unknown = await connection.getNativeClient?.().catch(() => undefined);
    if (isPgPool(pool) && !guarded.has(pool)) guard(pool);
  }
}

function guard(pool: Pool): void {
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

function isPgPool(client: unknown): client is Pool {
  const { on, totalCount, waitingCount } = (client ?? {}) as Partial<Record<string, unknown>>;
  return typeof on === 'function' && typeof totalCount === 'number' && typeof waitingCount === 'number';
}
