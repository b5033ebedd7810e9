import { ImproperlyConfigured } from '../errors/errors.ts';
import { type JsonSchema, namedTypes, namedValues } from '../schema/json-schema.ts';
import { FIELD_KINDS } from '../fields/field-kinds.ts';
import type { ShapeField } from './shape-field.ts';
import { wireType } from './wire-format.ts';
import { type TSchema, Type } from 'typebox';

/** Lists the JSON types that a schema allows; undefined if the schema does not limit them. */
function jsonTypes(given: TSchema | boolean): readonly string[] | undefined {
  if (typeof given === 'boolean') return undefined;
  const schema = given as JsonSchema;
  const stated = namedValues(schema)?.map(typeOfJson) ?? namedTypes(schema);
  const members = (schema.anyOf ?? schema.oneOf)?.map(jsonTypes) ?? [];
  const ofMembers = members.includes(undefined) ? [] : members.flatMap((types) => types ?? []);
  const said = [stated, ofMembers, ...(schema.allOf ?? []).map((part) => jsonTypes(part) ?? [])];
  const [first, ...others] = said.filter((types) => types.length > 0);
  return first && others.reduce((some, more) => some.filter((type) => includesType(more, type)), [...new Set(first)]);
}

/** Keywords that may reject null, whatever types are allowed. */
const CHECKS_NULL = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'enum', 'const', '$ref', '~refine'];

/** Makes a schema allow null. Avoids a union if it can, because a serializer must try its members. */
export function withNull(schema: TSchema): TSchema {
  const allowed = jsonTypes(schema);
  const isPlain = CHECKS_NULL.every((keyword) => !(keyword in schema));
  if (allowed?.includes('null') ?? isPlain) return schema;
  if (!isPlain || allowed === undefined) return Type.Union([schema, Type.Null()]);
  return { ...schema, type: [...allowed, 'null'] };
}

/** Every integer is a number. */
function includesType(types: readonly string[], type: string): boolean {
  return types.includes(type) || (type === 'integer' && types.includes('number'));
}

function typeOfJson(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

/** The JSON types that a column's value may have; undefined for any. */
function acceptedTypes(field: ShapeField): readonly string[] | undefined {
  if (field.custom) return undefined;
  return field.list ? ['array'] : FIELD_KINDS[field.type.kind].acceptedTypes(field.type);
}

/** @throws ImproperlyConfigured if a column's values do not fit the schema of a response */
export function checkReadable(owner: string, field: ShapeField, schema: TSchema): void {
  const allowed = jsonTypes(schema);
  const { type } = wireType(field);
  if (allowed === undefined) return;
  if (type !== undefined && !includesType(allowed, type)) {
    throw new ImproperlyConfigured(
      `${owner}: "${field.name}" is ${article(type)} in JSON, but its schema says ${allowed.join(' | ')}`,
    );
  }
  checkNullable(owner, field, schema);
}

/**
 * Checks that the schema allows null if null may come. Otherwise each response with a null would fail.
 *
 * @throws ImproperlyConfigured if a value or a related record may be missing and its schema does not allow null
 */
export function checkNullable(
  owner: string,
  { name, nullable, isNullAssumed }: Pick<ShapeField, 'name' | 'nullable' | 'isNullAssumed'>,
  schema: TSchema,
): void {
  const allowed = jsonTypes(schema) ?? [];
  if (!nullable || isNullAssumed || allowed.includes('null')) return;
  throw new ImproperlyConfigured(
    `${owner}: "${name}" may be null, but its schema says ${allowed.join(' | ')}; make it a Type.Union with Type.Null()`,
  );
}

/** @throws ImproperlyConfigured if no value that a body's schema allows fits the column */
export function checkWritable(owner: string, field: ShapeField, schema: TSchema): void {
  const allowed = jsonTypes(schema);
  const accepted = acceptedTypes(field);
  if (allowed === undefined || accepted === undefined) return;
  const fits = accepted.some((type) =>
    allowed.some((other) => includesType([type], other) || includesType(allowed, type)),
  );
  if (fits) return;
  const hint =
    field.target === undefined
      ? ''
      : `; to refer by another field, write { ${field.name}: '${field.name}.<field>' } in writeShape()`;
  throw new ImproperlyConfigured(
    `${owner}: "${field.name}" must be ${accepted.map(article).join(' or ')} in JSON, but its schema says ${allowed.join(' | ')}${hint}`,
  );
}

function article(type: string): string {
  return `${/^[aio]/.test(type) ? 'an' : 'a'} ${type}`;
}
