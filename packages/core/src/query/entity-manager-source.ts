import { Utils, type EntityManager, type EntityMetadata, type EntityName } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';
import { isKnownUnfiltered } from '../mikro/unfiltered.ts';

/** Something that has an entity manager, such as a request, whose own is made when it is first read. */
export interface EntityManagerSource {
  readonly em: EntityManager;
  /** What rows may be read with as long as nobody has asked for `em`: the ORM's global entity manager. Default: `em`. */
  readonly reader?: EntityManager;
}

export function managerOf(source: EntityManager | EntityManagerSource): EntityManager {
  return 'em' in source ? source.em : source;
}

/**
 * What the rows of an entity are read with where no filter of MikroORM can apply to them, and so none depends on the
 * request; undefined where one may.
 */
export function unfilteredReader(
  source: EntityManager | EntityManagerSource,
  meta: EntityMetadata,
): EntityManager | undefined {
  const { reader = source } = source as { readonly reader?: EntityManager };
  return 'em' in reader || !isKnownUnfiltered(reader, meta) ? undefined : reader;
}

/** What MikroORM knows of an entity. @throws ImproperlyConfigured for one that is not among its entities */
export function metadataOf<E extends object>(
  source: EntityManager | EntityManagerSource,
  entity: EntityName<E>,
): EntityMetadata<E> {
  const known = ((source as EntityManagerSource).reader ?? managerOf(source)).getMetadata();
  const meta = known.find(entity);
  // A schema knows of itself, whether or not an ORM has taken it in.
  if (meta !== undefined && known.has(meta.class)) return meta;
  throw new ImproperlyConfigured(`${Utils.className(entity)} is not among the entities of this MikroORM`);
}
