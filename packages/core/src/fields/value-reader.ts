import { BigIntType, DecimalType, DoubleType, UuidType, type EntityProperty, type Platform } from '@mikro-orm/core';
import type { FieldPath } from './field-path.ts';
import { customTypeOf, type FieldType } from './field-type.ts';
import { valueProperty } from './property.ts';

/**
 * Makes the function that turns what the driver gives for a column into what the entity would hold: numbers, bigints, dates, JSON, booleans,
 * custom types. Undefined if the driver's value is that already. Null stays null and is never passed in.
 */
export function valueReader(path: FieldPath, platform: Platform): ((raw: unknown) => unknown) | undefined {
  const property = valueProperty(path.property);
  const custom = customTypeOf(property);
  if (custom !== undefined) return (raw) => custom.convertToJSValue(raw, platform);
  return builtInReader(property, path.type, platform);
}

function builtInReader(
  property: EntityProperty,
  type: FieldType,
  platform: Platform,
): ((raw: unknown) => unknown) | undefined {
  const builtIn = property.customType;
  if (builtIn instanceof BigIntType || builtIn instanceof DecimalType || builtIn instanceof DoubleType) {
    return numberReader(property, type);
  }
  if (builtIn instanceof UuidType) return undefined;
  if (builtIn !== undefined) return (raw) => builtIn.convertToJSValue(raw, platform) as unknown;
  if (property.runtimeType === 'Date') return dateReader(platform);
  if (property.runtimeType === 'boolean') return property.columnTypes[0] === 'boolean' ? undefined : Boolean;
  return property.runtimeType === 'number' && type.kind !== 'integer' && type.kind !== 'enum' ? readNumber : undefined;
}

function numberReader(property: EntityProperty, type: FieldType): (raw: unknown) => unknown {
  if (type.kind === 'bigint' && type.mode === 'bigint') return (raw) => BigInt(raw as string);
  return (type.mode ?? property.runtimeType) === 'number' ? readNumber : String;
}

/**
 * The number that a serializer writes as null for NaN, which PostgreSQL stores and JSON cannot say: an infinity. Of NaN
 * itself serializers make an error.
 */
export function sendable(value: number): number {
  return Number.isNaN(value) ? Infinity : value;
}

function readNumber(raw: unknown): number {
  return sendable(Number(raw));
}

/** Reads dates like MikroORM's own mapper: a time without an offset is in the time zone of the configuration. */
function dateReader(platform: Platform): (raw: unknown) => unknown {
  const zone = platform.getTimezone();
  return (raw) => {
    if (raw instanceof Date) return raw;
    // SQLite keeps milliseconds.
    if (typeof raw !== 'string') return new Date(Number(raw));
    const isLocal = zone !== undefined && zone !== 'local' && !HAS_OFFSET.test(raw);
    return platform.parseDate(isLocal ? raw + zone : raw);
  };
}

const HAS_OFFSET = /:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d(?::?\d\d)?)$/;
