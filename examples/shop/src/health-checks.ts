import { HealthRegistry, PostgresHealthCheck, RedisHealthCheck, SqliteHealthCheck } from '@viewset/core';
import type { Redis } from 'ioredis';
import type { Database } from './database.ts';

/** What has to work for the shop to work. */
export function healthChecks({ kind, orm }: Database, redis: Redis | undefined): HealthRegistry {
  const registry = new HealthRegistry();
  registry.register(kind === 'sqlite' ? new SqliteHealthCheck(orm) : new PostgresHealthCheck(orm));
  if (redis !== undefined) registry.register(new RedisHealthCheck(redis));
  return registry;
}
