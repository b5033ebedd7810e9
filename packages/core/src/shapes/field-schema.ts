import type { TSchema } from 'typebox';
import type { FieldType } from '../fields/field-type.ts';
import type { ShapeField } from './shape-field.ts';
import { wireType, type WireType } from './wire-type.ts';

/** The schema of a field in an answer. */
export function readSchema(field: ShapeField): TSchema {
  return schemaOf({ ...wireType(field), ...choices(field) }, field.nullable);
}

/** The schema of a field in a body, with the bounds that its column has. `blank`: whether the empty string is fine. */
export function writeSchema(field: ShapeField, blank: boolean): TSchema {
  const { type, list, custom, nullable } = field;
  if (custom) return {};
  if (list) return schemaOf({ type: 'array', items: { type: ['string', 'number'] } }, nullable);
  return schemaOf({ ...wireType(field), ...choices(field), ...bounds(type, blank) }, nullable);
}

function choices({ type, custom, list }: ShapeField): { readonly enum?: readonly unknown[] } {
  return type.kind === 'enum' && type.values !== undefined && !custom && !list ? { enum: type.values } : {};
}

function bounds(type: FieldType, blank: boolean): object {
  const { kind, mode, maxLength, minimum, maximum } = type;
  if (kind === 'string') return { ...(!blank && { minLength: 1 }), ...(maxLength !== undefined && { maxLength }) };
  if (kind === 'integer' && minimum !== undefined && maximum !== undefined) {
    return { minimum: Number(minimum), maximum: Number(maximum) };
  }
  if (kind === 'bigint') return mode === 'number' ? SAFE_INTEGERS : { pattern: '^(?:0|-?[1-9][0-9]*)$' };
  if (kind === 'decimal') return mode === 'string' ? { pattern: '^-?[0-9]+(?:\\.[0-9]+)?$' } : decimalBounds(type);
  return {};
}

const SAFE_INTEGERS = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

function decimalBounds({ precision, scale = 0 }: FieldType): object {
  if (precision === undefined) return {};
  const greatest = Number(`${'9'.repeat(Math.max(0, precision - scale)) || '0'}.${'9'.repeat(scale)}`);
  return { minimum: -greatest, maximum: greatest, multipleOf: Number(`1e-${scale}`) };
}

interface FieldSchema extends WireType {
  readonly [keyword: string]: unknown;
  readonly enum?: readonly unknown[];
}

/** A schema of several types (`['string', 'null']`) is handled at once; a union would have to be tried. */
function schemaOf(schema: FieldSchema, nullable: boolean): TSchema {
  if (!nullable) return schema;
  const { type, enum: values } = schema;
  return {
    ...schema,
    ...(type !== undefined && { type: [type, 'null'] }),
    ...(values !== undefined && { enum: [...values, null] }),
  };
}
