import type { EntityMetadata } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';

/** @throws ImproperlyConfigured for an entity that is not one table with one key */
export function checkEntity(meta: EntityMetadata): void {
  const problem = problemOf(meta);
  if (problem !== undefined) throw new ImproperlyConfigured(`${meta.className} is not supported: ${problem}`);
}

function problemOf(meta: EntityMetadata): string | undefined {
  if (meta.embeddable) return 'it is an embeddable, not an entity';
  if (meta.virtual || meta.expression !== undefined) return 'it is a virtual entity, which has no table';
  if (meta.compositePK || meta.primaryKeys.length !== 1) return 'its primary key is not one column';
  if (meta.root.inheritanceType === 'tpt') return 'it is spread over several tables (table-per-type inheritance)';
  return undefined;
}
