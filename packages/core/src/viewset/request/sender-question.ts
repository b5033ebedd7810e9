import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import { type Awaitable, whenReady } from '../../awaitable.ts';
import { getCurrentUser, permissionDenied } from '../../current-user.ts';
import { refusalStatus } from '../../errors.ts';
import { FieldValueError } from '../../fields/field-value-error.ts';
import { evaluatePermissions, narrowGrant, type PermissionGrant } from '../../permissions/evaluate.ts';
import type { Permission, PermissionView } from '../../permissions/permission.ts';
import { requestFor } from './request-for.ts';
import { stateOf } from './request-state.ts';

type Plan = NonNullable<FastifyContextConfig['viewset']>;

/** The part of a route that says who may send requests to it. */
export interface GuardedRoute {
  readonly plan: Plan;
  readonly view: PermissionView;
  /** The view's permissions whose scopes narrow an action that has permissions of its own. */
  readonly scopes: readonly Permission[];
  /** True if a request needs a token. */
  readonly needsToken: boolean;
}

/** The operations that ask about each record, whether the path names one or the body several. */
const CHANGES_RECORDS: ReadonlySet<string> = new Set(['update', 'destroy']);

/**
 * Makes the question if the permissions of a route let a request in, and keeps what they grant; undefined if there are none. It throws what the
 * route would answer.
 */
export function compilePermissions({
  view,
  plan,
  scopes,
}: Omit<GuardedRoute, 'needsToken'>): ((request: FastifyRequest) => Awaitable<void>) | undefined {
  if (plan.permissions.length + scopes.length === 0) return undefined;
  const about = { object: plan.detail || CHANGES_RECORDS.has(plan.action) };
  return (request) =>
    whenReady(evaluatePermissions(plan.permissions, request, view, about), (grant) => {
      if (grant.denied || scopes.length === 0) return admit(request, grant);
      return whenReady(narrowGrant(grant, scopes, request, view, about), (narrowed) => admit(request, narrowed));
    });
}

function admit(request: FastifyRequest, grant: PermissionGrant): void {
  if (grant.denied) throw permissionDenied(request);
  stateOf(request).grant = grant;
}

/** The parameters of a path by their names. */
type Params = Readonly<Record<string, string>>;

/**
 * Tells if an operation may let the sender of a request in, of whom alone something is known: not its query string, not its body, and
 * of the keys of its path only those that are given. False if it needs a token that the sender lacks, or if its permissions refuse without
 * having looked at the rest.
 */
export async function admitsSender(route: GuardedRoute, asking: FastifyRequest, known: Params = {}): Promise<boolean> {
  if (route.needsToken && getCurrentUser(asking) === null) return false;
  const ask = compilePermissions(route);
  return ask === undefined || (await askForSender(route.plan, asking, ask, known)) !== 'refused';
}

/**
 * Asks about an operation for the sender of a request, of whom alone something is known. `undecided`: the question has looked at the rest.
 * `refused`: it has thrown what is an answer to the sender. It throws all that is a fault of the program.
 */
export async function askForSender<Answer>(
  plan: Plan,
  asking: FastifyRequest,
  ask: (request: FastifyRequest) => Awaitable<Answer>,
  known: Params = {},
): Promise<{ readonly answer: Answer } | 'refused' | 'undecided'> {
  let isUndecided = false;
  const onInputRead = (): void => void (isUndecided = true);
  const params = paramsOf(plan, known, onInputRead);
  try {
    const answer = await ask(requestFor(asking, { plan, method: plan.method, params, onInputRead }));
    return isUndecided ? 'undecided' : { answer };
  } catch (error) {
    if (isUndecided) return 'undecided';
    // A value of the program that fits no field is a 500 wherever it is asked.
    if (refusalStatus(error) === undefined || error instanceof FieldValueError) throw error;
    return 'refused';
  }
}

/** Makes the parameters of a path, of some of which nothing is known but their names. */
function paramsOf({ pathParameters }: Plan, known: Params, onRead: () => void): Params {
  const unknown: PropertyDescriptor = { enumerable: true, get: onRead };
  const params = pathParameters.map(({ name }) => [name, Object.getOwnPropertyDescriptor(known, name) ?? unknown]);
  return Object.defineProperties({}, Object.fromEntries(params) as PropertyDescriptorMap) as Params;
}
