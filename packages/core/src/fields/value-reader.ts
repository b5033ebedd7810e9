import {
  BigIntType,
  DecimalType,
  DoubleType,
  type EntityMetadata,
  type EntityProperty,
  JsonType,
  UuidType,
  type Platform,
} from '@mikro-orm/core';
import { dateBeyond } from './calendar.ts';
import { FIELD_KINDS } from './field-kinds.ts';
import type { FieldPath } from './field-path.ts';
import { customTypeOf, fieldType } from './field-type.ts';
import { isEmbeddable, partsOf, targetOf, valueProperty } from './property.ts';

type Reader = (raw: unknown) => unknown;

/**
 * Makes the function that turns what the driver gives for a column into what the entity would hold: numbers, bigints, dates,
 * JSON, booleans, custom types. Undefined if the driver's value is that already. Null stays null and is never passed in.
 */
export function valueReader(
  { property, type }: Pick<FieldPath, 'property' | 'type'>,
  platform: Platform,
): Reader | undefined {
  if (isEmbeddable(property)) return embeddableReader(property, platform);
  const custom = customTypeOf(property);
  if (custom !== undefined) return (raw) => custom.convertToJSValue(raw, platform);
  const { customType: builtIn, runtimeType, columnTypes } = valueProperty(property);
  if (builtIn instanceof BigIntType || builtIn instanceof DecimalType || builtIn instanceof DoubleType) {
    if (type.mode === 'bigint') return (raw) => BigInt(raw as string);
    return (type.mode ?? runtimeType) === 'number' ? readNumber : String;
  }
  if (builtIn instanceof UuidType) return undefined;
  if (builtIn !== undefined) return (raw) => builtIn.convertToJSValue(raw, platform) as unknown;
  if (runtimeType === 'Date') return dateReader(platform);
  if (runtimeType === 'boolean') return columnTypes[0] === 'boolean' ? undefined : Boolean;
  if (isOtherText(property)) return String;
  if (runtimeType !== 'number') return undefined;
  return isOtherNumber(property) || !FIELD_KINDS[type.kind].areNumbersExact ? readNumber : undefined;
}

/** Tells if a driver may give a number in another form than that of its property: the type of a formula is the database's to decide. */
export function isOtherNumber({ formula, runtimeType, customType }: EntityProperty): boolean {
  return formula !== undefined && runtimeType === 'number' && customType === undefined;
}

/** The same of a text: SQLite gives `count(*)` as a number to whoever declares a text. */
export function isOtherText({ formula, runtimeType, customType }: EntityProperty): boolean {
  return formula !== undefined && runtimeType === 'string' && customType === undefined;
}

/**
 * Makes the function that reads an embeddable, or a list of them, of the JSON that one column holds: its properties under their own names,
 * each of its values as an entity would hold it. In the JSON they have the names of columns, and values as a column would have them.
 */
function embeddableReader(property: EntityProperty, platform: Platform): Reader {
  const read = objectReader(targetOf(property) as EntityMetadata, platform);
  return (raw) => {
    const json: unknown = typeof raw === 'string' ? JSON.parse(raw) : raw;
    return Array.isArray(json) ? json.map(read) : read(json);
  };
}

function objectReader(meta: EntityMetadata, platform: Platform): Reader {
  const parts = partsOf(meta).map((property) => {
    const { name, fieldNames, customType } = property;
    if (isEmbeddable(property)) return { name, stored: fieldNames[0]!, read: embeddableReader(property, platform) };
    // What is JSON by itself stands in the JSON as it is.
    const isJson = customType instanceof JsonType;
    const read = isJson ? undefined : valueReader({ property, type: fieldType(property) }, platform);
    return { name, stored: fieldNames[0]!, read };
  });
  return (json) => {
    if (json === null || typeof json !== 'object') return json;
    const values = json as Readonly<Record<string, unknown>>;
    const object: Record<string, unknown> = {};
    for (const { name, stored, read } of parts) {
      const value = values[stored];
      if (value === undefined) continue;
      object[name] = read === undefined || value === null ? value : read(value);
    }
    return object;
  };
}

/**
 * Puts an infinity, which serializers write as null, in the place of NaN, which PostgreSQL stores and JSON cannot say. Of NaN
 * itself serializers make an error.
 */
export function sendable(value: number): number {
  return Number.isNaN(value) ? Infinity : value;
}

function readNumber(raw: unknown): number {
  return sendable(Number(raw));
}

/** Reads dates like MikroORM's own mapper: a time without an offset is in the time zone of the configuration. */
function dateReader(platform: Platform): Reader {
  const zone = platform.getTimezone();
  return (raw) => {
    if (raw instanceof Date) return raw;
    const beyond = dateBeyond(raw);
    if (beyond !== undefined) return beyond;
    // SQLite keeps milliseconds.
    if (typeof raw !== 'string') return new Date(Number(raw));
    const isLocal = zone !== undefined && zone !== 'local' && !HAS_OFFSET.test(raw);
    return platform.parseDate(isLocal ? raw + zone : raw);
  };
}

/** The offsets of times before time zones were agreed on have seconds. */
const HAS_OFFSET = /:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d(?::?\d\d){0,2})$/;
