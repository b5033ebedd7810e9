import type { EntityProperty } from '@mikro-orm/core';
import { parseDate, parseTime } from '../../fields/calendar.ts';
import { isDecimalText } from '../../fields/decimal-text.ts';
import type { FieldKind, FieldType } from '../../fields/field-kind.ts';
import { FieldValueError } from '../../fields/field-value-error.ts';
import { checkFieldJson } from '../../fields/field-value.ts';
import { keyText } from '../../fields/primary-key.ts';
import { characters, decimalsMessage } from '../../schema/error-details.ts';
import { decimalPlaces, integerDigits } from '../../support/exact-number.ts';
import { keepsDecimal } from '../../mikro/exact-decimals.ts';
import { formatMessage, isLongerThan, isTime, parseDateTime } from '../../schema/formats.ts';
import type { Problem } from '../../schema/scan-input.ts';
import type { ShapeField } from '../shape-field.ts';

/**
 * Converts a JSON value to the value for the column, or rejects it. It is never called with null.
 *
 * @throws FieldValueError whose message completes a sentence: `must be a number`
 */
export type ColumnRule = (json: unknown) => unknown;

/** Returns the column's value for a JSON value. If the rule rejects it, adds a problem and returns undefined. */
export function applyRule(rule: ColumnRule | undefined, json: unknown, path: string, problems: Problem[]): unknown {
  try {
    return rule === undefined ? json : rule(json);
  } catch (error) {
    if (!(error instanceof FieldValueError)) throw error;
    problems.push({ path, message: error.message });
    return undefined;
  }
}

/** Reads the key of the record that an object of a list names. Two objects of a list must not have the same key. */
export function readKey(
  rule: ColumnRule | undefined,
  json: unknown,
  path: string,
  problems: Problem[],
  named: Set<string>,
): unknown {
  if (json === null) {
    problems.push({ path, message: 'must not be null' });
    return undefined;
  }
  const key = applyRule(rule, json, path, problems);
  const text = keyText(key);
  if (key !== undefined && named.has(text)) problems.push({ path, message: 'is named twice' });
  named.add(text);
  return key;
}

/** The bounds of a 4-byte float. Beyond them a number becomes infinite, or zero. */
const REAL_MAX = 3.402_823_4e38;
const REAL_MIN = 1.175_494_4e-38;

/**
 * Makes the rule of a column; for a list, of each of its elements. It applies in addition to the schema of the body.
 * Undefined if there is no known rule.
 *
 * @param isInJson true for a part of an embeddable that one column holds
 */
export function columnRule(
  { type, property, list, element, custom }: ShapeField,
  isInJson = false,
): ColumnRule | undefined {
  if (custom) return undefined;
  if (!list) return OF_KIND[type.kind](type, property, isInJson);
  return element === undefined ? textOrNumber : OF_KIND[element.kind](element, property, isInJson);
}

/** The rules of columns, by kind. They are stricter than the rules for comparisons, and have their own messages. */
type MakeRule = (type: FieldType, property: EntityProperty, isInJson: boolean) => ColumnRule | undefined;

const OF_KIND: Readonly<Record<FieldKind, MakeRule>> = {
  string: stringRule,
  integer: asCompared,
  bigint: (type) => (json) => bigintValue(type, json),
  number: numberRule,
  decimal: decimalRule,
  boolean: asCompared,
  datetime: () => instant,
  date: () => formatted('date', parseDate),
  time: () => formatted('time', (text) => (isTime(text) ? parseTime(text) : undefined)),
  uuid: asCompared,
  objectId: asCompared,
  json: () => undefined,
  binary: () => bytes,
  enum: asCompared,
};

function asCompared(type: FieldType): ColumnRule {
  return (json) => checkFieldJson(type, json);
}

function instant(json: unknown): Date {
  return (typeof json === 'string' ? parseDateTime(json) : undefined) ?? fail(formatMessage('date-time'));
}

function stringRule({ maxLength = Infinity }: FieldType, { customType }: EntityProperty): ColumnRule {
  // A text type may trim or lower-case. Doing it here makes the response equal to the stored value.
  const normalize = customType as { normalize?(text: string): string } | undefined;
  return (json) => {
    if (typeof json !== 'string') return fail('must be a string');
    const text = normalize?.normalize === undefined ? json : normalize.normalize(json);
    return isLongerThan(text, maxLength) ? fail(`must be at most ${characters(maxLength)}`) : text;
  };
}

function numberRule(type: FieldType, { columnTypes }: EntityProperty): ColumnRule {
  const isReal = /^(?:real|float4|float)\b/i.test(columnTypes?.[0] ?? '');
  return (json) => {
    const value = checkFieldJson(type, json) as number;
    const size = Math.abs(value);
    if (isReal && size !== 0 && (size > REAL_MAX || size < REAL_MIN)) {
      fail('is out of range for a number of single precision');
    }
    return value + 0;
  };
}

function bigintValue(type: FieldType, json: unknown): unknown {
  const value = checkFieldJson(type, json);
  if (type.mode === 'number') return Number(value);
  return type.mode === 'string' ? String(value) : value;
}

function decimalRule(
  { mode, precision = Infinity, scale = Infinity }: FieldType,
  { customType }: EntityProperty,
  isInJson: boolean,
): ColumnRule {
  const digits = precision - scale;
  const bound = Number(`1e${digits}`);
  return (json) => {
    const isText = mode === 'string' && typeof json === 'string';
    if (!isText && (typeof json !== 'number' || !Number.isFinite(json))) {
      return fail(mode === 'string' ? 'must be a decimal number, as a string' : 'must be a number');
    }
    if (isText && !isDecimalText(json)) return fail('must be a decimal number such as "12.50"');
    if (decimalPlaces(json) > scale) fail(decimalsMessage(scale));
    const isTooGreat = isText ? integerDigits(json) > digits : Math.abs(json as number) >= bound;
    if (isTooGreat) fail(`must have at most ${digits} ${digits === 1 ? 'digit' : 'digits'} before the point`);
    if (isText && !keepsDecimal(customType, json, isInJson)) fail('has more digits than the database keeps');
    return mode === 'string' ? String(json) : (json as number) + 0;
  };
}

function formatted(format: string, parse: (text: string) => string | undefined): ColumnRule {
  return (json) => (typeof json === 'string' ? parse(json) : undefined) ?? fail(formatMessage(format));
}

function bytes(json: unknown): Buffer {
  const decoded = typeof json === 'string' ? Buffer.from(json, 'base64') : undefined;
  // Node skips characters that are not base64. So the text is valid only if encoding returns the same text.
  if (decoded === undefined || decoded.toString('base64') !== json) return fail('must be base64');
  return decoded;
}

/** Elements of an application's own type are stored as texts. */
function textOrNumber(json: unknown): unknown {
  return typeof json === 'string' || Number.isFinite(json) ? json : fail('must be a string or a number');
}

function fail(problem: string): never {
  throw new FieldValueError(problem);
}
