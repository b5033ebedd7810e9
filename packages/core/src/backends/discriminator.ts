import type { EntityManager, EntityMetadata, EntityProperty } from '@mikro-orm/core';

/** The column that tells the records of an entity from those of others in the same table, and its values for the entity. */
export interface Discriminator {
  readonly column: string;
  readonly values: readonly (string | number)[];
}

/** Returns the discriminator of an entity of single-table inheritance. Undefined if its table holds no others. */
export function discriminatorOf(em: EntityManager, meta: EntityMetadata): Discriminator | undefined {
  const { root } = meta;
  if (root.inheritanceType !== 'sti' || meta.discriminatorValue === undefined) return undefined;
  const { discriminatorMap = {}, discriminatorColumn } = root;
  const members = Object.values(discriminatorMap).map((entity) => em.getMetadata().get(entity));
  const values = members
    .filter((member) => member === meta || isDescendant(em, member, meta))
    .map(({ discriminatorValue }) => discriminatorValue)
    .filter((value) => value !== undefined);
  const property = root.properties[discriminatorColumn as string] as EntityProperty | undefined;
  return { column: property?.fieldNames[0] ?? String(discriminatorColumn), values };
}

function isDescendant(em: EntityManager, member: EntityMetadata, ancestor: EntityMetadata): boolean {
  let parent = member.extends;
  while (parent !== undefined) {
    const meta = em.getMetadata().find(parent);
    if (meta === ancestor) return true;
    parent = meta?.extends;
  }
  return false;
}
