import type { JsonSchema } from './json-schema.ts';
import type { ResolveRef } from './schema-refs.ts';

/** Gives back what a schema knows of a valid value. */
export type Prune = (value: unknown) => unknown;

interface Context {
  readonly resolveRef: ResolveRef;
  /** Whether a value is valid by a member of a union (or by an `if`). */
  readonly accepts: (schema: JsonSchema, value: unknown) => boolean;
  readonly compiled: Map<JsonSchema, Prune>;
}

const COMBINATORS = ['$ref', 'allOf', 'anyOf', 'oneOf', 'if', 'dependentSchemas'];
const same: Prune = (value) => value;

/**
 * Compiles a function that drops, at every depth of a value that is valid by the schema, each property that no part of
 * the schema names: a part is the schema itself, each member of an intersection, and each member of a union that the
 * value is valid by. An object whose schema names no properties at all (Type.Unknown) is kept whole, and so is what
 * `additionalProperties` asks to keep. The value itself is never changed.
 */
export function compilePrune(
  schema: JsonSchema,
  resolveRef: ResolveRef,
  accepts: (schema: JsonSchema, value: unknown) => boolean,
): Prune {
  return pruneOf(schema, { resolveRef, accepts, compiled: new Map() });
}

function pruneOf(schema: JsonSchema, context: Context): Prune {
  const known = context.compiled.get(schema);
  if (known !== undefined) return known;
  // A schema may contain itself: whoever asks meanwhile gets a function that asks again when it is called.
  context.compiled.set(schema, (value) => pruneOf(schema, context)(value));
  const prune = compile(schema, context);
  context.compiled.set(schema, prune);
  return prune;
}

function compile(schema: JsonSchema, context: Context): Prune {
  const combined = COMBINATORS.some((keyword) => keyword in schema);
  const open = schema.patternProperties !== undefined || schema.additionalProperties !== undefined;
  if (combined || open || Array.isArray(schema.items)) return (value) => pruneBy([schema], value, context);
  if (schema.properties === undefined && schema.items === undefined) return same;
  return compileSimple(schema, context);
}

/** The ordinary case, without anything to be found out from the value. */
function compileSimple(schema: JsonSchema, context: Context): Prune {
  const properties = Object.entries(schema.properties ?? {}).map(
    ([name, child]) => [name, pruneOf(child, context)] as const,
  );
  const prunesItem = schema.items === undefined ? same : pruneOf(schema.items as JsonSchema, context);
  return (value) => {
    if (isList(value)) return prunesItem === same ? value : value.map((item) => prunesItem(item));
    if (!isObject(value) || schema.properties === undefined) return value;
    const kept: Record<string, unknown> = {};
    for (const [name, prune] of properties) {
      if (Object.hasOwn(value, name)) kept[name] = prune(value[name]);
    }
    return kept;
  };
}

function pruneBy(schemas: readonly JsonSchema[], value: unknown, context: Context): unknown {
  if (schemas.length === 0 || typeof value !== 'object' || value === null) return value;
  const parts = schemas.flatMap((schema) => partsFor(schema, value, context));
  if (Array.isArray(value)) {
    return value.map((item, index) =>
      pruneNext(
        parts.flatMap((part) => itemSchemas(part, index)),
        item,
        context,
      ),
    );
  }
  const closing = parts.filter((part) => part.properties ?? part.patternProperties ?? part.additionalProperties);
  if (closing.length === 0) return value;
  const kept: Record<string, unknown> = {};
  for (const [name, child] of Object.entries(value)) {
    const knowing = closing.map((part) => propertySchemas(part, name)).filter((found) => found !== undefined);
    if (knowing.length > 0) kept[name] = pruneNext(knowing.flat(), child, context);
  }
  return kept;
}

function pruneNext(schemas: readonly JsonSchema[], value: unknown, context: Context): unknown {
  const [only] = schemas;
  return schemas.length === 1 && only !== undefined ? pruneOf(only, context)(value) : pruneBy(schemas, value, context);
}

/** The schemas without combinators that a value is subject to. */
function partsFor(schema: JsonSchema, value: object, context: Context): JsonSchema[] {
  const parts = [schema];
  const add = (part: JsonSchema | undefined): void => {
    if (part !== undefined) parts.push(...partsFor(part, value, context));
  };
  if (schema.$ref !== undefined) add(context.resolveRef(schema.$ref));
  for (const part of schema.allOf ?? []) add(part);
  for (const member of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) {
    if (context.accepts(member, value)) add(member);
  }
  if (schema['if'] !== undefined) {
    const holds = context.accepts(schema['if'] as JsonSchema, value);
    if (holds) add(schema['if'] as JsonSchema);
    add(schema[holds ? 'then' : 'else'] as JsonSchema | undefined);
  }
  for (const [name, dependent] of Object.entries((schema['dependentSchemas'] ?? {}) as Record<string, JsonSchema>)) {
    if (Object.hasOwn(value, name)) add(dependent);
  }
  return parts;
}

/** What a schema says of a property: undefined where it does not know it, nothing where it takes it as it is. */
function propertySchemas(part: JsonSchema, name: string): JsonSchema[] | undefined {
  const found = patternsOf(part)
    .filter(({ pattern }) => pattern.test(name))
    .map(({ child }) => child);
  const named =
    part.properties !== undefined && Object.hasOwn(part.properties, name) ? part.properties[name] : undefined;
  if (named !== undefined) found.push(named);
  if (found.length > 0) return found;
  const { additionalProperties: rest } = part;
  if (rest === undefined || rest === false) return undefined;
  return rest === true ? [] : [rest];
}

const patterns = new WeakMap<JsonSchema, { pattern: RegExp; child: JsonSchema }[]>();

function patternsOf(part: JsonSchema): { pattern: RegExp; child: JsonSchema }[] {
  let found = patterns.get(part);
  if (found === undefined) {
    found = Object.entries(part.patternProperties ?? {}).map(([text, child]) => ({
      pattern: new RegExp(text, 'u'),
      child,
    }));
    patterns.set(part, found);
  }
  return found;
}

function itemSchemas(part: JsonSchema, index: number): JsonSchema[] {
  const { items } = part;
  if (items === undefined) return [];
  if (!Array.isArray(items)) return [items as JsonSchema];
  const item = (items[index] ?? part['additionalItems']) as JsonSchema | boolean | undefined;
  return typeof item === 'object' ? [item] : [];
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
