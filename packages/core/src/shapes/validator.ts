import type { TSchema } from 'typebox';
import { copyInput, MAX_PROBLEMS, type Problem } from './copy-input.ts';
import { coerceTexts } from './coerce-text.ts';
import { invalidInput, type Place } from './error-details.ts';
import { compileDefaults } from './fill-defaults.ts';
import type { JsonSchema } from './json-schema.ts';
import { plainSchema } from './plain-schema.ts';
import { compilePrune } from './prune.ts';
import { SchemaCheck } from './schema-check.ts';
import { schemaRefs } from './schema-refs.ts';
import { isSureToCompile } from './sure-schema.ts';

export interface Inspected {
  /** The value that is left to work with; only to be used where there are no problems. */
  readonly value: unknown;
  readonly problems: readonly Problem[];
}

export interface InspectOptions {
  /** Fill in the defaults that the schema declares. */
  readonly defaults: boolean;
}

/** Finds everything that is wrong with a value, and what of it is to be kept. */
export type Inspect = (value: unknown, options?: InspectOptions) => Inspected;

/**
 * Compiles a validator of one part of a request. It gives back a new value, and never changes the one it is given:
 * properties that the schema does not name are dropped at every depth, so are `__proto__`, `constructor` and
 * `prototype`; the defaults that the schema declares are filled in. In a body nothing is coerced; in a query string or
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

/**
 * As compileValidator, for those who have more to say of the value before they throw. A schema that is sure to compile is
 * compiled for the first value, so that an application of hundreds of views starts without doing so for each of them.
 */
export function compileInspect(schema: TSchema, where: Place): Inspect {
  const plain = plainSchema(schema);
  let inspect = isSureToCompile(plain) ? undefined : makeInspect(plain, where);
  return (input, options) => (inspect ??= makeInspect(plain, where))(input, options);
}

function makeInspect(plain: JsonSchema, where: Place): Inspect {
  const check = new SchemaCheck(plain, where);
  const resolveRef = schemaRefs(plain);
  const prune = compilePrune(plain, resolveRef, (part, value) => check.accepts(part, value));
  const fillDefaults = compileDefaults(plain);
  const isText = where !== 'body';
  return (input, options) => {
    const { value, problems: found, size } = copyInput(input);
    if (isText && isRecord(value)) {
      if (where === 'query') dropEmpty(value);
      coerceTexts(plain, value, resolveRef);
    }
    if (options?.defaults !== false) fillDefaults?.(value);
    const invalid = check.problems(value, size);
    if (found.length === 0 && invalid.length === 0) return { value: prune(value), problems: [] };
    return { value, problems: merged(found, invalid) };
  };
}

/** What is wrong with a text at all comes before what a schema says of it, which is then left out. */
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
