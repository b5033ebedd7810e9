import { ReferenceKind } from '@mikro-orm/core';
import { FIELD_KINDS } from '../../fields/field-kinds.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import { customTypeOf } from '../../fields/field-type.ts';

/** Reports whether a column is in the record's own table, and statements write and return it unchanged. */
export function isPlainColumn({ steps, property, type }: FieldPath): boolean {
  if (steps.length > 0 || property.kind !== ReferenceKind.SCALAR) return false;
  if (property.persist === false || property.formula !== undefined) return false;
  const { hasConvertToJSValueSQL, hasConvertToDatabaseValueSQL, fieldNames, embedded } = property;
  if (hasConvertToJSValueSQL || hasConvertToDatabaseValueSQL || embedded !== undefined || fieldNames.length !== 1) {
    return false;
  }
  return FIELD_KINDS[type.kind].isPlain && customTypeOf(property) === undefined;
}
