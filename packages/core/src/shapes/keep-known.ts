import type { JsonSchema } from './json-schema.ts';
import { isUnsafeName } from './scan-input.ts';

/** Copies what a schema knows of a valid value. */
export type Keep = (value: unknown) => unknown;

/** A compiled schema, as far as the copying asks it. */
interface Compiled {
  readonly resolveRef: (ref: string) => JsonSchema;
  /** Tells if a value is valid by a member of a union (or by an `if`). */
  accepts(schema: JsonSchema, value: unknown): boolean;
  /** Tells if absent properties of a schema are filled in by their defaults. */
  fillsIn(schema: JsonSchema): boolean;
}

const COMBINATORS = ['$ref', 'allOf', 'anyOf', 'oneOf', 'if', 'dependentSchemas'];

/**
 * Compiles the copying of a value that is valid by a schema. At every depth a property that no part of the schema names
 * is left out: a part is the schema itself, each member of an intersection, and each member of a union that the value is
 * valid by. An object whose schema names no properties at all (Type.Unknown) is kept whole, and so is what
 * `additionalProperties` asks to keep. Absent properties get their defaults. The copy shares nothing with the value.
 */
export function compileKeep(schema: JsonSchema, compiled: Compiled): Keep {
  return new Keeping(compiled).by(schema);
}

/** The copying by one schema and all that it contains. */
class Keeping {
  readonly #compiled: Compiled;
  readonly #known = new Map<JsonSchema, Keep>();
  readonly #patterns = new WeakMap<JsonSchema, readonly (readonly [RegExp, JsonSchema])[]>();

  constructor(compiled: Compiled) {
    this.#compiled = compiled;
  }

  by(schema: JsonSchema): Keep {
    const known = this.#known.get(schema);
    if (known !== undefined) return known;
    // A schema may contain itself: whoever asks meanwhile gets a function that asks again when it is called.
    this.#known.set(schema, (value) => this.by(schema)(value));
    const keep = this.#compile(schema);
    this.#known.set(schema, keep);
    return keep;
  }

