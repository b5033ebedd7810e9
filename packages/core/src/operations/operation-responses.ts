import { STATUS_CODES } from 'node:http';
import { Type, type TSchema } from 'typebox';
import type { OperationResponse } from './operation-plan.ts';

/** The one body of every error. */
export const ERROR_SCHEMA: TSchema = Type.Object(
  {
    error: Type.String({ description: 'A sentence for a person' }),
    code: Type.String({ description: 'A stable identifier of the kind of error' }),
    details: Type.Optional(
      Type.Array(
        Type.Object({
          in: Type.Enum(['body', 'query', 'params'], { description: 'The part of the request' }),
          path: Type.String({ description: 'A JSON pointer to the value' }),
          message: Type.String(),
        }),
        { description: 'Every value at fault' },
      ),
    ),
  },
  { title: 'Error' },
);

const seconds = (description: string): TSchema => Type.Integer({ minimum: 0, description });

const RATE_LIMIT: OperationResponse['headers'] = {
  'ratelimit-limit': Type.Integer({ minimum: 0, description: 'Requests that the rule allows in its window' }),
  'ratelimit-remaining': Type.Integer({ minimum: 0, description: 'Requests that are left' }),
  'ratelimit-reset': seconds('Seconds until a request is left again'),
};

const RETRY_AFTER = { 'retry-after': seconds('Seconds until another try may succeed') };

/** The headers of some statuses, beside those of the throttles. */
const HEADERS: Readonly<Record<number, OperationResponse['headers']>> = {
  201: { location: Type.String({ description: 'The path of the new record' }) },
  401: { 'www-authenticate': Type.String({ description: 'Bearer, with error="invalid_token" if a token was sent' }) },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
};

/** The facts about a route that decide which errors it can answer. */
export interface RouteFacts {
  readonly isSafe: boolean;
  /** True if a parameter of the path names something that may not be there. */
  readonly hasPathParameters: boolean;
  readonly checksInput: boolean;
  readonly allowsAnonymous: boolean;
  readonly asksPermissions: boolean;
  readonly hasEntity: boolean;
  /** True if the application or the view asks a `throttleRate`. */
  readonly mayThrottle: boolean;
  /** True if throttles count the route, and write their headers on every answer. */
  readonly hasRules: boolean;
}

/** The answers of a route: those declared, and every error that the library itself can answer there. */
export function operationResponses(
  declared: Readonly<Record<number, TSchema | null>>,
  location: boolean,
  facts: RouteFacts,
): Readonly<Record<number, OperationResponse>> {
  const responses: Record<number, OperationResponse> = {};
  for (const [text, schema] of Object.entries(declared)) {
    const status = Number(text);
    const own = status === 201 && !location ? {} : HEADERS[status];
    const headers = { ...own, ...(facts.hasRules ? RATE_LIMIT : {}) };
    const { description = STATUS_CODES[status] ?? text } = (schema ?? {}) as { description?: string };
    responses[status] = Object.freeze({ description, schema: schema ?? undefined, headers });
  }
  if (Object.keys(declared).length === 0) responses[200] = UNDECLARED;
  for (const status of errorStatuses(facts)) responses[status] ??= errorResponse(status, facts.hasRules);
  return Object.freeze(responses);
}

/** The answer of an operation that declares none. */
const UNDECLARED: OperationResponse = Object.freeze({ description: 'OK', schema: undefined, headers: {} });

function errorStatuses(facts: RouteFacts): number[] {
  const { isSafe } = facts;
  const statuses: readonly (readonly [status: number, isPossible: boolean])[] = [
    [400, facts.checksInput || !isSafe],
    [401, !facts.allowsAnonymous || facts.asksPermissions],
    [403, facts.asksPermissions],
    [404, facts.hasPathParameters],
    [408, !isSafe],
    [409, !isSafe && facts.hasEntity],
    [413, !isSafe],
    [414, true],
    [415, !isSafe],
    [429, facts.hasRules || facts.mayThrottle],
    [500, true],
    [503, true],
  ];
  return statuses.filter(([, isPossible]) => isPossible).map(([status]) => status);
}

const errors = new Map<string, OperationResponse>();

/** The same object for every route, so that its serializer and its component in a document are one too. */
function errorResponse(status: number, hasRules: boolean): OperationResponse {
  const key = `${status} ${hasRules}`;
  let response = errors.get(key);
  if (response === undefined) {
    const headers = Object.freeze({ ...HEADERS[status], ...(hasRules ? RATE_LIMIT : {}) });
    response = Object.freeze({ description: STATUS_CODES[status] ?? String(status), schema: ERROR_SCHEMA, headers });
    errors.set(key, response);
  }
  return response;
}
