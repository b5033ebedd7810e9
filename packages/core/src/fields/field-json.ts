import type { FieldType } from './field-type.ts';
import { expect, oneOf, parseFieldText, within } from './field-text.ts';

/**
 * The value that a JSON value stands for; nothing is coerced from one JSON type to another. What JSON has no type for
 * (dates, times, UUIDs, integers beyond 2^53) is a string, written as in a query string.
 * @throws FieldValueError where the JSON value is of another type, or out of the field's range
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
      if (typeof json === 'string' && type.mode !== 'number') return parseFieldText(type, json);
      return expect(Number.isFinite(json) ? (json as number) : undefined, 'a number');
    case 'boolean':
      return expect(typeof json === 'boolean' ? json : undefined, 'true or false');
    case 'enum':
      return oneOf(
        type,
        type.values?.find((value) => value === json),
      );
    default:
      return parseFieldText(type, typeof json === 'string' ? json : '');
  }
}
