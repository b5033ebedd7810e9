import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { isPolymorphic, isToOne, onlyPrimaryKey, ownsColumn, targetOf } from '../fields/property.ts';
import { isFile } from './file-type.ts';

/**
 * A relation with `on delete cascade`: the database deletes the records of `meta` with the records that they refer to.
 */
export interface DeletedAlong {
  readonly meta: EntityMetadata;
  readonly relation: string;
}

/**
 * Lists the file properties of an entity. Empty without a single primary key property: views do not store files of that
 * entity.
 */
export function fileProperties({ root }: EntityMetadata): readonly EntityProperty[] {
  return onlyPrimaryKey(root) === undefined ? [] : root.props.filter(isFile);
}

/**
 * Finds the entities whose deletion also makes the database delete records with files (`on delete cascade`), at any
 * level. Returns the cascading relations of each entity.
 */
export function cascadesToFiles(
  entities: Iterable<EntityMetadata>,
): ReadonlyMap<EntityMetadata, readonly DeletedAlong[]> {
  const roots = new Set([...entities].map(({ root }) => root));
  const cascades = [...roots].flatMap((meta) =>
    meta.relations
      .filter(isCascade)
      .map(({ name: relation, targetMeta }) => ({ owner: targetMeta!.root, meta, relation })),
  );
  const leading = new Set([...roots].filter((meta) => fileProperties(meta).length > 0));
  for (let known = -1; known < leading.size;) {
    known = leading.size;
    for (const { owner, meta } of cascades) if (leading.has(meta)) leading.add(owner);
  }
  return Map.groupBy(
    cascades.filter(({ meta }) => leading.has(meta)),
    ({ owner }) => owner,
  );
}

function isCascade(property: EntityProperty): boolean {
  if (!isToOne(property) || !ownsColumn(property) || property.deleteRule !== 'cascade') return false;
  const target = targetOf(property);
  return !isPolymorphic(property) && target !== undefined && onlyPrimaryKey(target) !== undefined;
}
