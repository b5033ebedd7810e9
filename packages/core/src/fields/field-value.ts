import type { FieldType } from './field-kind.ts';
import { FIELD_KINDS } from './field-kinds.ts';

/**
 * Reads the value of a text in a URL:
 *
 * - `integer`, `number`: a number
 * - `bigint`: a BigInt
 * - `decimal`, `date`, `time`, `uuid`: the text itself, which keeps them exact
 * - `datetime`: a Date, or a PreciseDate if it has microseconds
 *
 * @throws FieldValueError if the text does not fit the type
 * @example
 * parseFieldText({ kind: 'integer' }, '12');    // 12
 * parseFieldText({ kind: 'integer' }, '012');   // FieldValueError: must be an integer
 */
export function parseFieldText(type: FieldType, text: string): unknown {
  return FIELD_KINDS[type.kind].parseText(text, type);
}

/**
 * Reads a JSON value as a value of a field. JSON types are never coerced. Values without a JSON type (dates, times,
 * UUIDs, integers beyond 2^53) are strings, as in a query string.
 * @throws FieldValueError if the JSON value is of another type, or out of the field's range
 * @example
 * checkFieldJson({ kind: 'number' }, 1.5);     // 1.5
 * checkFieldJson({ kind: 'number' }, '1.5');   // FieldValueError: must be a number
 */
export function checkFieldJson(type: FieldType, json: unknown): unknown {
  return FIELD_KINDS[type.kind].checkJson(json, type);
}

/**
 * Reads a value from the program: like JSON, and also Dates, BigInts, decimals as text, and numbers outside of a
 * field's range (they equal nothing, which is not a mistake).
 * @throws FieldValueError if the value is of another type
 */
export function checkFieldValue(type: FieldType, value: unknown): unknown {
  return FIELD_KINDS[type.kind].checkValue(value, type);
}
