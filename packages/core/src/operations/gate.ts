import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { isPromise, isYes, runHook, whenReady } from '../awaitable.ts';
import { permissionDenied } from '../current-user.ts';
import { NotFound, TooManyRequests } from '../errors.ts';
import { evaluatePermissions, narrowGrant, type PermissionGrant } from '../permissions/evaluate.ts';
import { stateOf } from '../viewset/request/request-state.ts';
import { partOf } from '../viewset/writes/request-part.ts';
import type { PlannedRoute } from './plan-view.ts';
import type { ViewDefinition } from '../viewset/setup/view-definition.ts';
import { hasThrottleRate, type ViewSet } from '../viewset/viewset.ts';

/** The operations that ask about each record, whether the path names one or the body several. */
const CHANGES_RECORDS: ReadonlySet<string> = new Set(['update', 'destroy']);

export type Step = (request: FastifyRequest) => void | Promise<void>;

export type Gate = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => void;

/**
 * Makes the onRequest hook of a route, before its body is read: the view's `throttleRate`, the permissions, the form of the
 * pk, in the contract's order. Undefined if nothing stands before the route; makes no promise if no step needs one.
 */
export function compileGate(route: PlannedRoute): Gate | undefined {
  const { view } = route;
  const steps = admissionSteps(route);
  if (hasThrottleRate(view)) steps.unshift((request) => askView(view, request));
  if (steps.length === 0) return undefined;
  return (request, _reply, done) => runHook(() => runSteps(steps, 0, request), done);
}

/**
 * Makes the question if a request may have what a route is for, as far as that is known without its body and its record: the
 * permissions, and the form of the keys. It throws what the route would answer, and counts nothing.
 */
export function compileAdmission(route: PlannedRoute): Step {
  const steps = admissionSteps(route);
  return (request) => runSteps(steps, 0, request);
}

/** Makes the question if the permissions of a route let a request in. It throws what the route would answer. */
export function compilePermissions(route: PlannedRoute): Step {
  return route.plan.permissions.length + route.scopes.length > 0 ? permissionStep(route) : () => undefined;
}

function admissionSteps(route: PlannedRoute): Step[] {
  const { definition, parent, plan, scopes } = route;
  const steps: Step[] = [];
  if (plan.permissions.length + scopes.length > 0) steps.push(permissionStep(route));
  if (parent !== undefined) steps.push((request) => void parent.keysOf(request));
  if (plan.detail && definition.key.singleton === undefined) steps.push((request) => readPk(definition, request));
  return steps;
}

function runSteps(steps: readonly Step[], first: number, request: FastifyRequest): void | Promise<void> {
  for (let index = first; index < steps.length; index++) {
    const pending = steps[index]!(request);
    if (isPromise(pending)) return pending.then(() => runSteps(steps, index + 1, request));
  }
}

/** Counts a request by the view's `throttleRate`. Throws TooManyRequests. */
export async function askView(view: ViewSet, request: FastifyRequest): Promise<void> {
  if (partOf(request)?.isCounted === false) return;
  if (!isYes(await view.throttleRate(request))) throw new TooManyRequests(1);
}

function permissionStep({ view, plan, scopes }: PlannedRoute): Step {
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

function readPk(definition: ViewDefinition, request: FastifyRequest): void {
  const pk = definition.key.parse((request.params as { pk: string }).pk);
  if (pk === undefined) throw new NotFound();
  stateOf(request).pk = pk;
}
