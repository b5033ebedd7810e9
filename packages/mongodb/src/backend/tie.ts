import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { ImproperlyConfigured } from '@viewset/core';
import { holdsKeys, inverseSide, tieOf } from '@viewset/core/backend';
import { columnOf } from './column.ts';

/** The fields by which the records that a relation leads to are tied to the record that it starts from. */
export interface FieldTie {
  /** The owner's field: its key, what refers to the record, or the list of the records' keys. */
  readonly ownerField: string;
  /** The records' field: their key, the key of their owner, or the list of their owners' keys. */
  readonly field: string;
}

/** The tie of a relation to many. */
export interface ManyTie extends FieldTie {
  /** The side that has a list of keys. */
  readonly listOn: 'owner' | 'records' | undefined;
}

/** @throws ImproperlyConfigured for a polymorphic relation */
export function manyTie(step: EntityProperty, owner: EntityMetadata): ManyTie {
  const inverse = inverseSide(step);
  if (holdsKeys(step)) {
    return { ownerField: columnOf(step), field: keyColumn(step.targetMeta as EntityMetadata), listOn: 'owner' };
  }
  if (inverse !== undefined && holdsKeys(inverse)) {
    return { ownerField: keyColumn(owner), field: columnOf(inverse), listOn: 'records' };
  }
  return { ...fieldTie(step), listOn: undefined };
}

/** Returns the tie of a relation by a reference, on either side. */
export function fieldTie(step: EntityProperty): FieldTie {
  const { columns, ownerColumns } = tieOf(step);
  return { ownerField: only(step, ownerColumns), field: only(step, columns) };
}

function only({ name }: EntityProperty, [column, ...others]: readonly string[]): string {
  if (column !== undefined && others.length === 0) return column;
  throw new ImproperlyConfigured(`"${name}" refers to a key that is not kept in one field`);
}

function keyColumn(meta: EntityMetadata): string {
  return columnOf(meta.getPrimaryProp());
}
