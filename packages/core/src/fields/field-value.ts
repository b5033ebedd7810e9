import type { FieldType } from './field-kind.ts';
import { FIELD_KINDS } from './field-kinds.ts';

/**
 * Reads the value that a text of a URL stands for: a number for `integer` and `number`, a BigInt for `bigint`, the
 * text itself for `decimal`, `date`, `time` and `uuid` (which keeps them exact), a Date for `datetime`, one that
 * knows its microseconds if there are any.
 * @throws FieldValueError if the text does not fit the type
 * @example
 * parseFieldText({ kind: 'integer' }, '12');    // 12
 * parseFieldText({ kind: 'integer' }, '012');   // FieldValueError: must be an integer
 */
export function parseFieldText(type: FieldType, text: string): unknown {
  return FIELD_KINDS[type.kind].parseText(text, type);
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
  return FIELD_KINDS[type.kind].checkJson(json, type);
}

/**
 * Reads the value that a value of the program stands for: like JSON's, and besides Dates, BigInts, decimals as text, and
 * numbers outside of a field's range (nothing is equal to them, which is no mistake).
 * @throws FieldValueError if the value is of another type
 */
export function checkFieldValue(type: FieldType, value: unknown): unknown {
  return FIELD_KINDS[type.kind].checkValue(value, type);
}
