import type { FastifyRequest } from 'fastify';
import type { Awaitable } from '../support/awaitable.ts';
import { InvalidUsageCollector } from '../errors/invalid-usage-collector.ts';
import { isEmpty } from '../support/json.ts';
import type { QueryParameters } from '../http/parameters.ts';
import { parametersOf } from '../view/request/request-state.ts';
import type { OperationParameter } from './operation-plan.ts';
import { queryReader } from './query-body.ts';
import { unknownParameterCheck } from './unknown-parameters.ts';

/** The query string that a route declares. */
export interface QueryDeclaration {
  /** Checks and converts the declared parameters of an action; undefined if it declares none. */
  readonly validate: ((query: unknown, parameters: QueryParameters) => unknown) | undefined;
  /** Selects the response by the parameters of a request; undefined if there are no such parameters. */
  readonly select: ((request: FastifyRequest) => void) | undefined;
  /** The parameters in the body of a QUERY request; undefined if they are in the query string. */
  readonly ofBody: readonly OperationParameter[] | undefined;
  /** The parameters of the view's lists. The filters and the paginator check them when they read them. */
  readonly listParameters: readonly string[];
  /** Further allowed names. true: all names. */
  readonly ignored: boolean | readonly string[];
}

/**
 * Makes the check of a route's parameters, which stores the converted values in `request.query`. It throws one
 * InvalidUsage for everything that is wrong: unknown names, the parameters of the action, and then also the list's
 * parameters. Undefined if the route accepts any query string unchanged.
 *
 * @param declared the names of all parameters of the route
 * @param checkList throws InvalidUsage for invalid parameters of a list
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
    // The route has no parameters to read.
    if (takesNone && isEmpty(request.query ?? {})) return;
    const problems = new InvalidUsageCollector();
    read?.(request, problems);
    // Keeps the parameters as sent, before a schema converts their texts or a hook replaces them.
    const sent = parametersOf(request);
    const refuse = check?.(sent.names());
    if (refuse === undefined && looksAtNames) return;
    if (refuse !== undefined) problems.attempt(refuse);
    if (validate !== undefined) {
      const others = Object.entries(request.query as object).filter(([name]) => !ofList.has(name));
      request.query = problems.attempt(() => validate(Object.fromEntries(others), sent));
    }
    if (select !== undefined) problems.attempt(() => select(request));
    if (problems.isEmpty || ofList.size === 0 || checkList === undefined) return problems.throwIfAny();
    return problems.attemptLater(() => checkList(request)).then(() => problems.throwIfAny());
  };
}
