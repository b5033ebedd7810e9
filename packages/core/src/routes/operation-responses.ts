import { STATUS_CODES } from 'node:http';
import type { RouteOptions } from 'fastify';
import { Type, type TSchema } from 'typebox';
import type { ErrorFormat } from '../errors/error-format.ts';
import { isEmpty } from '../support/json.ts';
import { mayHaveBody, SAFE_METHODS } from '../http/methods.ts';
import type { RuleList } from '../throttle/request-limiter.ts';
import type { ViewDefaults } from '../view/setup/view-defaults.ts';
import type { OperationPlan, OperationResponse } from './operation-plan.ts';

const seconds = (description: string): TSchema => Type.Integer({ minimum: 0, description });

const RATE_LIMIT: OperationResponse['headers'] = {
  'ratelimit-limit': Type.Integer({ minimum: 0, description: 'Requests that the rule allows in its window' }),
  'ratelimit-remaining': Type.Integer({ minimum: 0, description: 'Requests that are left' }),
  'ratelimit-reset': seconds('Seconds until another request is allowed'),
};

const ETAG = { etag: Type.String({ description: 'The strong entity tag of the record' }) };

/** The headers of a file. */
const FILE: OperationResponse['headers'] = {
  etag: Type.String({ description: 'The strong entity tag of the file' }),
  'last-modified': Type.String({ description: 'When the file was stored, if this is known' }),
  'accept-ranges': Type.String({ description: 'bytes' }),
};

const RETRY_AFTER = { 'retry-after': seconds('Seconds until another try may succeed') };

/** The headers of some statuses, in addition to the headers of throttles. */
const HEADERS: Readonly<Record<number, OperationResponse['headers']>> = {
  201: { location: Type.String({ description: 'The path of the new record' }) },
  401: { 'www-authenticate': Type.String({ description: 'Bearer, with error="invalid_token" if a token was sent' }) },
  405: { allow: Type.String({ description: 'The methods that the path has, separated by commas' }) },
  // Only if the database has aborted the transaction because of others.
  409: RETRY_AFTER,
  429: RETRY_AFTER,
  503: RETRY_AFTER,
};

/**
 * The responses that a view declares. null: no body. A list, because V8 would allocate an array as long as the highest
 * status for an object by status.
 */
export type DeclaredResponses = readonly (readonly [status: string, schema: TSchema | null])[];

/** The facts about a route that determine its possible responses. A missing fact is false. */
export interface RouteFacts {
  /** Headers of the declared responses, in addition to the headers that follow from other facts. */
  readonly headers?: OperationResponse['headers'];
  /** True if a 201 has the path of the new record in `Location`. */
  readonly locatesRecord?: boolean;
  readonly isSafe: boolean;
  readonly takesBody: boolean;
  /** True if the path, the query string or the body identifies something that may not exist. */
  readonly namesRecords?: boolean;
  readonly checksInput: boolean;
  /** True if the authentication rejects requests without a token. */
  readonly needsToken: boolean;
  readonly checksPermissions?: boolean;
  /** True if responses with a record have an `ETag`. */
  readonly sendsTag?: boolean;
  /** True if the response is the file of a record, with its own tag and date. */
  readonly sendsFile?: boolean;
  /** True if a tag in `If-Match` matches no record, because the records have no tags. */
  readonly refusesTags?: boolean;
  /** The headers that the route accepts. */
  readonly headerParameters?: OperationPlan['headerParameters'];
  /** True if the application or the view sets `throttleRate`. */
  readonly mayThrottle: boolean;
  /** True if throttles count the route and add headers to every response. */
  readonly hasRules: boolean;
  readonly errorFormat: ErrorFormat;
}

