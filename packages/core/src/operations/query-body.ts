import type { FastifyRequest } from 'fastify';
import { type TObject, type TSchema, Type } from 'typebox';
import { type Awaitable, withError } from '../awaitable.ts';
import { InvalidUsage } from '../errors.ts';
import type { InvalidUsageCollector } from '../invalid-usage-collector.ts';
import { isEmpty, isRecord } from '../json.ts';
import { echo, invalidParameter, PlacedInvalidUsage, QueryParameters } from '../parameters.ts';
import { stateOf } from '../viewset/request/request-state.ts';
import type { OperationParameter } from './operation-plan.ts';

/** The parameters in the URL of a QUERY request that one error names. */
const MAX_NAMED = 10;

/** Makes the schema of the body of a QUERY request: an object with the parameters as properties, JSON as it is. */
export function querySchema(parameters: readonly OperationParameter[]): TObject {
  const definitions: Record<string, unknown> = {};
  const properties = parameters.map(({ name, schema }): [string, TSchema] => {
    const { contentSchema } = schema as { readonly contentSchema?: TSchema & { readonly $defs?: object } };
    if (contentSchema === undefined) return [name, Type.Optional(schema)];
    // References lead to definitions at the root of a schema.
    const { $defs, ...value } = contentSchema;
    Object.assign(definitions, $defs);
    const { description } = schema as { readonly description?: string };
    return [name, Type.Optional({ ...value, ...(description === undefined ? {} : { description }) })];
  });
  return Type.Object(Object.fromEntries(properties), isEmpty(definitions) ? {} : { $defs: definitions });
}

/**
 * Makes the check that nothing in the URL of a QUERY request asks for something: all parameters stand in the body. Throws
 * InvalidUsage that names those in the URL.
 *
 * @param ignored the names of unknown parameters that may stand there; true: any but those declared
 */
export function queryStringCheck(
  parameters: readonly OperationParameter[],
  ignored: boolean | readonly string[],
): (request: FastifyRequest) => void {
  const declared = new Set(parameters.map(({ name }) => name));
  const passes = (name: string): boolean =>
    !declared.has(name) && (ignored === true || (ignored !== false && ignored.includes(name)));
  return ({ query }) => {
    const refused = Object.keys(query as object).filter((name) => !passes(name));
    if (refused.length === 0) return;
    const errors = refused.slice(0, MAX_NAMED).map((name) => invalidParameter(echo(name), 'must stand in the body'));
    throw new InvalidUsage(errors.map(({ message }) => message).join('; '), {
      details: errors.flatMap(({ details = [] }) => details),
    });
  };
}

/**
 * Makes the reading of the body of a QUERY request into its parameters, with which it is the GET whose query string has them. A
 * value is what JSON has for the text in a URL: that text, a number, a boolean, or a list. The faults of values are collected.
 */
export function queryReader(
  parameters: readonly OperationParameter[],
): (request: FastifyRequest, problems: InvalidUsageCollector) => void {
  const declared = new Map(parameters.map((parameter) => [parameter.name, parameter]));
  return (request, problems) => {
    const { body } = request;
    if (!isRecord(body)) {
      const details = [{ in: 'body', path: '', message: 'must be an object' } as const];
      throw new InvalidUsage('The body of a QUERY must be an object', { details });
    }
    const json = new Map<string, unknown>();
    const texts = new Map<string, unknown>();
    for (const [name, value] of Object.entries(body)) {
      const parameter = declared.get(name);
      // The check of names refuses one that nothing declares, or lets it pass for somebody else to read.
      if (parameter === undefined) texts.set(name, value);
      else if (isRecord(value) && 'contentSchema' in parameter.schema) json.set(name, value);
      else problems.attempt(() => texts.set(name, textOf(parameter, value)));
    }
    const query = Object.fromEntries(texts);
    request.query = { ...query, ...Object.fromEntries(json) };
    stateOf(request).parameters = new QueryParameters(query, json, request.params);
  };
}

/** Writes a value as it would stand in a URL: the values of a list as one text if the parameter is one, else each for itself. */
function textOf({ name, schema }: OperationParameter, value: unknown): string | readonly string[] {
  if (!Array.isArray(value)) return plainText(name, value);
  if (value.length === 0) throw invalidParameter(name, 'must not be an empty list; leave it out');
  const texts = value.map((each) => plainText(name, each));
  if ((schema as { readonly type?: unknown }).type !== 'array') return texts;
  if (texts.some((text) => text.includes(','))) {
    throw invalidParameter(name, 'must not have a value with a comma, which separates values');
  }
  return texts.join(',');
}

function plainText(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'boolean' && typeof value !== 'number') {
    throw invalidParameter(name, 'must be a text, a number, true, false or a list of such');
  }
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw invalidParameter(name, 'is a number that JSON may not hold exactly; send it as a text');
  }
  return String(value);
}

/** Makes a step of a QUERY request tell of faulty parameters where they stand, in its body. */
export function placedInBody<Arguments extends readonly unknown[], Result>(
  step: (...given: Arguments) => Awaitable<Result>,
): (...given: Arguments) => Awaitable<Result> {
  return withError(step, (error) => (error instanceof InvalidUsage ? PlacedInvalidUsage.inBody(error) : error));
}
