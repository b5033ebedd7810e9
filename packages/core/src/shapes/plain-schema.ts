import type { TSchema } from 'typebox';
import { ImproperlyConfigured } from '../errors.ts';
import { DANGEROUS_NAMES } from './copy-input.ts';
import type { JsonSchema } from './json-schema.ts';
import { LIST_OF_SCHEMAS, MAP_OF_SCHEMAS, ONE_SCHEMA, OPENNESS } from './schema-keywords.ts';
import { simplifyUnion } from './simplify-union.ts';

/**
 * A TypeBox schema as the plain JSON Schema that validation runs on: patterns as text, refinements as a keyword, unions
 * that need no trial (`string | null`, a choice of literals) as a single schema. The schema itself where it is one already.
 *
 * @throws ImproperlyConfigured for what JSON cannot carry or validation would have to leave out
 */
export function plainSchema(schema: TSchema | boolean): JsonSchema {
  if (typeof schema === 'boolean') return schema ? {} : { not: {} };
  const { '~refine': refine, '~codec': codec } = schema as { '~refine'?: unknown; '~codec'?: unknown };
  if (codec !== undefined) {
    throw new ImproperlyConfigured(
      'Type.Codec, Type.Decode and Type.Encode do not work in a shape: convert in a hook of the view',
    );
  }
  const plain = changed(withTuple(schema), plainKeyword) as JsonSchema;
  return simplifyUnion(refine === undefined ? plain : { ...plain, refine });
}

/** A copy with other values, without those that become undefined; the object itself where nothing changes. */
function changed<Value, Changed>(
  values: Readonly<Record<string, Value>>,
  change: (name: string, value: Value) => Changed | undefined,
): Record<string, Changed> {
  let copy: Record<string, Value | Changed> | undefined;
  for (const name of Object.keys(values)) {
    const value = change(name, values[name]!);
    if (value !== undefined && Object.is(value, values[name])) continue;
    copy ??= { ...values };
    if (value === undefined) delete copy[name];
    else copy[name] = value;
  }
  return (copy ?? values) as Record<string, Changed>;
}

function plainKeyword(keyword: string, value: unknown): unknown {
  if (keyword.startsWith('x-')) return undefined;
  if (OPENNESS.has(keyword)) return plainOpenness(value as TSchema | boolean);
  if (LIST_OF_SCHEMAS.has(keyword) && Array.isArray(value)) return value.map((item) => plainSchema(item as TSchema));
  if (ONE_SCHEMA.has(keyword)) return plainSchema(value as TSchema | boolean);
  if (MAP_OF_SCHEMAS.has(keyword)) return plainMap(value as Record<string, TSchema>);
  if (keyword === 'pattern' && value instanceof RegExp) return value.source;
  if (typeof value === 'bigint') return Number(value);
  return value;
}

function plainMap(schemas: Readonly<Record<string, TSchema | boolean>>): Record<string, JsonSchema> {
  return changed(schemas, (name, schema) => {
    if (DANGEROUS_NAMES.has(name)) {
      throw new ImproperlyConfigured(
        `A schema may not declare a property named "${name}": it is dropped from every request`,
      );
    }
    return plainSchema(schema);
  });
}

/** The tuple of draft 2020 in the words of draft 2019, which TypeBox writes. */
function withTuple(schema: TSchema): Readonly<Record<string, unknown>> {
  if (!('prefixItems' in schema)) return schema as Readonly<Record<string, unknown>>;
  const { prefixItems, items, ...rest } = schema as { prefixItems?: unknown; items?: unknown };
  return { ...rest, items: prefixItems, ...(items !== undefined && { additionalItems: items }) };
}

function plainOpenness(value: TSchema | boolean): JsonSchema | true | undefined {
  if (value === false) return undefined;
  return value === true ? true : plainSchema(value);
}
