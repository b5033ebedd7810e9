import {
  ArrayType,
  BigIntType,
  BlobType,
  DecimalType,
  EnumArrayType,
  JsonType,
  ReferenceKind,
  Uint8ArrayType,
  UuidType,
  types,
  type EntityMetadata,
  type EntityProperty,
  type Type,
} from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';

/** The kind of value that a field holds: it decides which lookups fit, and how a text is read. */
export type FieldKind =
  | 'string'
  | 'integer'
  | 'bigint'
  | 'number'
  | 'decimal'
  | 'boolean'
  | 'datetime'
  | 'date'
  | 'time'
  | 'uuid'
  | 'json'
  | 'binary'
  | 'enum';

/** The type of a field as its entity declares it, with the bounds that the database column has. */
export interface FieldType {
  readonly kind: FieldKind;
  /** Unicode code points, of a string. */
  readonly maxLength?: number;
  /** The least value of an integer or bigint. */
  readonly minimum?: number | bigint;
  /** The greatest value of an integer or bigint. */
  readonly maximum?: number | bigint;
  /** Digits in all, of a decimal. */
  readonly precision?: number;
  /** Digits after the point, of a decimal. */
  readonly scale?: number;
  /** The values of an enum. */
  readonly values?: readonly (string | number)[];
  /** The JavaScript type of a bigint or decimal, as the entity declares it. */
  readonly mode?: 'bigint' | 'number' | 'string';
}

const known = new WeakMap<EntityProperty, FieldType>();

/**
 * The type of a property; of a relation, that of the key it refers to. Integers are taken for 32 bits wide unless they
 * are declared smaller or bigger, and strings without a length for 255 characters, on every database: what is valid
 * does not depend on where it is stored.
 * @throws ImproperlyConfigured for what is no column: an embeddable kept inline, a polymorphic relation
 */
export function fieldType(property: EntityProperty): FieldType {
  let type = known.get(property);
  if (type === undefined) {
    type = Object.freeze(resolve(property));
    known.set(property, type);
  }
  return type;
}

/** The property whose values a property holds: of a to-one relation, the key that it refers to; else itself. */
export function valueProperty(property: EntityProperty): EntityProperty {
  return isReference(property) ? valueProperty(referredKey(property)) : property;
}

/** The property at the other end of a to-one relation that its foreign key repeats. */
export function referredKey(property: EntityProperty): EntityProperty {
  const target = property.targetMeta as EntityMetadata;
  const name = property.targetKey ?? (target.compositePK || property.polymorphic ? undefined : target.primaryKeys[0]);
  const key = name === undefined ? undefined : (target.properties[name] as EntityProperty | undefined);
  if (key !== undefined) return key;
  throw new ImproperlyConfigured(
    `"${property.name}" refers to ${target.className} by ${property.polymorphic ? 'a polymorphic' : 'a composite'} key, ` +
      'which has no single value; name a field of the related entity instead',
  );
}

/** True of relations, to one or to many. */
export function isReference(property: EntityProperty): boolean {
  return property.targetMeta !== undefined && property.kind !== ReferenceKind.EMBEDDED;
}

/** The type that the application wrote for a property; undefined if it is one of MikroORM's own, or none. */
export function customTypeOf(property: EntityProperty): Type<unknown> | undefined {
  const type = valueProperty(property).customType;
  return type === undefined || BUILT_IN.has(type.constructor) ? undefined : type;
}

const BUILT_IN: ReadonlySet<unknown> = new Set(Object.values(types));

