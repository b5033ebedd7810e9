import type { FieldType } from './field-type.ts';

/**
 * The value that a JSON value stands for; nothing is coerced from one JSON type to another.
 * @throws FieldValueError where the JSON value is of another type, or out of the field's range
 */
export function checkFieldJson(type: FieldType, json: unknown): unknown {
  throw new Error(`not written yet ${type.kind} ${String(json)}`);
}
