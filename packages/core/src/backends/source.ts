import type { EntityManager } from '@mikro-orm/core';

/** Something that has an entity manager, such as a request, whose own is made when it is first read. */
export interface EntityManagerSource {
  readonly em: EntityManager;
  /** The ORM's global entity manager, to read rows with as long as nobody has asked for `em`. Default: `em`. */
  readonly reader?: EntityManager;
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
