import { STATUS_CODES } from 'node:http';
import type { RouteOptions } from 'fastify';
import { Type, type TSchema } from 'typebox';
import type { ErrorFormat } from '../error-format.ts';
import { isEmpty } from '../json.ts';
import { mayHaveBody, SAFE_METHODS } from '../methods.ts';
import type { RuleList } from '../throttle/request-limiter.ts';
import type { ViewDefaults } from '../viewset/setup/view-definition.ts';
import type { OperationPlan, OperationResponse } from './operation-plan.ts';

const seconds = (description: string): TSchema => Type.Integer({ minimum: 0, description });

const RATE_LIMIT: OperationResponse['headers'] = {
  'ratelimit-limit': Type.Integer({ minimum: 0, description: 'Requests that the rule allows in its window' }),
  'ratelimit-remaining': Type.Integer({ minimum: 0, description: 'Requests that are left' }),
  'ratelimit-reset': seconds('Seconds until another request is allowed'),
};

const ETAG = { etag: Type.String({ description: 'The strong entity tag of the record' }) };

const RETRY_AFTER = { 'retry-after': seconds('Seconds until another try may succeed') };

/** The headers of some statuses, beside those of the throttles. */
const HEADERS: Readonly<Record<number, OperationResponse['headers']>> = {
  201: { location: Type.String({ description: 'The path of the new record' }) },
  401: { 'www-authenticate': Type.String({ description: 'Bearer, with error="invalid_token" if a token was sent' }) },
  405: { allow: Type.String({ description: 'The methods that the path has, separated by commas' }) },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
};

/** The answers that a view declares; null: no body. An object by status would cost V8 an array of as many places. */
export type DeclaredResponses = readonly (readonly [status: string, schema: TSchema | null])[];

/** The facts about a route that decide which answers it can give. A fact that is left out is false. */
export interface RouteFacts {
  /** The headers of the answers that are declared, beside those that follow from the rest. */
  readonly headers?: OperationResponse['headers'];
  /** True if a 201 has the path of the new record. */
  readonly locatesRecord?: boolean;
  readonly isSafe: boolean;
  readonly takesBody: boolean;
  /** True if the path, the query string or the body names something that may not be there. */
  readonly namesRecords?: boolean;
  readonly checksInput: boolean;
  /** True if the authentication lets nobody in without a token. */
  readonly needsToken: boolean;
  readonly asksPermissions?: boolean;
  readonly hasEntity?: boolean;
  /** True if answers that are records have their `ETag`. */
  readonly sendsTag?: boolean;
  /** The headers that the route takes. */
  readonly headerParameters?: OperationPlan['headerParameters'];
  /** True if the application or the view asks a `throttleRate`. */
  readonly mayThrottle: boolean;
  /** True if throttles count the route, and write their headers on every answer. */
  readonly hasRules: boolean;
  readonly errorFormat: ErrorFormat;
}

/** Lists the answers of a route: those declared, and every error that the library itself can answer there. */
export function operationResponses(declared: DeclaredResponses, facts: RouteFacts): OperationPlan['responses'] {
  const responses: Record<number, OperationResponse> = {};
  const rateLimit = facts.hasRules ? RATE_LIMIT : {};
  const tag = facts.sendsTag ? ETAG : {};
  for (const [text, schema] of declared) {
    const status = Number(text);
    const { description = STATUS_CODES[status] ?? text } = (schema ?? {}) as { description?: string };
    const own = status === 201 && !facts.locatesRecord ? {} : HEADERS[status];
    responses[status] = {
      description,
      schema: schema ?? undefined,
      headers: { ...own, ...facts.headers, ...tag, ...rateLimit },
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

/** Lists the answers of a route of no view: those of its schema, by their headers, and every error that the library can answer there. */
export function routeResponses(
  { method, schema, config }: RouteOptions,
  rules: RuleList,
  { hasThrottleRate, errorFormat }: Pick<ViewDefaults, 'hasThrottleRate' | 'errorFormat'>,
): OperationPlan['responses'] {
  const methods = [method].flat().map((each) => each.toUpperCase());
  const isCounted = config?.throttle !== false;
  const declared = Object.keys(schema?.response ?? {}).filter((status) => /^\d{3}$/.test(status));
  const answers = declared.map((status) => [status, null] as const);
  return operationResponses(answers, {
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
  const { isSafe, takesBody, headerParameters = [], hasEntity = false } = facts;
  const condition = headerParameters.find(({ name }) => name === 'if-match');
  const takesKey = headerParameters.some(({ name }) => name === 'idempotency-key');
  const statuses: readonly (readonly [status: number, isPossible: boolean | undefined])[] = [
    [400, facts.checksInput || takesBody],
    [401, facts.needsToken || facts.asksPermissions],
    [403, facts.asksPermissions],
    [404, facts.namesRecords],
    [405, true],
    [408, takesBody],
    [409, (!isSafe && hasEntity) || takesKey],
    // Reading hears an `If-Match` that is not offered.
    [412, condition !== undefined || (isSafe && facts.sendsTag)],
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

/** Writes the answers of a plan as Fastify's `schema.response` has them, for documents. */
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
 * Writes the answers that a route declares as Fastify compiles serializers of them. If one 2xx answer is declared, its
 * schema holds for every other 2xx too, so that a `reply.code(202)` does not send more than was declared.
 * @param byStatus true: that schema stands under its own status too, for a compiler that goes by it
 */
export function serializedResponses(declared: DeclaredResponses, byStatus: boolean): Record<string, TSchema> {
  const schemas: Record<string, TSchema> = {};
  const successes = declared.filter(([status]) => status.startsWith('2'));
  for (const [status, schema] of declared) {
    if (schema === null) continue;
    const isOnlySuccess = successes.length === 1 && status === successes[0]![0];
    if (isOnlySuccess) schemas['2xx'] = schema;
    if (!isOnlySuccess || byStatus) schemas[status] = schema;
  }
  return schemas;
}