  #compile(schema: JsonSchema): Keep {
    const isCombined = COMBINATORS.some((keyword) => keyword in schema);
    const isOpen = schema.patternProperties !== undefined || schema.additionalProperties !== undefined;
    if (isCombined || isOpen || Array.isArray(schema.items)) return (value) => this.#keepBy([schema], value);
    if (schema.properties === undefined && schema.items === undefined) return copyWhole;
    const keep = this.#compileSimple(schema);
    const fill = this.#filling(schema);
    return fill === undefined ? keep : (value) => fill(keep(value));
  }

  /** The ordinary case, without anything to be found out from the value. */
  #compileSimple(schema: JsonSchema): Keep {
    const properties = Object.entries(schema.properties ?? {}).map(([name, child]) => [name, this.by(child)] as const);
    const keepItem = schema.items === undefined ? copyWhole : this.by(schema.items as JsonSchema);
    return (value) => {
      if (isList(value)) return value.map((item) => keepItem(item));
      if (!isObject(value) || schema.properties === undefined) return copyWhole(value);
      const kept: Record<string, unknown> = {};
      for (const [name, keep] of properties) if (Object.hasOwn(value, name)) kept[name] = keep(value[name]);
      return kept;
    };
  }

  /** Puts the defaults of absent properties into a copy; undefined if there are none. */
  #filling(schema: JsonSchema): Keep | undefined {
    if (!this.#compiled.fillsIn(schema)) return undefined;
    const defaults = Object.entries(schema.properties ?? {})
      .filter(([, child]) => child['default'] !== undefined)
      .map(([name, child]) => [name, child['default'], this.by(child)] as const);
    if (defaults.length === 0) return undefined;
    return (kept) => {
      if (!isObject(kept) || isList(kept)) return kept;
      const filled: Record<string, unknown> = kept;
      for (const [name, value, keep] of defaults) if (!Object.hasOwn(filled, name)) filled[name] = keep(value);
      return filled;
    };
  }

  #keepBy(schemas: readonly JsonSchema[], value: unknown): unknown {
    if (schemas.length === 0 || typeof value !== 'object' || value === null) return copyWhole(value);
    const parts = [...new Set(schemas.flatMap((schema) => this.#partsFor(schema, value)))];
    if (isList(value)) {
      return value.map((item, index) =>
        this.#keepNext(
          parts.flatMap((part) => itemSchemas(part, index)),
          item,
        ),
      );
    }
    const closing = parts.filter((part) => part.properties ?? part.patternProperties ?? part.additionalProperties);
    if (closing.length === 0) return copyWhole(value);
    const kept: Record<string, unknown> = {};
    for (const [name, child] of Object.entries(value)) {
      if (isUnsafeName(name)) continue;
      const knowing = closing.map((part) => this.#propertySchemas(part, name)).filter((found) => found !== undefined);
      if (knowing.length > 0) kept[name] = this.#keepNext([...new Set(knowing.flat())], child);
    }
    for (const part of parts) this.#filling(part)?.(kept);
    return kept;
  }

  #keepNext(schemas: readonly JsonSchema[], value: unknown): unknown {
    const [only] = schemas;
    return schemas.length === 1 && only !== undefined ? this.by(only)(value) : this.#keepBy(schemas, value);
  }

  /** The schemas without combinators that a value is subject to. */
  #partsFor(schema: JsonSchema, value: object): JsonSchema[] {
    const parts = [schema];
    const add = (part: JsonSchema | undefined): void => {
      if (part !== undefined) parts.push(...this.#partsFor(part, value));
    };
    if (schema.$ref !== undefined) add(this.#compiled.resolveRef(schema.$ref));
    for (const part of schema.allOf ?? []) add(part);
    for (const member of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) {
      if (this.#compiled.accepts(member, value)) add(member);
    }
    if (schema.if !== undefined) {
      const holds = this.#compiled.accepts(schema.if, value);
      if (holds) add(schema.if);
      add(holds ? schema.then : schema.else);
    }
    for (const [name, dependent] of Object.entries(schema.dependentSchemas ?? {})) {
      if (Object.hasOwn(value, name)) add(dependent);
    }
    return parts;
  }

  /** Lists the schemas of a property: undefined if the property is unknown, none if it is taken as it is. */
  #propertySchemas(part: JsonSchema, name: string): JsonSchema[] | undefined {
    const found = this.#patternsOf(part)
      .filter(([pattern]) => pattern.test(name))
      .map(([, child]) => child);
    const { properties = {}, additionalProperties: rest } = part;
    if (Object.hasOwn(properties, name)) found.push(properties[name]!);
    if (found.length > 0) return found;
    if (rest === undefined || rest === false) return undefined;
    return rest === true ? [] : [rest];
  }

  #patternsOf(part: JsonSchema): readonly (readonly [RegExp, JsonSchema])[] {
    let found = this.#patterns.get(part);
    if (found === undefined) {
      const written = Object.entries(part.patternProperties ?? {});
      found = written.map(([pattern, child]) => [new RegExp(pattern, 'u'), child] as const);
      this.#patterns.set(part, found);
    }
    return found;
  }
}

/** Copies JSON with all that it holds, but for names that are unsafe. */
function copyWhole(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isList(value)) return value.map(copyWhole);
  const copied: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    if (!isUnsafeName(name)) copied[name] = copyWhole(value[name as never]);
  }
  return copied;
}

function itemSchemas(part: JsonSchema, index: number): JsonSchema[] {
  const { items } = part;
  if (items === undefined) return [];
  if (!Array.isArray(items)) return [items as JsonSchema];
  const item = (items[index] ?? part.additionalItems) as JsonSchema | undefined;
  return typeof item === 'object' ? [item] : [];
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
