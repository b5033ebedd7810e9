import type { EntityProperty } from '@mikro-orm/core';
import { ImproperlyConfigured } from '@viewset/core';

/** @throws ImproperlyConfigured for a property that is not stored in exactly one field */
export function columnOf(property: EntityProperty): string {
  const [name, ...others] = property.fieldNames ?? [];
  if (name !== undefined && others.length === 0 && property.formula === undefined) return name;
  const why = property.formula === undefined ? 'is not kept in one field' : 'is a formula, which is SQL';
  throw new ImproperlyConfigured(`"${property.name}" ${why}`);
}
