import { MemoryStore, RedisStore, type Store } from '@viewset/core';
import type { FastifyInstance } from 'fastify';
import type { Cluster, Redis } from 'ioredis';
import { redisClient } from './redis-client.ts';

export interface OpenStore {
  /** Stores the counts of throttles and the verification codes. */
  readonly store: Store;
  readonly redis: Redis | Cluster | undefined;
}

/** Uses Redis if it is configured, so that several shops share their counts and codes; otherwise the memory of this process. */
export function openStore(app: FastifyInstance, redisUrl: string | undefined): OpenStore {
  if (redisUrl === undefined) {
    const store = new MemoryStore();
    app.addHook('onClose', () => store.close());
    return { store, redis: undefined };
  }
  const redis = redisClient(redisUrl);
  redis.on('error', (error) => app.log.warn({ err: error }, 'Redis'));
  app.addHook('onClose', () => redis.disconnect());
  return { store: new RedisStore(redis), redis };
}
