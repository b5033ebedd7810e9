import { InvalidUsage } from '../errors.ts';
import { textProblem } from '../json.ts';
import { isStorable, parseDate, parsePreciseDate, parseTime } from './calendar.ts';
import type { FieldType } from './field-type.ts';
import { OBJECT_ID_PATTERN } from './object-id.ts';

/**
 * A value that does not fit its field. The message completes a sentence, `must be an integer`: whoever knows the place of
 * the value catches the error and names it. A filter's parameters come from the client, so that an error which
 * a filter lets through is a 400; anywhere else the value is the program's own, and the answer is a 500.
 */
export class FieldValueError extends InvalidUsage {}

const INTEGER = /^(?:0|-?[1-9]\d*)$/;
const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const DECIMAL = /^-?\d{1,1000}(?:\.\d{1,1000})?$/;
const OBJECT_ID = new RegExp(OBJECT_ID_PATTERN);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Reads the value that a text of a query string stands for: a number for `integer` and `number`, a BigInt for `bigint`, the
 * text itself for `decimal`, `date`, `time` and `uuid` (which keeps them exact), a Date for `datetime`, one that
 * knows its microseconds if there are any.
 * @throws FieldValueError if the text does not fit the type
 * @example
 * parseFieldText({ kind: 'integer' }, '12');    // 12
 * parseFieldText({ kind: 'integer' }, '012');   // FieldValueError: must be an integer
 */
export function parseFieldText(type: FieldType, text: string): unknown {
  switch (type.kind) {
    case 'string':
      return wellFormed(text);
    case 'integer':
      return within(type, INTEGER.test(text) ? Number(text) : undefined, 'an integer');
    case 'bigint':
      return within(type, INTEGER.test(text) && text.length <= 20 ? BigInt(text) : undefined, 'an integer');
    case 'number':
      return expect(NUMBER.test(text) && Number.isFinite(Number(text)) ? Number(text) : undefined, 'a number');
    case 'decimal':
      return expect(plainDecimal(text), 'a decimal number');
    case 'boolean':
      return expect(text === 'true' ? true : text === 'false' ? false : undefined, 'true or false');
    case 'datetime':
      return expect(parsePreciseDate(text), 'a date and time, as in 2024-12-31T23:59:59Z');
    case 'date':
      return expect(parseDate(text), 'a date, as in 2024-12-31');
    case 'time':
      return expect(parseTime(text), 'a time, as in 23:59:59');
    case 'uuid':
      return expect(UUID.test(text.toLowerCase()) ? text.toLowerCase() : undefined, 'a UUID');
    case 'objectId':
      return expect(OBJECT_ID.test(text) ? text : undefined, 'an ObjectId: 24 hexadecimal digits, in lower case');
    case 'enum':
      return oneOf(type, (value) => String(value) === text);
    case 'json':
    case 'binary':
      throw new FieldValueError('cannot be compared with a value');
  }
}

const WITH_EXPONENT = /^(-?)(\d{1,1000})(?:\.(\d{1,1000}))?[eE]([+-]?\d{1,4})$/;

/** Writes a decimal number without an exponent, as JavaScript writes small and large numbers with one (`1e-7`); undefined for another text. */
function plainDecimal(text: string): string | undefined {
  const [, sign = '', whole = '', fraction = '', exponent] = WITH_EXPONENT.exec(text) ?? [];
  if (exponent === undefined) return DECIMAL.test(text) ? text : undefined;
  // What no number of JavaScript is, nobody has written of one: 1e400, and 1e-400, which would be 0.
  const size = Math.abs(Number(text));
  if (size === Infinity || (size === 0 && /[1-9]/.test(whole + fraction))) return undefined;
  const point = whole.length + Number(exponent);
  const digits = `${'0'.repeat(Math.max(0, 1 - point))}${whole}${fraction}`.padEnd(point, '0');
  const place = Math.max(1, point);
  const integral = digits.slice(0, place).replace(/^0+(?=\d)/, '');
  const written = `${sign}${integral}${digits.length > place ? `.${digits.slice(place)}` : ''}`;
  return DECIMAL.test(written) ? written : undefined;
}

