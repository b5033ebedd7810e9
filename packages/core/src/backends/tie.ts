import type { EntityProperty } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { isPolymorphic, ownsColumn } from '../fields/property.ts';

/** The columns that connect the records of a relation to their owner. */
export interface Tie {
  readonly columns: readonly string[];
  readonly ownerColumns: readonly string[];
}

/**
 * Returns the tie of a relation with a foreign key on either side. It uses fieldNames, because the joinColumns of a
 * relation with a `targetKey` are not its column name.
 *
 * @throws ImproperlyConfigured for a polymorphic to-many relation
 */
export function tieOf(step: EntityProperty): Tie {
  if (ownsColumn(step)) return { columns: step.referencedColumnNames, ownerColumns: step.fieldNames };
  const { fieldNames, referencedColumnNames } = inverseSide(step) as EntityProperty;
  return { columns: fieldNames, ownerColumns: referencedColumnNames };
}

/**
 * Returns the property of the related records that refers back. Undefined if there is none.
 *
 * @throws ImproperlyConfigured for a polymorphic relation
 */
export function inverseSide(relation: EntityProperty): EntityProperty | undefined {
  if (isPolymorphic(relation)) {
    throw new ImproperlyConfigured(`query sets cannot ask through "${relation.name}": it is polymorphic`);
  }
  return relation.targetMeta?.properties[relation.mappedBy as never];
}
