import { exactJson, InvalidUsage, type OperationPlan } from '@viewset/core';
import { isObject, type JsonObject, propertyNames } from './json-schema.ts';
import { namesRecord, parentsOf } from './resource.ts';
import { ToolProblem } from './tool-problem.ts';

/** The arguments that tools have, each with one meaning. */
export interface ToolArguments {
  readonly resource?: string;
  readonly id?: string | number;
  readonly parents?: Readonly<Record<string, string | number>>;
  readonly query?: JsonObject;
  readonly values?: JsonObject;
  readonly action?: string;
  readonly operation?: string;
  readonly body?: unknown;
  readonly etag?: string;
  readonly key?: string;
}

/**
 * Checks the arguments of a call. Unknown arguments are never dropped, because they were meant to change the result.
 *
 * @param unused arguments that no operation takes. Their names are not listed, but the operations' own errors mention
 * them
 * @throws ToolProblem that lists every fault
 */
export function readArguments(
  given: unknown,
  names: readonly (keyof ToolArguments)[],
  unused: ReadonlySet<keyof ToolArguments>,
  validate: (value: unknown) => unknown,
): ToolArguments {
  const sent = withObjects(given ?? {});
  if (!isObject(sent)) throw new ToolProblem('The arguments must be an object');
  const unknown = Object.keys(sent).filter((name) => !names.some((known) => known === name));
  if (unknown.length > 0) {
    const known = names.filter((name) => !unused.has(name));
    throw new ToolProblem(`Unknown arguments: ${listed(unknown)}`, { known_arguments: known });
  }
  try {
    validate(sent);
  } catch (error) {
    if (!(error instanceof InvalidUsage)) throw error;
    const faults = (error.details ?? []).map(({ path, message }) => `${path.slice(1).replaceAll('/', '.')} ${message}`);
    throw new ToolProblem(`Wrong arguments: ${faults.join('; ')}`);
  }
  // Returns the original values, because the route validates them as they were sent.
  return sent;
}

/** The arguments that are always objects. */
const OBJECTS = ['parents', 'query', 'values'] as const;

/** Reads objects that a model sends as JSON text, as some models do with nested objects. */
function withObjects(given: unknown): unknown {
  if (!isObject(given)) return objectIn(given) ?? given;
  const texts = OBJECTS.flatMap((name) => {
    const read = objectIn(given[name]);
    return read === undefined ? [] : [[name, read] as const];
  });
  return texts.length === 0 ? given : { ...given, ...Object.fromEntries(texts) };
}

/** The object in a JSON text; undefined if the value is another one. */
export function objectIn(value: unknown): JsonObject | undefined {
  if (typeof value !== 'string' || !value.trimStart().startsWith('{')) return undefined;
  try {
    const read = exactJson.parse(value);
    return isObject(read) ? read : undefined;
  } catch {
    return undefined;
  }
}

/** The most client-chosen names that a message lists. */
const MOST_LISTED = 10;
const LONGEST_NAME = 60;

/** Quotes a client-chosen name for a message. */
export function quoted(name: string): string {
  return JSON.stringify(name.slice(0, LONGEST_NAME).toWellFormed());
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MOST_LISTED).map(quoted);
  return shown.join(', ') + (names.length > MOST_LISTED ? ` and ${names.length - MOST_LISTED} more` : '');
}

/**
 * Takes the values of an operation's path from `id` and `parents`.
 *
 * @throws ToolProblem if a value is missing, is not part of the path, or is invalid there
 */
export function pathValues(
  plan: OperationPlan,
  { id, parents = {} }: ToolArguments,
  name: string,
): Readonly<Record<string, string>> {
  const needed = parentsOf(plan);
  const missing = needed.filter((each) => !Object.hasOwn(parents, each));
  const unknown = Object.keys(parents).filter((each) => !needed.includes(each));
  if (missing.length + unknown.length > 0) {
    const expected =
      needed.length === 0
        ? `${name} has no parents`
        : `${name} needs "parents" with the id of each of: ${needed.join(', ')}`;
    throw new ToolProblem(unknown.length === 0 ? expected : `${expected}; got ${listed(unknown)}`);
  }
  const isNamed = namesRecord(plan);
  if (isNamed && id === undefined) throw new ToolProblem(`${name} needs "id": the id of the record`);
  if (!isNamed && id !== undefined) throw new ToolProblem(`${name} takes no "id" here`);
  const values = Object.entries({ ...parents, ...(isNamed ? { pk: id! } : {}) });
  return Object.fromEntries(values.map(([each, value]) => [each, pathValue(each === 'pk' ? 'id' : each, value)]));
}

/** An empty or dot segment would change the path. */
function pathValue(name: string, value: string | number): string {
  const text = String(value).toWellFormed();
  if (text === '' || text === '.' || text === '..') {
    throw new ToolProblem(`No record has the ${name} ${JSON.stringify(text)}`);
  }
  return text;
}

/**
 * Builds the query string.
 *
 * @throws ToolProblem for null, which a query string cannot express
 */
export function queryString({ queryParameters }: OperationPlan, query: JsonObject = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    if (value === null) throw new ToolProblem(`query.${name} must not be null; leave it out`);
    const isJoined = queryParameters.some((each) => each.name === name && each.isCommaSeparated === true);
    const texts = Array.isArray(value)
      ? value.map((each, index) => encoded(exactJson.textOf(value, index) ?? textOf(each)))
      : [encoded(exactJson.textOf(query, name) ?? textOf(value))];
    const values = isJoined && Array.isArray(value) ? [texts.join(',')] : texts;
    return values.map((each) => `${encoded(name)}=${each}`);
  });
  return pairs.join('&');
}

/** Encodes a text of a query string, including its commas, which would separate values. */
function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * Finds names that a body's schema does not have. The route drops them, and a model would believe that the value was
 * stored.
 *
 * @returns the problem, which lists the known names; undefined if all are known
 */
export function unknownNames(schema: unknown, values: unknown, argument: string): ToolProblem | undefined {
  const known = propertyNames(schema);
  if (known === undefined || !isObject(values)) return undefined;
  const unknown = Object.keys(values).filter((name) => !known.includes(name));
  if (unknown.length === 0) return undefined;
  return new ToolProblem(`${argument} has no ${listed(unknown)}`, { known_names: known });
}

/**
 * Makes the headers for a write's conditions.
 *
 * @throws ToolProblem if the operation does not support a condition, because the model would rely on it
 */
export function conditionHeaders(
  { headerParameters, idempotency }: OperationPlan,
  { etag, key }: ToolArguments,
  makeKey: () => string,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  if (etag !== undefined) {
    if (!headerParameters.some(({ name }) => name === 'if-match')) {
      throw new ToolProblem('This operation compares no "etag"; leave it out');
    }
    headers['if-match'] = etag;
  }
  if (key !== undefined && idempotency === undefined) {
    throw new ToolProblem(
      'This operation takes no "key"; leave it out, and repeat the call only if you know that it was not done',
    );
  }
  const used = key ?? (idempotency === 'required' ? makeKey() : undefined);
  if (used !== undefined) headers['idempotency-key'] = `"${used.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
  return headers;
}
