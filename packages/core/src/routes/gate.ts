import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { isPromise, isYes, runHook } from '../support/awaitable.ts';
import { orNotFound, TooManyRequests } from '../errors/errors.ts';
import { stateOf } from '../view/request/request-state.ts';
import { compilePermissions } from '../view/request/permission-check.ts';
import { partOf } from '../view/write/request-part.ts';
import type { PlannedRoute } from './plan-view.ts';
import type { ViewDefinition } from '../view/setup/view-definition.ts';
import { hasThrottleRate, type ViewSet } from '../view/viewset.ts';

export type Step = (request: FastifyRequest) => void | Promise<void>;

export type Gate = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => void;

/**
 * Makes the onRequest hook of a route, which runs before the body is read. It checks the view's `throttleRate`, the
 * permissions and the form of the pk, in the contract's order. Undefined if there is nothing to check. It creates no
 * promise unless a step does.
 */
export function compileGate(route: PlannedRoute): Gate | undefined {
  const { view } = route;
  const steps = admissionSteps(route);
  if (hasThrottleRate(view)) steps.unshift((request) => askView(view, request));
  if (steps.length === 0) return undefined;
  return (request, _reply, done) => runHook(() => runSteps(steps, 0, request), done);
}

/**
 * Makes the check of whether a request may use a route, as far as that is known without the body and the record: by the
 * permissions and the form of the keys. Throws the error that the route would respond with. Counts nothing.
 */
export function compileAdmission(route: PlannedRoute): Step {
  const steps = admissionSteps(route);
  return (request) => runSteps(steps, 0, request);
}

function admissionSteps(route: PlannedRoute): Step[] {
  const { definition, parent, plan } = route;
  const steps: Step[] = [];
  const ask = compilePermissions(route);
  if (ask !== undefined) steps.push(ask);
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

/** Asks the view's `throttleRate` about a request. Throws TooManyRequests. */
export async function askView(view: ViewSet, request: FastifyRequest): Promise<void> {
  if (partOf(request)?.isCounted === false) return;
  if (!isYes(await view.throttleRate(request))) throw new TooManyRequests(1);
}

function readPk(definition: ViewDefinition, request: FastifyRequest): void {
  stateOf(request).pk = orNotFound(definition.key.parse((request.params as { pk: string }).pk));
}
