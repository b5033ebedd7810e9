import type { TSchema } from 'typebox';
import { CompiledSchema } from './compiled-schema.ts';
import { type Place, invalidInput } from './error-details.ts';
import { type JsonSchema, type ResolveRef, namedTypes } from './json-schema.ts';
import { compileKeep } from './keep-known.ts';
import { plainSchema } from './plain-schema.ts';
import { MAX_PROBLEMS, type Problem, scanInput } from './scan-input.ts';
import { isRecord } from './schema-rules.ts';

/** The value to go on with, which may only be used if there are no problems. */
export interface Inspected {
  readonly value: unknown;
  readonly problems: readonly Problem[];
}

/** Finds everything that is wrong with a value, and what of it is to be kept. */
export type Inspect = (value: unknown) => Inspected;

/**
 * Compiles a validator of one part of a request. It gives back a new value, and never changes the one it is given:
 * properties that the schema does not name are dropped at every depth, and so is `__proto__`; the defaults that the schema
 * declares are filled in, but not inside unions, conditions and references. In a body nothing is coerced; in a query string or
 * path, texts become the integers, numbers, booleans and arrays that the schema asks for, and an empty query parameter
 * counts as absent. Lengths count Unicode code points, `multipleOf` is judged in decimal arithmetic.
 *
 * The validator throws InvalidUsage with a detail for every offending field (at most 50).
 *
 * @throws ImproperlyConfigured for a schema that cannot be compiled (an unknown keyword, format or reference)
 * @example
 * const validate = compileValidator(Type.Object({ price: Type.Number({ exclusiveMinimum: 0 }) }), 'body');
 * validate({ price: 12, id: 7 });   // { price: 12 }
 * validate({ price: 0 });           // InvalidUsage: Invalid body: price must be > 0
 */
export function compileValidator(schema: TSchema, where: Place): (value: unknown) => unknown {
  const inspect = compileInspect(schema, where);
  return (input) => {
    const { value, problems } = inspect(input);
    if (problems.length > 0) throw invalidInput(where, problems);
    return value;
  };
}

/** Compiles as compileValidator does, for those who have more to say of the value before they throw. */
export function compileInspect(schema: TSchema, where: Place): Inspect {
  const plain = plainSchema(schema);
  const compiled = new CompiledSchema(plain, where);
  const keep = compileKeep(plain, compiled);
  const inspect: Inspect = (value) => {
    const { problems: found, size, isTooDeep } = scanInput(value);
    if (isTooDeep) return { value, problems: found };
    const invalid = compiled.problems(value, size);
    if (found.length === 0 && invalid.length === 0) return { value: keep(value), problems: [] };
    return { value, problems: merged(found, invalid) };
  };
  return (input) => {
    try {
      return inspect(where === 'body' ? input : readTexts(input, plain, where, compiled.resolveRef));
    } finally {
      compiled.forget();
    }
  };
}

/** Makes of the texts of a query string or a path what their schema asks for. */
function readTexts(input: unknown, schema: JsonSchema, where: Place, resolveRef: ResolveRef): unknown {
  if (!isRecord(input)) return input;
  const values = { ...input };
  if (where === 'query') dropEmpty(values);
  coerceTexts(schema, values, resolveRef);
  return values;
}

/** Leaves out what a schema says of a text that is wrong as a text already. */
function merged(found: readonly Problem[], invalid: readonly Problem[]): Problem[] {
  const paths = new Set(found.map(({ path }) => path));
  return [...found, ...invalid.filter(({ path }) => !paths.has(path))].slice(0, MAX_PROBLEMS);
}

function dropEmpty(values: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(values)) {
    if (value === '') delete values[name];
    if (Array.isArray(value)) values[name] = value.filter((text) => text !== '');
  }
}

const INTEGER = /^(?:0|-?[1-9]\d*)$/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

/**
 * Makes of the texts of a query string or a path what their schema asks for: `12` an integer (only its canonical form:
 * neither `012` nor `1e1` nor ` 12`), `true` and `false` a boolean, one or several values an array. A text that fits
 * nothing, and null, stay as they are, for validation to refuse.
 */
export function coerceTexts(schema: JsonSchema, values: Record<string, unknown>, resolveRef: ResolveRef): void {
  for (const part of [schema, ...(schema.allOf ?? [])]) {
    for (const [name, child] of Object.entries(part.properties ?? {})) {
      if (Object.hasOwn(values, name)) values[name] = coerce(child, values[name], resolveRef);
    }
  }
}

function coerce(schema: JsonSchema, value: unknown, resolveRef: ResolveRef): unknown {
  if (schema.$ref !== undefined) return coerce(resolveRef(schema.$ref), value, resolveRef);
  const types = namedTypes(schema);
  if (types.includes('array')) {
    const items = Array.isArray(schema.items) ? {} : ((schema.items ?? {}) as JsonSchema);
    return (Array.isArray(value) ? value : [value]).map((item) => coerce(items, item, resolveRef));
  }
  if (typeof value !== 'string') return value;
  for (const member of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]) {
    const coerced = coerce(member, value, resolveRef);
    if (coerced !== value) return coerced;
  }
  return scalar(schema, types, value);
}

function scalar(schema: JsonSchema, types: readonly string[], text: string): unknown {
  const choices = 'const' in schema ? [schema['const']] : schema.enum;
  if (choices !== undefined) {
    const chosen = choices.find((choice) => isScalar(choice) && String(choice) === text);
    return chosen === undefined ? text : chosen;
  }
  if (types.includes('boolean') && BOOLEANS.has(text)) return BOOLEANS.get(text);
  if (types.includes('integer') && INTEGER.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  if (types.includes('number') && NUMBER.test(text) && Number.isFinite(Number(text))) return Number(text);
  return text;
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
