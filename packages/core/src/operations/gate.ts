import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { isPromise, isYes, runHook, whenReady } from '../awaitable.ts';
import { NotFound, TooManyRequests } from '../errors.ts';
import { evaluatePermissions, type PermissionGrant } from '../permissions/evaluate.ts';
import { stateOf } from '../viewset/request-state.ts';
import type { OperationPlan } from './operation-plan.ts';
import type { PlannedRoute } from './plan-view.ts';
import type { ViewDefinition } from '../viewset/view-definition.ts';
import { permissionDenied, ViewSet } from '../viewset/viewset.ts';

type Step = (request: FastifyRequest) => void | Promise<void>;

export type Gate = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => void;

/**
 * The onRequest hook of a route, before its body is read: the view's `throttleRate`, its permissions, the form of the pk, in the
 * contract's order. Undefined where nothing stands before the route; no promise is made where no step needs one.
 */
export function compileGate(route: PlannedRoute): Gate | undefined {
  const steps = gateSteps(route);
  if (steps.length === 0) return undefined;
  return (request, _reply, done) => runHook(() => runSteps(steps, 0, request), done);
}

function gateSteps({ view, definition, plan }: PlannedRoute): Step[] {
  const { permissions, detail } = plan;
  const steps: Step[] = [];
  if (view.throttleRate !== ViewSet.prototype.throttleRate) steps.push((request) => askView(view, request));
  if (permissions.length > 0) steps.push((request) => checkPermissions(view, plan, request));
  if (detail) steps.push((request) => readPk(definition, request));
  return steps;
}

function runSteps(steps: readonly Step[], first: number, request: FastifyRequest): void | Promise<void> {
  for (let index = first; index < steps.length; index++) {
    const pending = steps[index]!(request);
    if (isPromise(pending)) return pending.then(() => runSteps(steps, index + 1, request));
  }
}

async function askView(view: ViewSet, request: FastifyRequest): Promise<void> {
  if (!isYes(await view.throttleRate(request))) throw new TooManyRequests(1);
}

function checkPermissions(
  view: ViewSet,
  { permissions, detail }: OperationPlan,
  request: FastifyRequest,
): void | Promise<void> {
  const grant = evaluatePermissions(permissions, request, view, { object: detail });
  return whenReady(grant, (granted) => admit(request, granted));
}

function admit(request: FastifyRequest, grant: PermissionGrant): void {
  if (grant.denied) throw permissionDenied(request);
  stateOf(request).grant = grant;
}

function readPk(definition: ViewDefinition, request: FastifyRequest): void {
  const pk = definition.parsePk((request.params as { pk: string }).pk);
  if (pk === undefined) throw new NotFound();
  stateOf(request).pk = pk;
}
