import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { isReference, referredKey } from './property.ts';

/** Says in a schema that its value is a field of a record of another entity, for programs that let people choose one. */
export function referenceTo(target: EntityMetadata, property: EntityProperty): object {
  const field = isReference(property) ? referredKey(property) : property;
  return { 'x-reference': { entity: target.className, field: field.name } };
}
