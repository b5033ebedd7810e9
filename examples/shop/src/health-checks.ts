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

/** The services that the shop needs. Requests succeed without Redis: its throttles then allow them. */
export function addHealthChecks(
  health: HealthRegistry,
  { kind, orm }: Database,
  redis: Redis | Cluster | undefined,
): void {
  const Check = CHECKS[kind];
  health.register(new Check(orm));
  if (redis !== undefined) health.register(new RedisHealthCheck(redis, { isEssential: false }));
}
