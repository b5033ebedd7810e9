import type { EntityProperty } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';
import { isPolymorphic } from '../fields/property.ts';

/**
 * Returns the property of the records of a relation to many that leads back to their owner; undefined if there is none.
 *
 * @throws ImproperlyConfigured for a polymorphic relation
 */
export function inverseSide(relation: EntityProperty): EntityProperty | undefined {
  if (isPolymorphic(relation)) {
    throw new ImproperlyConfigured(`query sets cannot ask through "${relation.name}": it is polymorphic`);
  }
  return relation.targetMeta?.properties[relation.mappedBy as never];
}
