import type { TSchema } from 'typebox';
import { isOmitted, pointerStep } from '../support/json.ts';
import { compilerOf } from './compile-schema.ts';
import { generateWriter } from './fast-writer.ts';
import type { JsonSchema } from './json-schema.ts';
import type { SharedSchemas } from './references.ts';
import { Reading, type SchemaNode } from './reading.ts';
import { MAX_PROBLEMS, type Problem } from './scan-input.ts';
import { UnfitValue } from './unfit-value.ts';

/** Writes a value as JSON. @throws UnfitValue for a value that does not fit the schema */
export type Serialize = (value: unknown) => string;

/**
 * Compiles a serializer. It validates like the validator of a body with the same schema, and never converts a value of
 * a wrong type. It writes the parts of the value that the schema names; in a union, those of the members that fit.
 * Dates, bigints and objects with `toJSON` are written as JSON (see `responseReader`).
 *
 * Generated code writes most values. It stops at the first value that it does not know to be valid, and the compiled
 * schema then validates and writes the document. So the code only has to be right about the values that it writes.
 *
 * @param documents schemas that `$ref` may refer to, by `$id`
 * @throws ImproperlyConfigured for a schema that cannot be compiled
 * @example
 * const serialize = compileSerializer(Type.Object({ price: Type.Union([Type.Number(), Type.Null()]) }));
 * serialize({ price: null, id: 7 });   // '{"price":null}'
 * serialize({ price: '12' });          // UnfitValue: /price must be a number or null
 */
export function compileSerializer(schema: TSchema, documents?: SharedSchemas): Serialize {
  const compile = compilerOf(schema, 'response', undefined, documents);
  const root = compile(schema as JsonSchema);
  const write = generateWriter(schema as JsonSchema, {
    writer: (part) => partWriter(compile(part)),
    check: (part) => contentCheck(compile(part)),
  });
  return (value) => write(value) ?? textOf(root, value);
}

/** Writes a part of a document by its compiled schema. Undefined for a value that does not fit. */
function partWriter(node: SchemaNode): (value: unknown) => string | undefined {
  return (value) => {
    const reading = new Reading(1);
    const known = node.read(value, reading);
    if (reading.faults.length > 0) return undefined;
    const text = jsonText(known);
    return text === undefined || findUnwritable(known) !== undefined ? undefined : text;
  };
}

/** Makes the check of a text or number whose type is known. */
function contentCheck({ stages }: SchemaNode): (value: unknown) => boolean {
  const checks = stages.slice(1).flat();
  const [first] = checks;
  if (checks.length === 1 && typeof first === 'object') return first.holds;
  return (value) => checks.every((check) => typeof check === 'object' && check.holds(value));
}

/** Writes a document by its compiled schema. @throws UnfitValue for a value that does not fit */
function textOf(root: SchemaNode, value: unknown): string {
  const reading = new Reading(MAX_PROBLEMS);
  const known = root.read(value, reading);
  if (reading.faults.length > 0) throw new UnfitValue(reading.faults.map((fault) => withReceived(fault, value)));
  const problem = findUnwritable(known);
  if (problem !== undefined) throw new UnfitValue([problem]);
  const text = jsonText(known);
  if (text === undefined) throw new UnfitValue([{ path: '', message: `must be JSON, got ${kindOf(value)}` }]);
  return text;
}

function withReceived({ path, message }: Problem, document: unknown): Problem {
  let value: unknown = document;
  for (const step of path.split('/').slice(1)) {
    if (typeof value !== 'object' || value === null) return { path, message };
    value = value[step.replaceAll('~1', '/').replaceAll('~0', '~') as never];
  }
  return { path, message: `${message}, got ${kindOf(value)}` };
}

/** Describes a value without its content, which may be private. */
function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (value instanceof Date && Number.isNaN(value.getTime())) return 'an invalid date';
  if (Array.isArray(value)) return 'an array';
  const type = Number.isInteger(value) ? 'integer' : typeof value;
  return `${/^[aio]/.test(type) ? 'an' : 'a'} ${type}`;
}

/** Writes JSON, with bigints as numbers. Undefined for a value that is not JSON. */
export function jsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return JSON.stringify(value, (_name, part: unknown) => (typeof part === 'bigint' ? rawJson(String(part)) : part));
  }
}

/** `JSON.rawJSON` (V8 11.4), which writes a text as it is. */
const { rawJSON: rawJson } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

/** Finds a value that `JSON.stringify` would replace by null: NaN, an invalid date, an undefined item of an array. */
export function findUnwritable(value: unknown): Problem | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : unwritable(value);
  if (typeof value !== 'object' || value === null) return undefined;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? unwritable(value) : undefined;
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (typeof toJSON === 'function') return findUnwritable(toJSON.call(value));
  const isArray = Array.isArray(value);
  for (const step of isArray ? value.keys() : Object.keys(value)) {
    const part: unknown = value[step as never];
    const problem = isArray && isOmitted(part) ? unwritable(part) : findUnwritable(part);
    if (problem !== undefined) return { ...problem, path: pointerStep(step) + problem.path };
  }
  return undefined;
}

function unwritable(value: unknown): Problem {
  return { path: '', message: `must be a value that JSON has, got ${kindOf(value)}` };
}
