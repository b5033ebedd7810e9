import type { Platform } from '@mikro-orm/core';
import type { FieldPath } from '@viewset/core';
import { customTypeOf, PreciseDate, valueProperty } from '@viewset/core/backend';
import { decimalBelow } from '../mikro/decimal128.ts';
import { exactDecimal } from '../mikro/metadata.ts';

const OBJECT_ID = /^[0-9a-f]{24}$/i;

/**
 * Converts a value for a comparison in MongoDB. A decimal keeps all its digits. If MongoDB cannot store the value
 * exactly, returns the next lower one that it can.
 */
export function comparedValue(path: FieldPath, value: unknown, platform: Platform): unknown {
  const isText = path.type.kind === 'decimal' && typeof value === 'string';
  return valueOf(path, isText ? decimalBelow(value).below : value, platform, undefined);
}

/**
 * Tells if a value lies between two storable values, so that nothing equals it: between two milliseconds, or two
 * decimals of 34 digits.
 */
export function isBetween({ type }: FieldPath, value: unknown): boolean {
  if (value instanceof PreciseDate) return true;
  return type.kind === 'decimal' && typeof value === 'string' && !decimalBelow(value).isExact;
}

/** Converts a value for storing in MongoDB. A decimal gets its column's number of digits. */
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

/** A string that is not an ObjectId stays a string, which equals no key. */
function objectId(platform: Platform, value: unknown): unknown {
  return typeof value === 'string' && OBJECT_ID.test(value) ? platform.denormalizePrimaryKey(value) : value;
}
