import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { holdsKeys, inverseSide } from '@viewset/core/backend';
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
  const inverse = inverseSide(step) as EntityProperty;
  if (holdsKeys(step)) {
    return { ownerField: columnOf(step), field: keyColumn(step.targetMeta as EntityMetadata), listOn: 'owner' };
  }
  if (holdsKeys(inverse)) return { ownerField: keyColumn(owner), field: columnOf(inverse), listOn: 'records' };
  return { ownerField: referredColumn(inverse), field: columnOf(inverse), listOn: undefined };
}

function keyColumn(meta: EntityMetadata): string {
  return columnOf(meta.getPrimaryProp());
}
