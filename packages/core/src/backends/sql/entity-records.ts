import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import type { Projection } from '../../language/projection.ts';
import { hydrationOf } from './hydration.ts';
import { selectionOf, type Selection } from './selection.ts';

/** The columns that a projection's records take: its own, behind those of the entity where they are made of entities. */
export function recordSelection(meta: EntityMetadata, projection: Projection<unknown>): Selection {
  const own = selectionOf(projection);
  if (projection.ofEntities !== true) return own;
  const { selection } = hydrationOf(meta, projection.populate);
  return { key: `${selection.key}+${own.key}`, paths: [...selection.paths, ...own.paths] };
}

/** Makes entities of such rows, and records of the entities. */
export async function entityRecords<Record>(
  em: EntityManager,
  meta: EntityMetadata,
  projection: Projection<Record>,
  rows: readonly unknown[][],
): Promise<Record[]> {
  const hydration = hydrationOf(meta, projection.populate);
  const width = hydration.selection.paths.length;
  const entities = rows.map((row) => hydration.map(em, row));
  await em.getUnitOfWork().dispatchOnLoadEvent();
  return entities.map((entity, index) => projection.readEntity(entity, rows[index]?.slice(width)));
}
