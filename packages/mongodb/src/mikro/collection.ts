import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import { connectionFor, type Purpose, writeQueryLog } from '@viewset/core/backend';
import type { Document, MongoCollection, MongoConnection } from './mongo-driver.ts';

/** Returns an entity's collection, over the connection for a purpose. */
export function collectionOf(em: EntityManager, meta: EntityMetadata, purpose: Purpose): MongoCollection {
  const connection = connectionFor(em, purpose) as unknown as MongoConnection;
  const database = connection.getDb();
  let known = collections.get(database);
  if (known === undefined) collections.set(database, (known = new WeakMap<EntityMetadata, MongoCollection>()));
  let collection = known.get(meta);
  if (collection === undefined) known.set(meta, (collection = connection.getCollection(collectionName(meta))));
  return collection;
}

/**
 * The driver creates a collection object and its options on each request, so they are cached. A new client has a new
 * database, which is the cache's key.
 */
const collections = new WeakMap<object, WeakMap<EntityMetadata, MongoCollection>>();

/** Returns the name of an entity's collection. */
export function collectionName(meta: EntityMetadata): string {
  return meta.collection;
}

/** The options of every command: the session of the current transaction. */
export function commandOptions(em: EntityManager): Document {
  const session = em.getTransactionContext<unknown>();
  return session === undefined ? {} : { session };
}

/** Runs a command, and logs it with MikroORM if that logs queries (`debug`, `slowQueryThreshold`). */
export async function loggedCommand<Result>(
  em: EntityManager,
  words: () => string,
  run: () => Promise<Result>,
): Promise<Result> {
  const { config } = em;
  const isLogging = config.getLogger().isEnabled('query') || config.get('slowQueryThreshold') !== undefined;
  if (!isLogging) return run();
  const started = performance.now();
  const log = (outcome: Record<string, unknown>): void => {
    const took = Math.round(performance.now() - started);
    writeQueryLog(em.getConnection('read'), words(), { took, ...outcome });
  };
  try {
    const found = await run();
    log(Array.isArray(found) ? { results: found.length } : {});
    return found;
  } catch (error) {
    log({ level: 'error' });
    throw error;
  }
}
