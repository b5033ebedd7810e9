import type { EntityManager, EntityMetadata, MikroORM } from '@mikro-orm/core';
import { collectionOf } from '../mikro/collection.ts';

/** How long a size is reused. */
const KEPT_MS = 60_000;

interface Size {
  readonly documents: Promise<number>;
  readonly until: number;
}

const sizes = new WeakMap<object, WeakMap<EntityMetadata, Size>>();

/** Returns MongoDB's estimate of a collection's number of documents. It is read at most once a minute. */
export function collectionSize(em: EntityManager, meta: EntityMetadata): Promise<number> {
  const driver = em.getDriver();
  let known = sizes.get(driver);
  if (known === undefined) sizes.set(driver, (known = new WeakMap<EntityMetadata, Size>()));
  const last = known.get(meta);
  if (last !== undefined && last.until > performance.now()) return last.documents;
  // If the database is down, the next command reports it.
  const documents = collectionOf(em, meta, 'read')
    .estimatedDocumentCount({})
    .catch(() => 0);
  known.set(meta, { documents, until: performance.now() + KEPT_MS });
  return documents;
}

/** Reads the sizes of all collections whose documents refer to others. */
export async function readSizes({ em }: MikroORM): Promise<void> {
  const metas = [...em.getMetadata().getAll().values()];
  const referring = metas.filter((meta) => meta.root === meta && meta.relations.length > 0 && meta.collection);
  await Promise.all(referring.map((meta) => collectionSize(em, meta)));
}
