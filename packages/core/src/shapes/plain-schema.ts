import type { TSchema } from 'typebox';
import { ImproperlyConfigured } from '../errors.ts';
import { DANGEROUS_NAMES } from './copy-input.ts';
import type { JsonSchema } from './json-schema.ts';
import { LIST_OF_SCHEMAS, MAP_OF_SCHEMAS, ONE_SCHEMA, OPENNESS, REFINE } from './schema-keywords.ts';
import { simplifyUnion } from './simplify-union.ts';

/**
 * A TypeBox schema as the plain JSON Schema that validation runs on: patterns as text, refinements as a keyword, unions
 * that need no trial (`string | null`, a choice of literals) as a single schema. A copy at every depth: what is changed
 * of the schema later, by a hook of the application or by whoever made it, changes no validator.
 *
 * @throws ImproperlyConfigured for what JSON cannot carry or validation would have to leave out
 */
export function plainSchema(schema: TSchema | boolean): JsonSchema {
  if (typeof schema === 'boolean') return schema ? {} : { not: {} };
  const plain: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(withTuple(schema))) {
    if (keyword.startsWith('x-')) continue;
    plain[keyword] = plainKeyword(keyword, value);
    if (plain[keyword] === undefined) delete plain[keyword];
  }
  const { '~refine': refine, '~codec': codec } = schema as { '~refine'?: unknown; '~codec'?: unknown };
  if (refine !== undefined) plain[REFINE] = refine;
  if (codec !== undefined) {
    throw new ImproperlyConfigured(
      'Type.Codec, Type.Decode and Type.Encode do not work in a shape: convert in a hook of the view',
    );
  }
  return simplifyUnion(plain);
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
      if (DANGEROUS_NAMES.has(name)) {
        throw new ImproperlyConfigured(
          `A schema may not declare a property named "${name}": it is dropped from every request`,
        );
      }
      return [name, plainSchema(schema)];
    }),
  );
}

/** The tuple of draft 2020 in the words of draft 2019, which TypeBox writes. */
function withTuple(schema: TSchema): object {
  if ((schema as { prefixItems?: unknown }).prefixItems === undefined) return schema;
  const { prefixItems, items, ...rest } = schema as { prefixItems?: unknown; items?: unknown };
  return { ...rest, items: prefixItems, ...(items !== undefined && { additionalItems: items }) };
}

function plainOpenness(value: TSchema | boolean): JsonSchema | true | undefined {
  if (value === false) return undefined;
  return value === true ? true : plainSchema(value);
}
