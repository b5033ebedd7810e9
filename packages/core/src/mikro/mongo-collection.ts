import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import { tellQueryLog } from './query-log.ts';

/** A document of MongoDB: of a collection, or a part of a command. */
export type Document = Record<string, unknown>;

interface Cursor {
  toArray(): Promise<Document[]>;
}

/** The part of the driver's collections that is used. */
export interface MongoCollection {
  find(filter: Document, options: Document): Cursor;
  aggregate(pipeline: readonly Document[], options: Document): Cursor;
  estimatedDocumentCount(options: Document): Promise<number>;
}

/** The part of MikroORM's connection to MongoDB that is used. */
interface MongoConnection {
  getCollection(name: string): MongoCollection;
}

/** Returns the collection of an entity, over the connection for a purpose; within a transaction that is the one that writes. */
export function collectionOf(em: EntityManager, meta: EntityMetadata, purpose: 'read' | 'write'): MongoCollection {
  const isOwn = em.getTransactionContext<unknown>() !== undefined;
  const connection = em.getConnection(isOwn ? 'write' : purpose) as unknown as MongoConnection;
  return connection.getCollection(collectionName(meta));
}

/** The name of an entity's collection. */
export function collectionName(meta: EntityMetadata): string {
  return meta.collection;
}

/** The options of every command: the session of the entity manager's transaction. */
export function commandOptions(em: EntityManager): Document {
  const session = em.getTransactionContext<unknown>();
  return session === undefined ? {} : { session };
}

/** Runs a command that reads documents, and tells MikroORM's log of it if that logs queries (`debug`, `slowQueryThreshold`). */
export async function readDocuments(
  em: EntityManager,
  words: () => string,
  run: () => Promise<Document[]>,
): Promise<Document[]> {
  const { config } = em;
  const isLogging = config.getLogger().isEnabled('query') || config.get('slowQueryThreshold') !== undefined;
  if (!isLogging) return run();
  const started = performance.now();
  const log = (outcome: Record<string, unknown>): void => {
    const took = Math.round(performance.now() - started);
    tellQueryLog(em.getConnection('read'), words(), { took, ...outcome });
  };
  try {
    const found = await run();
    log({ results: found.length });
    return found;
  } catch (error) {
    log({ level: 'error' });
    throw error;
  }
}