function resolve(property: EntityProperty): FieldType {
  if (property.kind === ReferenceKind.EMBEDDED && !property.object) {
    throw new ImproperlyConfigured(`"${property.name}" is an embeddable of several columns; name one of its fields`);
  }
  const own = valueProperty(property);
  if (own.array || isOneOf(own.customType, [ArrayType, EnumArrayType, JsonType])) return { kind: 'json' };
  if (own.enum && own.items !== undefined) return { kind: 'enum', values: own.items };
  if (isOneOf(own.customType, [UuidType])) return { kind: 'uuid' };
  if (isOneOf(own.customType, [BlobType, Uint8ArrayType])) return { kind: 'binary' };
  if (own.runtimeType === 'boolean') return { kind: 'boolean' };
  if (own.runtimeType === 'Date') return { kind: 'datetime' };
  return ofColumn(own);
}

/** `numeric(10,2)` → numeric; `timestamp with time zone` → timestamp. */
function columnName(property: EntityProperty): string {
  return /^[a-z0-9]+/.exec(property.columnTypes[0]?.toLowerCase() ?? '')?.[0] ?? '';
}

function ofColumn(property: EntityProperty): FieldType {
  switch (columnName(property)) {
    case 'smallint':
    case 'int2':
    case 'tinyint':
    case 'smallserial':
      return integer(16);
    case 'int':
    case 'int4':
    case 'integer':
    case 'mediumint':
    case 'serial':
      return integer(/^(small|tiny)int$/.test(String(property.type)) ? 16 : 32);
    case 'bigint':
    case 'int8':
    case 'bigserial':
      return { kind: 'bigint', minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n, mode: bigintMode(property) };
    case 'numeric':
    case 'decimal':
      return decimal(property);
    case 'real':
    case 'float':
    case 'float4':
    case 'float8':
    case 'double':
      return { kind: 'number' };
    case 'bool':
    case 'boolean':
      return { kind: 'boolean' };
    case 'datetime':
    case 'timestamp':
    case 'timestamptz':
      return { kind: 'datetime' };
    case 'date':
      return { kind: 'date' };
    case 'time':
    case 'timetz':
      return { kind: 'time' };
    case 'uuid':
      return { kind: 'uuid' };
    case 'bytea':
    case 'blob':
      return { kind: 'binary' };
    case 'json':
    case 'jsonb':
    case 'interval':
    case 'tsvector':
      return { kind: 'json' };
    default:
      return property.runtimeType === 'number' ? { kind: 'number' } : string(property);
  }
}

function integer(bits: 16 | 32): FieldType {
  return { kind: 'integer', minimum: -(2 ** (bits - 1)), maximum: 2 ** (bits - 1) - 1 };
}

function bigintMode(property: EntityProperty): 'bigint' | 'number' | 'string' {
  const { customType } = property as { readonly customType?: unknown };
  const mode: unknown = customType instanceof BigIntType ? customType.mode : property.runtimeType;
  return mode === 'number' || mode === 'string' ? mode : 'bigint';
}

function decimal(property: EntityProperty): FieldType {
  const { customType } = property as { readonly customType?: unknown };
  const mode: unknown = customType instanceof DecimalType ? (customType.mode ?? property.runtimeType) : 'number';
  // numeric without a precision is MikroORM's numeric(10,0).
  const declared = /\((\d+)(?:,\s*(\d+))?\)/.exec(property.columnTypes[0] ?? '');
  return {
    kind: 'decimal',
    mode: mode === 'number' ? 'number' : 'string',
    ...(declared && { precision: Number(declared[1]), scale: Number(declared[2] ?? 0) }),
  };
}

function string(property: EntityProperty): FieldType {
  const declared = /char[a-z ]*\((\d+)\)/.exec(property.columnTypes[0]?.toLowerCase() ?? '')?.[1];
  const length = property.length ?? (declared === undefined ? undefined : Number(declared));
  const maxLength = length ?? (property.type === 'string' && columnName(property) === 'text' ? 255 : undefined);
  return maxLength === undefined || maxLength < 0 ? { kind: 'string' } : { kind: 'string', maxLength };
}

function isOneOf(type: unknown, classes: readonly (abstract new (...inputs: never[]) => unknown)[]): boolean {
  return classes.some((candidate) => type instanceof candidate);
}
