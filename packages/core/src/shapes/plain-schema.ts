import type { TSchema } from 'typebox';
import { ImproperlyConfigured } from '../errors.ts';
import { ANNOTATIONS, type JsonSchema } from './json-schema.ts';
import { isUnsafeName } from './scan-input.ts';

/** The keyword that a refinement becomes, under a name that no schema has by itself. */
export const REFINE = 'viewset:refine';

const ONE_SCHEMA: ReadonlySet<string> = new Set([
  'additionalItems',
  'contains',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
]);
const LIST_OF_SCHEMAS: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'items', 'oneOf']);
const MAP_OF_SCHEMAS: ReadonlySet<string> = new Set([
  '$defs',
  'definitions',
  'dependentSchemas',
  'patternProperties',
  'properties',
]);
/** Closed or open, an object keeps what its schema names: what is unknown is dropped, never refused. */
const OPENNESS: ReadonlySet<string> = new Set(['additionalProperties', 'unevaluatedProperties']);

/**
 * Copies a TypeBox schema as the plain JSON Schema that validation runs on: patterns as text, refinements as a keyword,
 * unions that need no trial (`string | null`, a choice of literals) as a single schema. The copy goes to every depth, so
 * that a change to the schema, by a hook of the application or by its maker, changes no validator.
 *
 * @throws ImproperlyConfigured for what JSON cannot carry or validation would have to leave out
 */
export function plainSchema(schema: TSchema | boolean): JsonSchema {
  if (typeof schema === 'boolean') return schema ? {} : { not: {} };
  const plain: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(withTuple(schema))) {
    if (keyword.startsWith('x-')) continue;
    const copied = plainKeyword(keyword, value);
    if (copied !== undefined) plain[keyword] = copied;
  }
  const { '~refine': refine, '~codec': codec } = schema as { '~refine'?: unknown; '~codec'?: unknown };
  if (refine !== undefined) plain[REFINE] = refine;
  if (codec !== undefined) {
    throw new ImproperlyConfigured(
      'Type.Codec, Type.Decode and Type.Encode do not work in a shape: convert in a hook of the view',
    );
  }
  return simplifyUnion(withNull(plain));
}

function plainKeyword(keyword: string, value: unknown): unknown {
  if (OPENNESS.has(keyword)) return plainOpenness(value as TSchema | boolean);
  if (LIST_OF_SCHEMAS.has(keyword) && Array.isArray(value)) return value.map((item) => plainSchema(item as TSchema));
  if (ONE_SCHEMA.has(keyword)) return plainSchema(value as TSchema | boolean);
  if (MAP_OF_SCHEMAS.has(keyword)) return plainMap(value as Record<string, TSchema>);
  if (keyword === 'pattern' && value instanceof RegExp) return value.source;
  if (typeof value === 'bigint') return Number(value);
  return value;
}

function plainMap(schemas: Readonly<Record<string, TSchema | boolean>>): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => {
      if (isUnsafeName(name)) {
        throw new ImproperlyConfigured(
          `A schema may not declare a property named "${name}": it is dropped from every request`,
        );
      }
      return [name, plainSchema(schema)];
    }),
  );
}

/** Writes the tuple of draft 2020 as draft 2019, TypeBox's own, has it. */
function withTuple(schema: TSchema): object {
  if ((schema as { prefixItems?: unknown }).prefixItems === undefined) return schema;
  const { prefixItems, items, ...rest } = schema as { prefixItems?: unknown; items?: unknown };
  return { ...rest, items: prefixItems, ...(items !== undefined && { additionalItems: items }) };
}

/** Writes OpenAPI's `nullable` as JSON Schema has it. */
function withNull({ nullable, ...schema }: JsonSchema): JsonSchema {
  if (nullable !== true || schema.type === undefined) return schema;
  return { ...schema, type: [...new Set([schema.type, 'null'].flat())] };
}

function plainOpenness(value: TSchema | boolean): JsonSchema | true | undefined {
  if (value === false) return undefined;
  return value === true ? true : plainSchema(value);
}

/** Keywords that speak of values of one type only, and leave those of every other type alone. */
const OF_TYPE: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  boolean: [],
  null: [],
  array: ['items', 'additionalItems', 'minItems', 'maxItems', 'uniqueItems', 'contains', 'minContains', 'maxContains'],
  object: [
    'properties',
    'patternProperties',
    'additionalProperties',
    'required',
    'minProperties',
    'maxProperties',
    'propertyNames',
  ],
};

/**
 * Writes a union as one schema if its members cannot be mistaken for each other: literals as an `enum`, members of
 * different types as one schema of several types. The same values are valid; the errors are plain, and no member has to
 * be tried. Any other union comes back as it is.
 */
export function simplifyUnion(schema: JsonSchema): JsonSchema {
  if (schema.anyOf === undefined) return schema;
  const { anyOf, ...siblings } = schema;
  if (!Object.keys(siblings).every((keyword) => ANNOTATIONS.has(keyword))) return schema;
  const merged = asEnum(anyOf) ?? asTypes(anyOf);
  return merged === undefined ? schema : { ...merged, ...siblings };
}

function asEnum(members: readonly JsonSchema[]): JsonSchema | undefined {
  const values = members.map(literals);
  return values.every((some) => some !== undefined) ? { enum: [...new Set(values.flat())] } : undefined;
}

function literals(member: JsonSchema): readonly unknown[] | undefined {
  const keywords = Object.keys(member).filter((keyword) => keyword !== 'type' && !ANNOTATIONS.has(keyword));
  if (keywords.length === 0) return member.type === 'null' ? [null] : undefined;
  if (keywords.length > 1) return undefined;
  if (keywords[0] === 'const') return [member['const']];
  return keywords[0] === 'enum' ? member.enum : undefined;
}

function asTypes(members: readonly JsonSchema[]): JsonSchema | undefined {
  const types: string[] = [];
  const merged: Record<string, unknown> = {};
  for (const member of members) {
    const { type, ...rest } = member;
    if (typeof type !== 'string') return undefined;
    const speaks = OF_TYPE[type] ?? [];
    const constraints = Object.entries(rest).filter(([keyword]) => !ANNOTATIONS.has(keyword));
    if (!constraints.every(([keyword]) => speaks.includes(keyword))) return undefined;
    types.push(type);
    Object.assign(merged, Object.fromEntries(constraints));
  }
  const numbers = types.filter((type) => type === 'number' || type === 'integer').length;
  if (new Set(types).size < types.length || numbers > 1) return undefined;
  return { type: types, ...merged };
}
