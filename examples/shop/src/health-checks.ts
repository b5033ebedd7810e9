import {
  type HealthRegistry,
  MongoHealthCheck,
  PostgresHealthCheck,
  RedisHealthCheck,
  SqliteHealthCheck,
} from '@viewset/core';
import type { Cluster, Redis } from 'ioredis';
import type { Database } from './database.ts';

const CHECKS = { sqlite: SqliteHealthCheck, postgresql: PostgresHealthCheck, mongodb: MongoHealthCheck } as const;

/** What has to work for the shop to work. Requests survive without Redis: its throttles then let them pass. */
export function addHealthChecks(
  health: HealthRegistry,
  { kind, orm }: Database,
  redis: Redis | Cluster | undefined,
): void {
  const Check = CHECKS[kind];
  health.register(new Check(orm));
  if (redis !== undefined) health.register(new RedisHealthCheck(redis, { isEssential: false }));
}
