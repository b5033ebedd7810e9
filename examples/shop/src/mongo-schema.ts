import type { EntityManager, MikroORM } from '@mikro-orm/core';
import type { MongoEntityManager } from '@mikro-orm/mongodb';
import { setTimeout as sleep } from 'node:timers/promises';
import { isTransactionLost } from '@viewset/core';
import type { Database } from './database.ts';
import type { SchemaPolicy } from './schema.ts';

/** The collection whose single document records that the shop has started on this database before. */
const STARTS = 'shop_starts';
const SHOP = { _id: 'shop' as never };
/** The longest wait for the start of another shop, which hashes a password. */
const PATIENCE_MS = 30_000;
const PAUSE_MS = 50;

/**
 * Makes the collections and indexes, and runs `start` in one transaction that no other shop's start shares. In production the indexes
 * of a database in use stay as they are.
 */
export async function startOnMongo(
  { orm }: Database,
  policy: SchemaPolicy,
  start: (em: EntityManager, isFirst: boolean) => Promise<void>,
): Promise<void> {
  const starts = (orm.em as MongoEntityManager).getCollection(STARTS);
  await starts.updateOne(SHOP, { $setOnInsert: { times: 0 } }, { upsert: true });
  const known = await starts.findOne(SHOP);
  if (policy === 'migrate' || known?.['times'] === 0) await orm.schema.update();
  await waitingForOthers(() => inTransaction(orm, start));
}

async function inTransaction(
  orm: MikroORM,
  start: (em: EntityManager, isFirst: boolean) => Promise<void>,
): Promise<void> {
  await orm.em.fork().transactional(async (em) => {
    // A start that has not ended has written this document: MongoDB refuses to write it.
    const before = await (em as MongoEntityManager)
      .getCollection(STARTS)
      .findOneAndUpdate(
        SHOP,
        { $inc: { times: 1 } },
        { session: em.getTransactionContext()!, returnDocument: 'before' },
      );
    await start(em, before?.['times'] === 0);
  });
}

async function waitingForOthers(work: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isTransactionLost(error) || Date.now() > deadline) throw error;
      await sleep(PAUSE_MS);
    }
  }
}
