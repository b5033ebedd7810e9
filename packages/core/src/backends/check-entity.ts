import type { EntityMetadata } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { isTablePerType } from '../fields/property.ts';

/** @throws ImproperlyConfigured for an entity that does not have exactly one table and one key */
export function checkEntity(meta: EntityMetadata): void {
  const problem = problemOf(meta);
  if (problem !== undefined) throw new ImproperlyConfigured(`${meta.className} is not supported: ${problem}`);
}

function problemOf(meta: EntityMetadata): string | undefined {
  if (meta.embeddable) return 'it is an embeddable, not an entity';
  const isVirtual = meta.virtual ?? (meta.expression !== undefined && meta.view !== true);
  if (isVirtual) return 'it is a virtual entity, which has no table';
  if (meta.compositePK || meta.primaryKeys.length !== 1) return 'its primary key is not one column';
  if (isTablePerType(meta)) return 'it is spread over several tables (table-per-type inheritance)';
  return hidingTarget(meta);
}

/**
 * Finds a polymorphic relation to an entity with a filter that is on by default. `em.find` hides records that refer to
 * a hidden record, and queries here cannot express that.
 */
function hidingTarget({ relations }: EntityMetadata): string | undefined {
  for (const { name, polymorphTargets = [] } of relations) {
    const target = polymorphTargets.find(({ filters }) => Object.values(filters).some((filter) => filter.default));
    if (target !== undefined) return hiddenTarget(name, target);
  }
  return undefined;
}

/** Says why a polymorphic relation is not allowed. */
export function hiddenTarget(relation: string, { className }: EntityMetadata): string {
  return `its polymorphic relation "${relation}" may lead to ${className}, of which a filter of MikroORM hides records`;
}
