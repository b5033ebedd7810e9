import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors.ts';
import { holdsKeys } from '../../fields/property.ts';
import { columnOf, referredColumn } from './scope.ts';

/** The tie of the records of a relation to many to their owner. */
export interface Tie {
  /** The owner's field: its key, or the list of the records' keys. */
  readonly ownerField: string;
  /** The records' field: their key, the key of their owner, or the list of their owners' keys. */
  readonly field: string;
  /** The side that has a list of keys. */
  readonly listOn: 'owner' | 'records' | undefined;
}

/** @throws ImproperlyConfigured for a polymorphic relation */
export function tieOf(step: EntityProperty, owner: EntityMetadata): Tie {
  const target = step.targetMeta as EntityMetadata;
  if (holdsKeys(step)) return { ownerField: columnOf(step), field: keyColumn(target), listOn: 'owner' };
  const mapped = target.properties[step.mappedBy] as EntityProperty | undefined;
  if (mapped === undefined || mapped.polymorphic === true) {
    throw new ImproperlyConfigured(`query sets cannot ask through "${step.name}": it is polymorphic`);
  }
  if (holdsKeys(mapped)) return { ownerField: keyColumn(owner), field: columnOf(mapped), listOn: 'records' };
  return { ownerField: referredColumn(mapped), field: columnOf(mapped), listOn: undefined };
}

function keyColumn(meta: EntityMetadata): string {
  return columnOf(meta.getPrimaryProp());
}
