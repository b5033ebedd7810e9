import type { FastifyRequest } from 'fastify';
import { type TObject, type TSchema, Type } from 'typebox';
import { type Awaitable, withError } from '../support/awaitable.ts';
import { InvalidUsage } from '../errors/errors.ts';
import type { InvalidUsageCollector } from '../errors/invalid-usage-collector.ts';
import { isEmpty, isRecord } from '../support/json.ts';
import { roundedIn } from '../support/rounded-numbers.ts';
import { echo, invalidParameter, PlacedInvalidUsage, QueryParameters } from '../http/parameters.ts';
import { stateOf } from '../view/request/request-state.ts';
import type { OperationParameter } from './operation-plan.ts';

/** The maximum number of URL parameters that an error about a QUERY request names. */
const MAX_NAMED = 10;

/**
 * Makes the schema of a QUERY request's body: an object with the parameters as properties. JSON parameters are not
 * encoded as text.
 */
export function querySchema(parameters: readonly OperationParameter[]): TObject {
  const definitions: Record<string, unknown> = {};
  const properties = parameters.map(({ name, schema }): [string, TSchema] => {
    const { contentSchema } = schema as { readonly contentSchema?: TSchema & { readonly $defs?: object } };
    if (contentSchema === undefined) return [name, Type.Optional(schema)];
    // References refer to definitions at the root of a schema.
    const { $defs, ...value } = contentSchema;
    Object.assign(definitions, $defs);
    const { description } = schema as { readonly description?: string };
    return [name, Type.Optional({ ...value, ...(description === undefined ? {} : { description }) })];
  });
  return Type.Object(Object.fromEntries(properties), isEmpty(definitions) ? {} : { $defs: definitions });
}

/**
 * Makes the check that the URL of a QUERY request has no parameters, because all must be in the body. Throws
 * InvalidUsage that names the parameters in the URL.
 *
 * @param ignored the names of unknown parameters that the URL may have; true: any undeclared name
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
 * Makes the reader of a QUERY request's body. It turns the body into parameters, so that the request equals a GET with
 * the same query string. A value is a text, a number, a boolean or a list; JSON parameters also accept an object.
 * Faults of values are collected.
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
    const lists = new Map<string, readonly string[]>();
    for (const [name, value] of Object.entries(body)) {
      const parameter = declared.get(name);
      // The check of names rejects an undeclared parameter, or lets it pass for other code.
      if (parameter === undefined) texts.set(name, value);
      else if (isRecord(value) && 'contentSchema' in parameter.schema) json.set(name, value);
      else {
        const sent = problems.attempt(() => textsOf(name, value, body));
        if (sent === undefined) continue;
        const isList = Array.isArray(sent) && (parameter.schema as { readonly type?: unknown }).type === 'array';
        if (isList) lists.set(name, sent);
        texts.set(name, isList ? sent.join(',') : sent);
      }
    }
    const query = Object.fromEntries(texts);
    request.query = { ...query, ...Object.fromEntries(json) };
    stateOf(request).parameters = new QueryParameters(query, json, request.params, (name, values) =>
      lists.has(name) ? [lists.get(name)!] : values.map((text) => text.split(',')),
    );
  };
}

/** Converts a value to its text in a URL. A list becomes several texts. */
function textsOf(name: string, value: unknown, body: object): string | readonly string[] {
  if (!Array.isArray(value)) return plainText(name, value, roundedIn(body)?.get(name));
  if (value.length === 0) throw invalidParameter(name, 'must not be an empty list; leave it out');
  const digits = roundedIn(value);
  return value.map((each, index) => plainText(name, each, digits?.get(String(index))));
}

/** @param digits the text of a number that JavaScript has rounded */
function plainText(name: string, value: unknown, digits: string | undefined): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'boolean' && typeof value !== 'number') {
    throw invalidParameter(name, 'must be a text, a number, true, false or a list of such');
  }
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw invalidParameter(name, 'is a number that JSON may not hold exactly; send it as a text');
  }
  return digits ?? String(value);
}

/** Makes the errors of a step point to parameters in the body of a QUERY request. */
export function placedInBody<Arguments extends readonly unknown[], Result>(
  step: (...given: Arguments) => Awaitable<Result>,
): (...given: Arguments) => Awaitable<Result> {
  return withError(step, (error) => (error instanceof InvalidUsage ? PlacedInvalidUsage.inBody(error) : error));
}
