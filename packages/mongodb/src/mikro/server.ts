import type { MikroORM } from '@mikro-orm/core';
import { setTimeout as sleep } from 'node:timers/promises';
import { ImproperlyConfigured } from '@viewset/core';
import { hasTransactions } from '@viewset/core/backend';
import { mongoDriverOf } from './mongo-driver.ts';

/** An application also starts if its database is down, and within the time that Fastify allows a hook (10 s). */
const PATIENCE_MS = 5000;

/**
 * Checks that MongoDB supports transactions, as members of a replica set and shard routers do. An ORM with
 * `disableTransactions` may use a standalone server.
 *
 * @throws ImproperlyConfigured for a standalone server
 */
export async function requireReplicaSet(orm: MikroORM): Promise<void> {
  if (!hasTransactions(orm)) return;
  const admin = mongoDriverOf(orm)?.getConnection('write').getClient().db('admin');
  const greeting = admin?.command({ hello: 1 }).catch(() => undefined);
  const answer = await Promise.race([greeting, sleep(PATIENCE_MS, undefined, { ref: false })]);
  if (answer === undefined || 'setName' in answer || answer['msg'] === 'isdbgrid') return;
  throw new ImproperlyConfigured(
    'This MongoDB stands alone and so has no transactions, without which a write of several records could be half done: run it as ' +
      'a replica set, of one member at least (mongod --replSet rs0, then rs.initiate()), or say that writes of a single document are all ' +
      'you need (disableTransactions: true in the options of MikroORM)',
  );
}
