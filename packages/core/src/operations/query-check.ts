import type { FastifyRequest } from 'fastify';
import type { Awaitable } from '../awaitable.ts';
import { InvalidUsageCollector } from '../invalid-usage-collector.ts';
import { isEmpty } from '../json.ts';
import { parametersOf } from '../viewset/request/request-state.ts';
import type { OperationParameter } from './operation-plan.ts';
import { queryReader } from './query-body.ts';
import { unknownParameterCheck } from './unknown-parameters.ts';

/** The query string that a route declares. */
export interface QueryDeclaration {
  /** Checks and converts the parameters that an action declares; undefined if it declares none. */
  readonly validate: ((query: unknown) => unknown) | undefined;
  /** Decides on the answer by the parameters that select its fields; undefined if there are none. */
  readonly select: ((request: FastifyRequest) => void) | undefined;
  /** The parameters that a QUERY request has in its body; undefined if they come in the query string. */
  readonly ofBody: readonly OperationParameter[] | undefined;
  /** The parameters of the view's lists, which its filters and its paginator check when they read them. */
  readonly listParameters: readonly string[];
  /** Further names to let pass; true: all. */
  readonly ignored: boolean | readonly string[];
}

/**
 * Makes the check of a route's parameters, which puts the converted ones into `request.query`. It throws one
 * InvalidUsage for everything that is wrong: unknown names, the parameters of the action, and then those of the list too.
 * Undefined if a route takes any query string as it is.
 *
 * @param declared the names of all parameters of the route
 * @param checkList throws InvalidUsage for the parameters of a list that do not fit
 */
export function compileQueryCheck(
  { validate, select, ofBody, listParameters, ignored }: QueryDeclaration,
  declared: readonly string[],
  checkList: ((request: FastifyRequest) => Promise<void>) | undefined,
): ((request: FastifyRequest) => Awaitable<void>) | undefined {
  const read = ofBody && queryReader(ofBody);
  if (ignored === true && validate === undefined && select === undefined && read === undefined) return undefined;
  const check = ignored === true ? undefined : unknownParameterCheck(declared, ignored === false ? [] : ignored);
  const ofList = new Set(listParameters);
  const looksAtNames = read === undefined && validate === undefined && select === undefined;
  const takesNone = looksAtNames && declared.length === 0;
  return (request) => {
    // Nobody reads the parameters of a route that declares none.
    if (takesNone && isEmpty(request.query ?? {})) return;
    const problems = new InvalidUsageCollector();
    read?.(request, problems);
    // The parameters are kept as they were sent, before a schema makes numbers of their texts, or a hook puts others in their place.
    const sent = parametersOf(request);
    const refuse = check?.(sent.names());
    if (refuse === undefined && looksAtNames) return;
    if (refuse !== undefined) problems.attempt(refuse);
    if (validate !== undefined) {
      const own = Object.entries(request.query as object).filter(([name]) => !ofList.has(name));
      request.query = problems.attempt(() => validate(Object.fromEntries(own)));
    }
    if (select !== undefined) problems.attempt(() => select(request));
    if (problems.isEmpty || ofList.size === 0 || checkList === undefined) return problems.throwIfAny();
    return problems.attemptLater(() => checkList(request)).then(() => problems.throwIfAny());
  };
}
