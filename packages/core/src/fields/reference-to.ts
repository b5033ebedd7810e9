import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { isReference, referredKey } from './property.ts';

/** The keyword that marks values as fields of another entity's records. */
export const REFERENCE_MARK = 'x-reference';

/** Marks a schema's value as a field of another entity's record, for programs that offer a choice of records. */
export function referenceTo(target: EntityMetadata, property: EntityProperty): object {
  const field = isReference(property) ? referredKey(property) : property;
  return { [REFERENCE_MARK]: { entity: target.className, field: field.name } };
}