/**
 * Reads the value that a JSON value stands for; nothing is coerced from one JSON type to another. What JSON has no type for
 * (dates, times, UUIDs, integers beyond 2^53) is a string, written as in a query string.
 * @throws FieldValueError if the JSON value is of another type, or out of the field's range
 * @example
 * checkFieldJson({ kind: 'number' }, 1.5);     // 1.5
 * checkFieldJson({ kind: 'number' }, '1.5');   // FieldValueError: must be a number
 */
export function checkFieldJson(type: FieldType, json: unknown): unknown {
  switch (type.kind) {
    case 'string':
      return parseFieldText(type, expect(typeof json === 'string' ? json : undefined, 'a string'));
    case 'integer':
      return within(type, Number.isInteger(json) ? Number(json) + 0 : undefined, 'an integer');
    case 'bigint':
      if (typeof json === 'string' && type.mode !== 'number') return parseFieldText(type, json);
      return within(type, Number.isSafeInteger(json) ? BigInt(json as number) : undefined, 'an integer');
    case 'number':
      return expect(Number.isFinite(json) ? (json as number) : undefined, 'a number');
    case 'decimal':
      if (typeof json === 'string' && type.mode !== 'number') {
        return expect(DECIMAL.test(json) ? json : undefined, 'a decimal number');
      }
      return expect(Number.isFinite(json) ? (json as number) : undefined, 'a number');
    case 'boolean':
      return expect(typeof json === 'boolean' ? json : undefined, 'true or false');
    case 'enum':
      return oneOf(type, (value) => value === json);
    default:
      return parseFieldText(type, typeof json === 'string' ? json : '');
  }
}

/**
 * Reads the value that a value of the program stands for: like JSON's, and besides Dates, BigInts, decimals as text, and
 * numbers outside of a field's range (nothing is equal to them, which is no mistake).
 * @throws FieldValueError if the value is of another type
 */
export function checkFieldValue(type: FieldType, value: unknown): unknown {
  switch (type.kind) {
    case 'integer':
      return expect(isNumeric(value) ? value : undefined, 'a number');
    case 'bigint':
      if (typeof value === 'string') return parseFieldText({ kind: 'bigint' }, value);
      return expect(isNumeric(value) ? value : undefined, 'an integer');
    case 'number':
      if (typeof value === 'string') return parseFieldText(type, value);
      return expect(isNumeric(value) ? Number(value) : undefined, 'a number');
    case 'decimal':
      if (typeof value === 'bigint') return String(value);
      return typeof value === 'string' ? parseFieldText(type, value) : checkFieldJson(type, value);
    case 'objectId':
      return parseFieldText(type, String(value));
    case 'datetime':
      return value instanceof Date
        ? expect(isStorable(value) ? value : undefined, 'a date')
        : checkFieldJson(type, value);
    default:
      return checkFieldJson(type, value);
  }
}

function isNumeric(value: unknown): value is number | bigint {
  return typeof value === 'bigint' || (typeof value === 'number' && !Number.isNaN(value));
}

/** Returns the text if a database can keep it: no NUL character, no half of a surrogate pair. */
function wellFormed(text: string): string {
  const problem = textProblem(text);
  if (problem !== undefined) throw new FieldValueError(problem);
  return text;
}

/** Returns the number if it is there and within the bounds of the type. */
function within<T extends number | bigint>(type: FieldType, value: T | undefined, what: string): T {
  const { minimum, maximum } = type;
  if (minimum === undefined || maximum === undefined) return expect(value, what);
  if (value !== undefined && value >= minimum && value <= maximum) return value;
  throw new FieldValueError(`must be ${what} between ${minimum} and ${maximum}`);
}

/** Returns the value of an enum that is meant. */
function oneOf({ values = [] }: FieldType, isMeant: (value: string | number) => boolean): string | number {
  return expect(values.find(isMeant), `one of: ${values.join(', ')}`);
}

/** Returns the value unless it is undefined. */
function expect<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new FieldValueError(`must be ${what}`);
  return value;
}
