import type { MikroORM } from '@mikro-orm/core';
import { setTimeout as sleep } from 'node:timers/promises';
import { ImproperlyConfigured } from '../errors.ts';
import { mongoDriverOf } from './mongo-driver.ts';

/** An application starts without an answer of its database too, within the time that Fastify gives a hook (10 s). */
const PATIENCE_MS = 5000;

/**
 * Asks a MongoDB if it has transactions: a member of a replica set has, and a router of shards.
 *
 * @throws ImproperlyConfigured for a server that stands alone
 */
export async function requireTransactions(orm: MikroORM): Promise<void> {
  const admin = mongoDriverOf(orm)?.getConnection('write').getClient().db('admin');
  const asked = admin?.command({ hello: 1 }).catch(() => undefined);
  const answer = await Promise.race([asked, sleep(PATIENCE_MS, undefined, { ref: false })]);
  if (answer === undefined || 'setName' in answer || answer['msg'] === 'isdbgrid') return;
  throw new ImproperlyConfigured(
    'This MongoDB stands alone and so has no transactions, without which a write of several records could be half done: run it as ' +
      'a replica set, of one member at least (mongod --replSet rs0, then rs.initiate())',
  );
}
