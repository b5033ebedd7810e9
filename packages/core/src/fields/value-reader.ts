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
import { decimalText } from './decimal-text.ts';
import { FIELD_KINDS } from './field-kinds.ts';
import type { FieldPath } from './field-path.ts';
import { customTypeOf, fieldType } from './field-type.ts';
import { isEmbeddable, partsOf, targetOf, valueProperty } from './property.ts';

type Reader = (raw: unknown) => unknown;

/**
 * Makes the function that converts a driver's value of a column to the entity's value: numbers, bigints, dates, JSON,
 * booleans, custom types. Undefined if both are the same. Never called with null.
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
    const isDecimal = builtIn instanceof DecimalType;
    if ((type.mode ?? runtimeType) !== 'number') return isDecimal ? decimalText : String;
    return isDecimal ? (raw) => readNumber(typeof raw === 'object' ? decimalText(raw) : raw) : readNumber;
  }
  if (builtIn instanceof UuidType) return undefined;
  if (builtIn !== undefined) return (raw) => builtIn.convertToJSValue(raw, platform) as unknown;
  if (runtimeType === 'Date') return dateReader(platform);
  if (runtimeType === 'boolean') return columnTypes[0] === 'boolean' ? undefined : readBoolean;
  if (isOtherText(property)) return String;
  if (runtimeType !== 'number') return undefined;
  const isExact = FIELD_KINDS[type.kind].areNumbersExact && !sendsTexts(platform);
  return isOtherNumber(property) || !isExact ? readNumber : undefined;
}

/**
 * Reports whether the driver returns the whole numbers of some columns as texts. PostgreSQL's does for bigint and
 * numeric, which a column of a view has, or a table that is wider than its entity. Only PostgreSQL drops by `cascade`.
 */
function sendsTexts(platform: Platform): boolean {
  return platform.usesCascadeStatement();
}

/**
 * Reports whether a driver may return a number in another form than the property's. The database decides the type of a
 * formula.
 */
export function isOtherNumber({ formula, runtimeType, customType }: EntityProperty): boolean {
  return formula !== undefined && runtimeType === 'number' && customType === undefined;
}

/** The same for a text: SQLite returns `count(*)` as a number even if the property is a text. */
export function isOtherText({ formula, runtimeType, customType }: EntityProperty): boolean {
  return formula !== undefined && runtimeType === 'string' && customType === undefined;
}

/**
 * Makes the function that reads an embeddable, or a list of them, from a JSON column. The JSON has column names and
 * column values. The result has property names and entity values.
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
    // Values of a JSON type are already JSON.
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

/** Matches the numbers that drivers return as texts. */
const NUMBER_TEXT = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\s*$/i;
const NUMBERS_WITHOUT_DIGITS: ReadonlySet<unknown> = new Set(['NaN', 'Infinity', '-Infinity']);

/** Reads a number. A text that is no number, as SQLite may store, stays unchanged, and its response fails. */
export function readNumber(raw: unknown): unknown {
  if (typeof raw !== 'string') return typeof raw === 'bigint' ? Number(raw) : raw;
  return NUMBER_TEXT.test(raw) || NUMBERS_WITHOUT_DIGITS.has(raw) ? Number(raw) : raw;
}

/** Reads a boolean that the database stores as a number. Any other value stays unchanged, and its response fails. */
function readBoolean(raw: unknown): unknown {
  if (raw === 1 || raw === 1n) return true;
  return raw === 0 || raw === 0n ? false : raw;
}

/** Reads dates like MikroORM's own mapper: a time without an offset is in the configured time zone. */
export function dateReader(platform: Platform): Reader {
  const zone = platform.getTimezone();
  return (raw) => {
    if (raw instanceof Date) return raw;
    const beyond = dateBeyond(raw);
    if (beyond !== undefined) return beyond;
    // SQLite stores milliseconds.
    if (typeof raw !== 'string') return new Date(Number(raw));
    const isLocal = zone !== undefined && zone !== 'local' && !HAS_OFFSET.test(raw);
    return platform.parseDate(isLocal ? raw + zone : raw);
  };
}

/** The offsets of times before standard time zones have seconds. */
const HAS_OFFSET = /:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d(?::?\d\d){0,2})$/;
