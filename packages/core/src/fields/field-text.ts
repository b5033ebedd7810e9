import type { FieldType } from './field-type.ts';

/**
 * The value that a text of a query string stands for.
 * @throws FieldValueError where the text does not fit the type
 * @example
 * parseFieldText({ kind: 'integer' }, '12');    // 12
 * parseFieldText({ kind: 'integer' }, '012');   // FieldValueError: must be an integer
 */
export function parseFieldText(type: FieldType, text: string): unknown {
  throw new Error(`not written yet ${type.kind} ${text}`);
}
