import type { MikroORM } from '@mikro-orm/core';
import type { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

/** A connection of pg's pool, and the pool, as far as they are needed. */
interface PooledClient extends EventEmitter {
  release: (this: void, error?: Error) => void;
}
interface Pool extends EventEmitter {
  on(event: 'acquire', listener: (client: PooledClient) => void): this;
  on(event: 'release', listener: (error: unknown, client: PooledClient) => void): this;
}

/** What is used of MikroORM's connections. */
interface NativeConnection {
  getNativeClient?(): Promise<unknown>;
}

const guarded = new WeakSet<object>();

/**
 * Gives the place of a connection that breaks in the middle of a transaction back to pg's pool. Kysely returns the
 * connection of a transaction only once BEGIN, COMMIT or ROLLBACK was answered, and a broken one answers nothing: every
 * restart of PostgreSQL would cost the pool as many places as there were transactions, until none were left.
 *
 * An application starts whether or not its database answers: it waits for it this long and no longer, in which time
 * MikroORM makes a database that is not there.
 */
export async function releaseLostConnections(orm: MikroORM): Promise<void> {
  const kinds = ['write', 'read'] as const;
  const guards = kinds.map(async (kind) => guard(await poolOf(orm.em.getConnection(kind) as NativeConnection)));
  await Promise.race([Promise.all(guards), sleep(PATIENCE_MS, undefined, { ref: false })]);
}

const PATIENCE_MS = 1000;

/** Undefined where there is no pool to be had, the application having brought a Kysely of its own. */
async function poolOf(connection: NativeConnection): Promise<unknown> {
  // The first time, MikroORM sees whether the database exists, which fails where it is down; the pool is there even so.
  const again = async (): Promise<unknown> => connection.getNativeClient?.();
  return again().catch(again).catch(() => undefined);
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

function isPgPool(client: unknown): client is Pool {
  const { on, totalCount, waitingCount } = (client ?? {}) as Partial<Record<string, unknown>>;
  return typeof on === 'function' && typeof totalCount === 'number' && typeof waitingCount === 'number';
}
