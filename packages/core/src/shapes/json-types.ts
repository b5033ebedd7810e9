import { ImproperlyConfigured } from '../errors.ts';
import { type JsonSchema, namedTypes, namedValues } from './json-schema.ts';
import type { ShapeField } from './shape-field.ts';
import { wireType } from './wire-format.ts';
import type { TSchema } from 'typebox';

/** The JSON types of the values that a schema lets through; undefined if the schema does not say. */
function jsonTypes(given: TSchema | boolean): ReadonlySet<string> | undefined {
  if (typeof given === 'boolean') return undefined;
  const schema = given as JsonSchema;
  const members = schema.anyOf ?? schema.oneOf;
  const ofMembers = members === undefined ? undefined : united(members.map(jsonTypes));
  return [ownTypes(schema), ofMembers, ...(schema.allOf ?? []).map(jsonTypes)].reduce(narrowed);
}

function ownTypes(schema: JsonSchema): ReadonlySet<string> | undefined {
  const types = namedValues(schema)?.map(typeOfJson) ?? namedTypes(schema);
  return types.length === 0 ? undefined : new Set(types);
}

function united(all: readonly (ReadonlySet<string> | undefined)[]): ReadonlySet<string> | undefined {
  const some = all.filter((types) => types !== undefined);
  return some.length < all.length ? undefined : new Set(some.flatMap((types) => [...types]));
}

function narrowed(
  some: ReadonlySet<string> | undefined,
  more: ReadonlySet<string> | undefined,
): ReadonlySet<string> | undefined {
  if (some === undefined || more === undefined) return some ?? more;
  return new Set([...some].filter((type) => includesType(more, type)));
}

/** Every integer is a number. */
function includesType(types: ReadonlySet<string>, type: string): boolean {
  return types.has(type) || (type === 'integer' && types.has('number'));
}

function typeOfJson(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

/** The JSON types that a column's value may be written as; undefined for any. */
function acceptedTypes(field: ShapeField): readonly string[] | undefined {
  const { kind, mode } = field.type;
  if (!field.custom && kind === 'bigint' && mode !== 'number') return ['string', 'integer'];
  if (!field.custom && kind === 'decimal' && mode === 'string') return ['string', 'number'];
  const { type } = wireType(field);
  return type === undefined ? undefined : [type];
}

/** @throws ImproperlyConfigured where a column's values are not what the schema of an answer says */
export function checkReadable(owner: string, field: ShapeField, schema: TSchema): void {
  const allowed = jsonTypes(schema);
  const { type } = wireType(field);
  if (allowed === undefined) return;
  if (type !== undefined && !includesType(allowed, type)) {
    throw new ImproperlyConfigured(
      `${owner}: "${field.name}" is ${article(type)} in JSON, but its schema says ${[...allowed].join(' | ')}`,
    );
  }
  checkNullable(owner, field, allowed);
}

/** @throws ImproperlyConfigured where a related record may be missing and the schema of its object does not say so */
export function checkNested(owner: string, relation: Pick<ShapeField, 'name' | 'nullable'>, schema: TSchema): void {
  checkNullable(owner, relation, jsonTypes(schema) ?? new Set());
}

/** A serializer writes `""`, `0` or `{}` for a null that it was not told of. */
function checkNullable(
  owner: string,
  { name, nullable }: Pick<ShapeField, 'name' | 'nullable'>,
  allowed: ReadonlySet<string>,
): void {
  if (!nullable || allowed.has('null')) return;
  throw new ImproperlyConfigured(
    `${owner}: "${name}" may be null, but its schema says ${[...allowed].join(' | ')}; make it a Type.Union with Type.Null()`,
  );
}

/** @throws ImproperlyConfigured where nothing that the schema of a body lets through fits the column */
export function checkWritable(owner: string, field: ShapeField, schema: TSchema): void {
  const allowed = jsonTypes(schema);
  const accepted = acceptedTypes(field);
  if (allowed === undefined || accepted === undefined) return;
  const fits = accepted.some((type) =>
    [...allowed].some((other) => includesType(new Set([type]), other) || includesType(allowed, type)),
  );
  if (fits) return;
  const hint =
    field.target === undefined
      ? ''
      : `; to refer by another field, write { ${field.name}: '${field.name}.<field>' } in writeShape()`;
  throw new ImproperlyConfigured(
    `${owner}: "${field.name}" must be ${accepted.map(article).join(' or ')} in JSON, but its schema says ${[...allowed].join(' | ')}${hint}`,
  );
}

function article(type: string): string {
  return `${/^[aio]/.test(type) ? 'an' : 'a'} ${type}`;
}
