import { MemoryStore, RedisStore, type Store } from '@viewset/core';
import type { FastifyInstance } from 'fastify';
import { Redis, type RedisOptions } from 'ioredis';

/** How long a connection may take to come about, and the longest pause between two attempts. */
const CONNECT_TIMEOUT_MS = 2000;
const LONGEST_PAUSE_MS = 500;

const OPTIONS = {
  connectTimeout: CONNECT_TIMEOUT_MS,
  retryStrategy: (attempt: number) => Math.min(attempt * 50, LONGEST_PAUSE_MS),
  // What was sent as the connection broke may have been done: sent again, it would count or use up a code twice.
  autoResendUnfulfilledCommands: false,
  keepAlive: 10_000,
} satisfies RedisOptions;

export interface OpenStore {
  /** Where throttles count and verification codes are kept. */
  readonly store: Store;
  readonly redis: Redis | undefined;
}

/** Redis where there is one, so that several shops share their counts and codes; else the memory of this process. */
export function openStore(app: FastifyInstance, redisUrl: string | undefined): OpenStore {
  if (redisUrl === undefined) {
    const store = new MemoryStore();
    app.addHook('onClose', () => store.close());
    return { store, redis: undefined };
  }
  const redis = new Redis(redisUrl, OPTIONS);
  redis.on('error', (error) => app.log.warn({ err: error }, 'Redis'));
  app.addHook('onClose', () => redis.disconnect());
  return { store: new RedisStore(redis), redis };
}
