import { Type, type TSchema } from 'typebox';
import type { FieldType } from '../fields/field-type.ts';
import type { ShapeField } from './shape-field.ts';

/** The JSON type and format of each kind of field. */
const WIRE_TYPES: Readonly<Record<FieldType['kind'], { readonly type?: string; readonly format?: string }>> = {
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

/** The schema of a field in an answer. */
export function readSchema({ type, list, custom, nullable }: ShapeField): TSchema {
  if (custom) return Type.Unsafe({});
  if (list) return schemaOf({ type: 'array' }, nullable);
  return schemaOf({ ...wireType(type), ...(type.kind === 'enum' && { enum: type.values }) }, nullable);
}

/** The schema of a field in a body, with the bounds that its column has. `blank`: whether the empty string is fine. */
export function writeSchema({ type, list, custom, nullable }: ShapeField, blank: boolean): TSchema {
  if (custom) return Type.Unsafe({});
  if (list) return schemaOf({ type: 'array', items: { type: ['string', 'number'] } }, nullable);
  return schemaOf({ ...wireType(type), ...bounds(type, blank) }, nullable);
}

function wireType(type: FieldType): { readonly type?: string; readonly format?: string } {
  if (type.kind === 'bigint' && type.mode === 'number') return { type: 'integer' };
  if (type.kind === 'decimal' && type.mode === 'string') return { type: 'string' };
  if (type.kind === 'enum') return enumType(type.values ?? []);
  return WIRE_TYPES[type.kind];
}

function enumType(values: readonly (string | number)[]): { readonly type?: string } {
  if (values.every((value) => typeof value === 'string')) return { type: 'string' };
  return values.every((value) => typeof value === 'number') ? { type: 'number' } : {};
}

function bounds(type: FieldType, blank: boolean): object {
  const { kind, mode, maxLength, minimum, maximum, precision, scale = 0, values } = type;
  switch (kind) {
    case 'string':
      return { ...(!blank && { minLength: 1 }), ...(maxLength !== undefined && { maxLength }) };
    case 'integer':
      return {
        ...(minimum !== undefined && { minimum: Number(minimum) }),
        ...(maximum !== undefined && { maximum: Number(maximum) }),
      };
    case 'bigint':
      return mode === 'number'
        ? { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }
        : { pattern: '^(?:0|-?[1-9][0-9]*)$' };
    case 'decimal':
      if (mode === 'string') return { pattern: '^-?[0-9]+(?:\\.[0-9]+)?$' };
      return precision === undefined ? {} : decimalBounds(precision, scale);
    case 'enum':
      return { enum: values };
    default:
      return {};
  }
}

function decimalBounds(precision: number, scale: number): object {
  const greatest = Number(`${'9'.repeat(precision - scale) || '0'}.${'9'.repeat(scale)}`);
  return { minimum: -greatest, maximum: greatest, multipleOf: Number(`1e-${scale}`) };
}

/** A type of several (`['string', 'null']`) is what serializers and validators handle fastest; a union has to be tried. */
function schemaOf(schema: { readonly type?: string; readonly [keyword: string]: unknown }, nullable: boolean): TSchema {
  if (!nullable) return Type.Unsafe(schema);
  const { enum: values } = schema as { enum?: readonly unknown[] };
  return Type.Unsafe({
    ...schema,
    ...(schema.type !== undefined && { type: [schema.type, 'null'] }),
    ...(values !== undefined && { enum: [...values, null] }),
  });
}
