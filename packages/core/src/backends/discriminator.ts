import type { EntityManager, EntityMetadata, EntityProperty } from '@mikro-orm/core';

/** The column that distinguishes the entities of one table, and its values for an entity. */
export interface Discriminator {
  readonly column: string;
  readonly values: readonly (string | number)[];
}

/**
 * Returns the discriminator of an entity with single-table inheritance, with the values of all classes that extend it.
 * Undefined if all records of its table are its own.
 */
export function discriminatorOf(em: EntityManager, meta: EntityMetadata): Discriminator | undefined {
  const { root } = meta;
  if (root.inheritanceType !== 'sti') return undefined;
  if (meta.discriminatorValue === undefined && meta.class === root.class) return undefined;
  const { discriminatorMap = {}, discriminatorColumn } = root;
  const members = Object.values(discriminatorMap).map((entity) => em.getMetadata().get(entity));
  const values = members
    .filter((member) => isOrExtends(em, member, meta))
    .map(({ discriminatorValue }) => discriminatorValue)
    .filter((value) => value !== undefined);
  const property = root.properties[discriminatorColumn as string] as EntityProperty | undefined;
  return { column: property?.fieldNames[0] ?? String(discriminatorColumn), values };
}

/** Compares classes, because the metadata at the end of a relation is a copy. */
function isOrExtends(em: EntityManager, member: EntityMetadata, ancestor: EntityMetadata): boolean {
  let meta: EntityMetadata | undefined = member;
  while (meta !== undefined && meta.class !== ancestor.class) {
    meta = meta.extends === undefined ? undefined : em.getMetadata().find(meta.extends);
  }
  return meta !== undefined;
}
