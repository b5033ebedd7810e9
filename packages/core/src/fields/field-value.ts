import { isStorable } from './calendar.ts';
import { checkFieldJson } from './field-json.ts';
import { expect, parseFieldText } from './field-text.ts';
import type { FieldType } from './field-type.ts';

/**
 * The value that a value of the program stands for: as JSON's, and besides Dates, BigInts, decimals as text, and
 * numbers outside of a field's range (nothing is equal to them, which is no mistake).
 * @throws FieldValueError where the value is of another type
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