/** Lists the responses of a route: the declared ones, and every error that the library can send there. */
export function operationResponses(declared: DeclaredResponses, facts: RouteFacts): OperationPlan['responses'] {
  const responses: Record<number, OperationResponse> = {};
  const rateLimit = facts.hasRules ? RATE_LIMIT : {};
  const tag = facts.sendsTag ? ETAG : facts.sendsFile ? FILE : {};
  for (const [text, schema] of declared) {
    const status = Number(text);
    const { description = STATUS_CODES[status] ?? text } = (schema ?? {}) as { description?: string };
    const ofStatus = status === 201 && !facts.locatesRecord ? {} : HEADERS[status];
    responses[status] = {
      description,
      schema: schema ?? undefined,
      headers: { ...ofStatus, ...facts.headers, ...tag, ...rateLimit },
    };
  }
  if (declared.length === 0) responses[200] = { description: 'OK', schema: undefined, headers: rateLimit };
  if (facts.isSafe && facts.headerParameters?.some(({ name }) => name === 'if-none-match')) {
    responses[304] = { description: STATUS_CODES[304]!, schema: undefined, headers: { ...tag, ...rateLimit } };
  }
  for (const status of errorStatuses(facts)) {
    for (const sent of facts.errorFormat.statusesFor(status)) {
      const headers = { ...HEADERS[status], ...rateLimit };
      responses[sent] ??= {
        description: STATUS_CODES[sent] ?? String(sent),
        schema: facts.errorFormat.schema,
        headers,
      };
    }
  }
  return Object.freeze(responses);
}

/**
 * Lists the responses of a route without a view: the statuses of its schema with their headers, and every error that
 * the library can send there.
 */
export function routeResponses(
  { method, schema, config }: RouteOptions,
  rules: RuleList,
  { hasThrottleRate, errorFormat }: Pick<ViewDefaults, 'hasThrottleRate' | 'errorFormat'>,
): OperationPlan['responses'] {
  const methods = [method].flat().map((each) => each.toUpperCase());
  const isCounted = config?.throttle !== false;
  const declared = Object.keys(schema?.response ?? {}).filter((status) => /^\d{3}$/.test(status));
  const responses = declared.map((status) => [status, null] as const);
  return operationResponses(responses, {
    isSafe: methods.every((each) => SAFE_METHODS.has(each)),
    takesBody: methods.some(mayHaveBody),
    checksInput: schema?.querystring !== undefined || schema?.params !== undefined || schema?.headers !== undefined,
    needsToken: config?.needsToken === true,
    mayThrottle: isCounted && hasThrottleRate,
    errorFormat,
    hasRules: isCounted && (rules.has('address') || rules.has('user')),
  });
}

function errorStatuses(facts: RouteFacts): number[] {
  const { isSafe, takesBody, headerParameters = [] } = facts;
  const condition = headerParameters.find(({ name }) => name === 'if-match');
  const takesKey = headerParameters.some(({ name }) => name === 'idempotency-key');
  const statuses: readonly (readonly [status: number, isPossible: boolean | undefined])[] = [
    [400, facts.checksInput || takesBody],
    [401, facts.needsToken || facts.checksPermissions],
    [403, facts.checksPermissions],
    [404, facts.namesRecords],
    [405, true],
    [408, takesBody],
    [409, !isSafe || takesKey],
    // Read requests honour an `If-Match` that is not documented.
    [412, [condition !== undefined, isSafe && facts.sendsTag, facts.sendsFile, facts.refusesTags].includes(true)],
    [413, takesBody],
    [414, true],
    [415, takesBody],
    [422, takesKey],
    [428, condition?.required === true],
    [429, facts.hasRules || facts.mayThrottle],
    [500, true],
    [503, true],
  ];
  return statuses.filter(([, isPossible]) => isPossible).map(([status]) => status);
}

/** Converts the responses of a plan to Fastify's `schema.response`, for documents. */
export function documentedResponses({ responses, documentation }: OperationPlan): Record<string, object> {
  const documented = Object.entries(responses).map(([status, { schema, description, headers }]) => {
    const example = documentation.examples.responses?.[Number(status)];
    const body = {
      ...(schema ?? (status === '204' ? { type: 'null' } : {})),
      description,
      ...(isEmpty(headers) ? {} : { headers }),
      ...(example === undefined ? {} : { examples: [example] }),
    };
    return [status, body] as const;
  });
  return Object.fromEntries(documented);
}

/**
 * Converts the declared responses to schemas for Fastify's serializers. If exactly one 2xx is declared, its schema
 * applies to every 2xx, so that a `reply.code(202)` sends no more than declared.
 */
export function serializedResponses(declared: DeclaredResponses): Record<string, TSchema> {
  const schemas: Record<string, TSchema> = {};
  const successes = declared.filter(([status]) => status.startsWith('2'));
  for (const [status, schema] of declared) {
    if (schema === null) continue;
    const isOnlySuccess = successes.length === 1 && status === successes[0]![0];
    schemas[isOnlySuccess ? '2xx' : status] = schema;
  }
  return schemas;
}
