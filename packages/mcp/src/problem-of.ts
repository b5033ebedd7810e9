import type { ErrorDetail, OperationPlan } from '@viewset/core';
import type { OperationInput } from './catalog.ts';
import type { InnerResponse } from './inner-requests.ts';
import { isObject, type JsonObject, plainSchema, schemaAt } from './json-schema.ts';
import { ToolProblem } from './tool-problem.ts';

/** The most schemas of wrong values in one error. */
const MOST_SCHEMAS = 5;
/** The most characters of these schemas together. */
const MOST_CHARACTERS = 4_000;

/**
 * Makes the error for an error response: its message, the argument that each detail concerns, and the accepted values.
 *
 * @param input what the operation takes from the caller
 * @param bodyName the argument that holds the body of the request
 */
export function problemOf(
  { status, headers, body }: InnerResponse,
  plan: OperationPlan,
  input: OperationInput,
  bodyName: string,
): ToolProblem {
  const problem = parsed(body);
  const { error, code, details } = problem;
  const { 'retry-after': retryAfter = '' } = headers;
  const hint = hintFor(status, retryAfter);
  const common = { status, ...(hint === undefined ? {} : { hint }) };
  // An error in the application's own format is returned unchanged.
  if (typeof error !== 'string') return new ToolProblem(`The API answered ${status}`, { ...common, answer: problem });
  const known = Array.isArray(details) ? (details as unknown[]).filter(isDetail) : [];
  const named = known.map((detail) => placed(detail, plan, input, bodyName));
  const accepted = acceptedAt(named);
  return new ToolProblem(error, {
    ...common,
    ...(typeof code === 'string' ? { code } : {}),
    ...(named.length === 0 ? {} : { details: named.map(({ argument, message }) => ({ argument, message })) }),
    ...(Object.keys(accepted).length === 0 ? {} : { accepted }),
  });
}

/**
 * Makes the error for a call without a required body.
 *
 * @param schema the schema of the body
 */
export function missingBody(schema: unknown, bodyName: string): ToolProblem {
  const message = 'is required';
  const accepted = acceptedAt([{ argument: bodyName, message, schema }]);
  return new ToolProblem(`"${bodyName}" ${message}`, { details: [{ argument: bodyName, message }], accepted });
}

function parsed(body: Buffer | undefined): JsonObject {
  try {
    const value: unknown = JSON.parse(body?.toString() ?? '{}');
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** False for a detail in the application's own format. */
function isDetail(detail: unknown): detail is ErrorDetail {
  return isObject(detail) && typeof detail['path'] === 'string' && typeof detail['message'] === 'string';
}

interface Placed {
  readonly argument: string;
  readonly message: string;
  readonly schema: unknown;
}

/** Finds the argument that a detail concerns, and its schema. */
function placed(
  { in: part, path, message }: ErrorDetail,
  plan: OperationPlan,
  { values, query }: OperationInput,
  bodyName: string,
): Placed {
  const steps = path.split('/').slice(1);
  if (part === 'params') {
    const [name = ''] = steps;
    const { schema } = plan.pathParameters.find((each) => each.name === name) ?? {};
    return { argument: name === 'pk' ? 'id' : `parents.${name}`, message, schema };
  }
  if (part === 'query') {
    const { schema } = query.find(({ name }) => name === steps[0]) ?? {};
    return { argument: ['query', ...steps].join('.'), message, schema };
  }
  const inside = plan.envelope !== undefined && steps[0] === plan.envelope ? steps.slice(1) : steps;
  const schema = schemaAt(values, inside.map((step) => `/${step}`).join(''));
  return { argument: [bodyName, ...inside].join('.'), message, schema };
}

/** Returns the schemas of the wrong arguments, as many as fit. */
function acceptedAt(named: readonly Placed[]): JsonObject {
  const accepted: Record<string, unknown> = {};
  let left = MOST_CHARACTERS;
  for (const { argument, schema } of named.slice(0, MOST_SCHEMAS)) {
    if (schema === undefined) continue;
    const plain = plainSchema(schema);
    left -= JSON.stringify(plain).length;
    if (left < 0) break;
    accepted[argument] = plain;
  }
  return accepted;
}

/** Says what to do about an error status; undefined if the message already does. */
function hintFor(status: number, retryAfter: string): string | undefined {
  if (status === 401) return 'Nobody is logged in: the connection needs a valid token';
  if (status === 403) return 'The account has no right to do this; describe lists what it may do';
  if (status === 404) return 'The account can see no record with this id; search lists the records that it can see';
  if (status === 412 || status === 428) return 'get the record, and send its "etag" with the change';
  if (retryAfter !== '') return `Try again in ${retryAfter} seconds`;
  if (status === 500) return 'A fault of the server; the same call will fail again';
  return undefined;
}
