import type { EntityManager } from '@mikro-orm/core';
import type { Purpose } from '../mikro/connection-for.ts';

/** An object with an entity manager, such as a request. A request makes its entity manager on first use. */
export interface EntityManagerSource {
  readonly em: EntityManager;
  /** The ORM's global entity manager, for reading rows while `em` has not been used. Default: `em`. */
  readonly reader?: EntityManager;
  /** True if reads must see the last committed state, so that no replica may answer. Default: false. */
  readonly readsPrimary?: boolean;
}

export type Source = EntityManager | EntityManagerSource;

/** Returns the entity manager of a source. Creates the one of a request. */
export function managerOf(source: Source): EntityManager {
  return 'em' in source ? source.em : source;
}

/** Returns an existing entity manager of a source, to look up metadata and the database. */
export function readerOf(source: Source): EntityManager {
  return (source as EntityManagerSource).reader ?? managerOf(source);
}

const onPrimary = new WeakSet<EntityManager>();

/** Makes all reads with an entity manager use the primary. */
export function keepToPrimary(em: EntityManager): EntityManager {
  onPrimary.add(em);
  return em;
}

/** Decides whether a replica may answer reads with a source. */
export function purposeOf(source: Source): Purpose {
  const readsPrimary = 'em' in source ? source.readsPrimary === true : onPrimary.has(source);
  return readsPrimary ? 'write' : 'read';
}

/**
 * Returns a source that reads with the source's own entity manager, not with the global one: it manages the entities,
 * and may be in a transaction. It reads the primary if the source or its entity manager does.
 */
export function managedSource(source: Source): EntityManagerSource {
  const em = managerOf(source);
  return { em, readsPrimary: purposeOf(source) === 'write' || purposeOf(em) === 'write' };
}
