import type { FieldType } from '../fields/field-type.ts';
import type { ShapeField } from './shape-field.ts';

/** How a value is written in JSON; without a type, any JSON is fine. */
export interface WireType {
  readonly type?: 'array' | 'boolean' | 'integer' | 'number' | 'string';
  readonly format?: string;
}

const OF_KIND: Readonly<Record<FieldType['kind'], WireType>> = {
  string: { type: 'string' },
  integer: { type: 'integer' },
  bigint: { type: 'string' },
  number: { type: 'number' },
  decimal: { type: 'number' },
  boolean: { type: 'boolean' },
  datetime: { type: 'string', format: 'date-time' },
  date: { type: 'string', format: 'date' },
  time: { type: 'string', format: 'time' },
  uuid: { type: 'string', format: 'uuid' },
  json: {},
  binary: { type: 'string', format: 'byte' },
  enum: {},
};

/** The JSON type and format of a column's values. Of a type that the application wrote, nothing is known. */
export function wireType({ type, list, custom }: Pick<ShapeField, 'type' | 'list' | 'custom'>): WireType {
  if (custom) return {};
  if (list) return { type: 'array' };
  if (type.kind === 'bigint' && type.mode === 'number') return { type: 'integer' };
  if (type.kind === 'decimal' && type.mode === 'string') return { type: 'string' };
  return type.kind === 'enum' ? enumType(type.values ?? []) : OF_KIND[type.kind];
}

function enumType(values: readonly (string | number)[]): WireType {
  if (values.every((value) => typeof value === 'string')) return { type: 'string' };
  if (values.every((value) => Number.isInteger(value))) return { type: 'integer' };
  return values.every((value) => typeof value === 'number') ? { type: 'number' } : {};
}
