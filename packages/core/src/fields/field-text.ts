import { parseDate, parseDateTime, parseTime } from './calendar.ts';
import type { FieldType } from './field-type.ts';
import { FieldValueError } from './field-value-error.ts';

const INTEGER = /^(?:0|-?[1-9]\d*)$/;
const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const DECIMAL = /^-?\d{1,1000}(?:\.\d{1,1000})?$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * The value that a text of a query string stands for: a number for `integer` and `number`, a BigInt for `bigint`, the
 * text itself for `decimal`, `date`, `time` and `uuid` (which keeps them exact), a Date for `datetime`.
 * @throws FieldValueError where the text does not fit the type
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
      return expect(DECIMAL.test(text) ? text : undefined, 'a decimal number');
    case 'boolean':
      return expect(text === 'true' ? true : text === 'false' ? false : undefined, 'true or false');
    case 'datetime':
      return expect(parseDateTime(text), 'a date and time, as in 2024-12-31T23:59:59Z');
    case 'date':
      return expect(parseDate(text), 'a date, as in 2024-12-31');
    case 'time':
      return expect(parseTime(text), 'a time, as in 23:59:59');
    case 'uuid':
      return expect(UUID.test(text.toLowerCase()) ? text.toLowerCase() : undefined, 'a UUID');
    case 'enum':
      return oneOf(
        type,
        type.values?.find((value) => String(value) === text),
      );
    case 'json':
    case 'binary':
      throw new FieldValueError('cannot be compared with a value');
  }
}

/** The text, if a database can keep it: no NUL character, no half of a surrogate pair. */
export function wellFormed(text: string): string {
  if (text.includes('\0')) throw new FieldValueError('must not contain a NUL character');
  if (!text.isWellFormed()) throw new FieldValueError('must be well-formed Unicode');
  return text;
}

/** The number, if it is there and within the bounds of the type. */
export function within<T extends number | bigint>(type: FieldType, value: T | undefined, what: string): T {
  const { minimum, maximum } = type;
  if (minimum === undefined || maximum === undefined) return expect(value, what);
  if (value !== undefined && value >= minimum && value <= maximum) return value;
  throw new FieldValueError(`must be ${what} between ${minimum} and ${maximum}`);
}

/** The enum's value, if it is one of them. */
export function oneOf(type: FieldType, value: string | number | undefined): string | number {
  return expect(value, `one of: ${type.values?.join(', ')}`);
}

/** The value, unless it is undefined. */
export function expect<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new FieldValueError(`must be ${what}`);
  return value;
}
