import type { TSchema } from 'typebox';
import { isRecord } from '../support/json.ts';
import { type CompiledNodes, compileSchema } from './compile-schema.ts';
import { type Place, invalidInput } from './error-details.ts';
import { Reading } from './reading.ts';
import { MAX_PROBLEMS, type Problem, type RoundedNumber, copyOf, scanInput } from './scan-input.ts';

/** The validated value. Use it only if there are no problems. */
export interface Inspected {
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** The number of problems after which the search stops. If there are fewer, they are complete. */
  readonly limit: number;
  /** The numbers that JavaScript has rounded. A decimal column cannot have them. */
  readonly rounded?: readonly RoundedNumber[];
}

/** Finds all problems of a value, and the parts of it to keep. */
export type Inspect = (value: unknown) => Inspected;

/**
 * The most values of a document for which all problems are reported. For larger ones only the first is, because
 * reporting each would cost too much.
 */
const MAX_SIZE_FOR_ALL_PROBLEMS = 2_000;

/**
 * Compiles a validator for one part of a request. It returns a new value and never changes the given one.
 *
 * - Unknown properties are dropped at every depth, as is `__proto__`.
 * - Defaults of the schema are filled in, except inside unions, conditions and references.
 * - Bodies are not coerced. In a query string or path, texts become the integers, numbers, booleans and arrays of the
 *   schema.
 * - An empty query parameter counts as absent.
 * - Lengths count Unicode code points, and `multipleOf` uses decimal arithmetic.
 *
 * The validator throws InvalidUsage with a detail for every invalid field (at most 50).
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

/** Compiles like compileValidator, for callers that add their own problems before they throw. */
export function compileInspect(schema: TSchema, where: Place, nodes?: CompiledNodes): Inspect {
  const node = compileSchema(schema, where, nodes);
  return (input) => {
    const document = where === 'query' && isRecord(input) ? withoutEmpty(input) : input;
    const { problems, size, isTooDeep, rounded } = scanInput(document);
    const limit = isTooDeep || size > MAX_SIZE_FOR_ALL_PROBLEMS ? 1 : MAX_PROBLEMS;
    if (isTooDeep) return { value: document, problems, limit };
    const reading = new Reading(limit);
    const known = node.read(document, reading);
    if (problems.length === 0 && reading.faults.length === 0) {
      return { value: reading.keepsInput ? copyOf(known) : known, problems, limit, rounded };
    }
    return { value: document, problems: distinct(problems, reading.faults), limit, rounded };
  };
}

/** Lists problems without duplicates. If a text is already invalid as a text, drops the schema's problems with it. */
function distinct(found: readonly Problem[], invalid: readonly Problem[]): Problem[] {
  const paths = new Set(found.map(({ path }) => path));
  const all = [...found, ...invalid.filter(({ path }) => !paths.has(path))];
  const once = new Map(all.map(({ path, message }) => [`${path} ${message}`, { path, message }]));
  return [...once.values()].slice(0, MAX_PROBLEMS);
}

/** Copies the parameters of a query string, without empty ones. */
function withoutEmpty(parameters: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const given = Object.entries(parameters).filter(([, value]) => value !== '');
  const values = given.map(([name, value]) => [
    name,
    Array.isArray(value) ? value.filter((text) => text !== '') : value,
  ]);
  return Object.fromEntries(values) as Record<string, unknown>;
}
