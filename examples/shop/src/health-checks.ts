import { type HealthRegistry, PostgresHealthCheck, RedisHealthCheck, SqliteHealthCheck } from '@viewset/core';
import type { Redis } from 'ioredis';
import type { Database } from './database.ts';

/** What has to work for the shop to work. */
export function addHealthChecks(health: HealthRegistry, { kind, orm }: Database, redis: Redis | undefined): void {
  health.register(kind === 'sqlite' ? new SqliteHealthCheck(orm) : new PostgresHealthCheck(orm));
  if (redis !== undefined) health.register(new RedisHealthCheck(redis));
}
