import type { Platform } from '@mikro-orm/core';
import type { FieldPath } from '@viewset/core';
import { customTypeOf, PreciseDate, valueProperty } from '@viewset/core/backend';
import { decimalBelow } from '../mikro/decimal128.ts';
import { exactDecimal } from '../mikro/metadata.ts';

const OBJECT_ID = /^[0-9a-f]{24}$/i;

/**
 * Returns a value of a field as MongoDB has it, to be compared with: a decimal with all its digits. Of a value that lies between
 * two that MongoDB has, the lower one.
 */
export function comparedValue(path: FieldPath, value: unknown, platform: Platform): unknown {
  const isText = path.type.kind === 'decimal' && typeof value === 'string';
  return valueOf(path, isText ? decimalBelow(value).below : value, platform, undefined);
}

/** Tells if a value lies between two that MongoDB has, so that nothing is equal to it: two milliseconds, two decimals of 34 digits. */
export function isBetween({ type }: FieldPath, value: unknown): boolean {
  if (value instanceof PreciseDate) return true;
  return type.kind === 'decimal' && typeof value === 'string' && !decimalBelow(value).isExact;
}

/** Returns a value of a field as MongoDB has it, to be stored: a decimal with the digits of its column. */
export function storedValue(path: FieldPath, value: unknown, platform: Platform): unknown {
  return valueOf(path, value, platform, path.type.scale);
}

function valueOf(path: FieldPath, value: unknown, platform: Platform, scale: number | undefined): unknown {
  if (value === null) return null;
  const custom = customTypeOf(path.property);
  if (custom !== undefined) {
    const key = valueProperty(path.property).name;
    return custom.convertToDatabaseValue(value, platform, { fromQuery: true, key, mode: 'query' });
  }
  switch (path.type.kind) {
    case 'decimal':
      return exactDecimal(platform, value, scale);
    case 'bigint':
      return BigInt(value as string);
    case 'datetime':
      return new Date(value as string | Date);
    case 'objectId':
      return objectId(platform, value);
    default:
      return value;
  }
}

/** A text that is none stays one, which is equal to no key. */
function objectId(platform: Platform, value: unknown): unknown {
  return typeof value === 'string' && OBJECT_ID.test(value) ? platform.denormalizePrimaryKey(value) : value;
}
