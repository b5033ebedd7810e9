import type { EntityManager } from '@mikro-orm/core';
import type { Purpose } from '../mikro/connection-for.ts';

/** Something that has an entity manager, such as a request, whose own is made when it is first read. */
export interface EntityManagerSource {
  readonly em: EntityManager;
  /** The ORM's global entity manager, to read rows with as long as nobody has asked for `em`. Default: `em`. */
  readonly reader?: EntityManager;
  /** True if what is read has to be as it was last committed, so that no replica answers. Default: false. */
  readonly readsPrimary?: boolean;
}

/** Something to read with. */
export type Source = EntityManager | EntityManagerSource;

/** The entity manager of a source; that of a request is made by this. */
export function managerOf(source: Source): EntityManager {
  return 'em' in source ? source.em : source;
}

/** The entity manager of a source that is there already, for questions about the ORM. */
export function readerOf(source: Source): EntityManager {
  return (source as EntityManagerSource).reader ?? managerOf(source);
}

const onPrimary = new WeakSet<EntityManager>();

/** Has everything that is read with an entity manager read from the primary. */
export function keepToPrimary(em: EntityManager): EntityManager {
  onPrimary.add(em);
  return em;
}

/** Tells whether a replica may answer what is read with a source. */
export function purposeOf(source: Source): Purpose {
  const readsPrimary = 'em' in source ? source.readsPrimary === true : onPrimary.has(source);
  return readsPrimary ? 'write' : 'read';
}
