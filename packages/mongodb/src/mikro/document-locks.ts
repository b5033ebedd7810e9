import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import { inLine, lineOf } from './line.ts';
import { type Document, driverOf, type MongoDriver, type MongoSession } from './mongo-driver.ts';
import { LOCKING } from './references.ts';
import { waitingForOthers } from './session.ts';

/** Prevents others from writing documents until an entity manager's transaction ends. */
export async function lockDocuments(em: EntityManager, meta: EntityMetadata, filter: Document): Promise<void> {
  await lockIn(driverOf(em), meta, em.getTransactionContext<MongoSession>()!, filter);
}

/** Prevents others from writing documents until a transaction ends. */
export async function lockIn(
  driver: MongoDriver,
  meta: EntityMetadata,
  session: MongoSession,
  filter: Document,
): Promise<void> {
  const collection = driver.getConnection('write').getCollection(meta.collection);
  const lock = (): Promise<unknown> => collection.updateMany(filter, LOCKING, { session });
  // A transaction that has already begun may hold locks that others in line wait for, so it must not queue.
  if (!session.transaction.isStarting) return void (await lock());
  await inLine(driver, lineOf(meta, filter), (deadline) => waitingForOthers(session, lock, deadline));
}
