/** Serves live tasks from a process of its own, on the database of DATABASE_URL. Tells its address to the process that started it. */
import { defineEntity, p } from '@mikro-orm/core';
import type { MikroORM as MongoORM } from '@mikro-orm/mongodb';
import fastify from 'fastify';
import { Redis } from 'ioredis';
import { fileURLToPath } from 'node:url';
import { ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import {
  live,
  ListChange,
  ListVersion,
  mongoWakeUps,
  postgresWakeUps,
  redisWakeUps,
  type WakeUps,
} from '../../src/index.ts';

export const Task = defineEntity({
  name: 'Task',
  properties: { id: p.integer().primary(), title: p.string().length(50), place: p.integer() },
});

class TaskViewSet extends ModelViewSet(Task, {
  read: readShape(Task, ['id', 'title', 'place']),
  write: writeShape(Task, ['title', 'place']),
  orderingFields: { place: 'place' },
  pageSize: 20,
  live: true,
}) {}

/** Opens the database of a URL. */
export async function openTasks(url: string) {
  const entities = [Task, ListChange, ListVersion];
  if (url.startsWith('postgres')) {
    const { MikroORM } = await import('@mikro-orm/postgresql');
    return MikroORM.init({ clientUrl: url, entities, pool: { max: 8 } });
  }
  if (url.startsWith('mongodb')) {
    const [{ MikroORM }, { MongoExtension }] = await Promise.all([
      import('@mikro-orm/mongodb'),
      import('@viewset/mongodb'),
    ]);
    return MikroORM.init({ clientUrl: url, entities, extensions: [MongoExtension] });
  }
  const { MikroORM } = await import('@mikro-orm/sqlite');
  return MikroORM.init({ dbName: url, entities });
}

type Tasks = Awaited<ReturnType<typeof openTasks>>;

async function wakeUpsFor(kind: string | undefined, url: string, orm: Tasks): Promise<WakeUps | undefined> {
  if (kind?.startsWith('redis:')) {
    const redis = new Redis(kind, { retryStrategy: () => 50, maxRetriesPerRequest: 0 });
    redis.on('error', () => {});
    return redisWakeUps(redis);
  }
  if (kind === 'listen') {
    const { Client } = await import('pg');
    return postgresWakeUps(() => new Client(url));
  }
  if (kind !== 'watch') return undefined;
  const { em } = orm as MongoORM;
  return mongoWakeUps(() => em.getCollection(ListChange));
}

// A test imports this file, and starts it as a program.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const url = process.env['DATABASE_URL']!;
  const orm = await openTasks(url);
  const app = fastify(serverOptions());
  await app.register(viewset, { orm });
  const wakeUps = await wakeUpsFor(process.env['WAKE_UPS'], url, orm);
  await app.register(live, { ...(wakeUps && { wakeUps }), windowMs: 20, pollMs: Number(process.env['POLL_MS']) });
  await app.register(new Router().register('tasks', TaskViewSet).plugin);
  process.send?.(await app.listen({ port: 0, host: '127.0.0.1' }));
}
