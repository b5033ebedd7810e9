import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { ImproperlyConfigured } from '@viewset/core';
import { holdsKeys, inverseSide, tieOf } from '@viewset/core/backend';
import { columnOf } from './column.ts';

/** The fields that connect the record at the start of a relation with the records that it leads to. */
export interface FieldTie {
  /** The owner's field: its key, its reference, or its list of keys. */
  readonly ownerField: string;
  /** The related records' field: their key, their owner's key, or their list of owners' keys. */
  readonly field: string;
}

/** The fields of a to-many relation. */
export interface ManyTie extends FieldTie {
  /** The side that stores a list of keys. */
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

/** Returns the fields of a relation by reference, on either side. */
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
