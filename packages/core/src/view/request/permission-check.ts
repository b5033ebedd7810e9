import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import { type Awaitable, whenReady } from '../../support/awaitable.ts';
import { getCurrentUser, permissionDenied } from '../../http/current-user.ts';
import { refusalStatus } from '../../errors/errors.ts';
import { FieldValueError } from '../../fields/field-value-error.ts';
import { evaluatePermissions, narrowGrant, type PermissionGrant } from '../../permissions/evaluate.ts';
import type { Permission, PermissionView } from '../../permissions/permission.ts';
import { simulateRequest } from './request-for.ts';
import { stateOf } from './request-state.ts';
import { rowOf } from './operation.ts';

type Plan = NonNullable<FastifyContextConfig['viewset']>;

/** The part of a route that decides who may use it. */
export interface GuardedRoute {
  readonly plan: Plan;
  readonly view: PermissionView;
  /** The view's permissions whose scopes narrow an action with its own permissions. */
  readonly scopes: readonly Permission[];
  /** True if a request needs a token. */
  readonly needsToken: boolean;
}

/**
 * Makes the function that checks the permissions of a route and keeps their grant; undefined if there are none. The
 * function throws the same error that the route would send.
 */
export function compilePermissions({
  view,
  plan,
  scopes,
}: Omit<GuardedRoute, 'needsToken'>): ((request: FastifyRequest) => Awaitable<void>) | undefined {
  if (plan.permissions.length + scopes.length === 0) return undefined;
  // With several records, updates and deletions have object permissions too.
  const about = { object: plan.detail || rowOf(plan.action)?.detail === true };
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

type Params = Readonly<Record<string, string>>;

/**
 * Reports whether an operation may admit a request, when only its sender is known. The query string and the body are
 * unknown, and so are path keys that are not given. False if the operation needs a token that the sender lacks, or if
 * its permissions refuse without reading unknown parts.
 */
export async function admitsSender(route: GuardedRoute, sender: FastifyRequest, known: Params = {}): Promise<boolean> {
  if (route.needsToken && getCurrentUser(sender) === null) return false;
  const ask = compilePermissions(route);
  return ask === undefined || (await tryPermission(route.plan, sender, ask, known)) !== 'refused';
}

/**
 * Evaluates a question about an operation, when only the sender of a request is known. Returns `undecided` if the
 * question reads an unknown part, and `refused` if it throws an error for the client. Throws other errors, which are
 * mistakes in the program.
 */
export async function tryPermission<Result>(
  plan: Plan,
  sender: FastifyRequest,
  ask: (request: FastifyRequest) => Awaitable<Result>,
  known: Params = {},
): Promise<{ readonly result: Result } | 'refused' | 'undecided'> {
  let isUndecided = false;
  const onInputRead = (): void => void (isUndecided = true);
  const params = paramsOf(plan, known, onInputRead);
  try {
    const result = await ask(simulateRequest(sender, { plan, method: plan.method, params, onInputRead }));
    return isUndecided ? 'undecided' : { result };
  } catch (error) {
    if (isUndecided) return 'undecided';
    // If a value of the program does not fit its field, the error is a 500 everywhere.
    if (refusalStatus(error) === undefined || error instanceof FieldValueError) throw error;
    return 'refused';
  }
}

/** Makes the parameters of a path. For unknown parameters, only the names are known. */
function paramsOf({ pathParameters }: Plan, known: Params, onRead: () => void): Params {
  const unknown: PropertyDescriptor = { enumerable: true, get: onRead };
  const params = pathParameters.map(({ name }) => [name, Object.getOwnPropertyDescriptor(known, name) ?? unknown]);
  return Object.defineProperties({}, Object.fromEntries(params) as PropertyDescriptorMap) as Params;
}
