import type { FastifyReply, FastifyRequest } from 'fastify';
import { getCurrentUser, permissionDenied } from '../../http/current-user.ts';
import { compilePermissions } from '../../view/request/permission-check.ts';
import { oneBody } from '../../view/request/read-input.ts';
import { simulateRequest } from '../../view/request/request-for.ts';
import { stateOf } from '../../view/request/request-state.ts';
import { type FeatureView, STEPS } from '../../view/setup/feature.ts';

/**
 * Updates the record of a request by a body, as PATCH does, for a sender who may update it.
 *
 * @throws the error of the permission that refuses; InvalidUsage for a body that PATCH would refuse
 */
export async function revertRecord(
  view: FeatureView,
  request: FastifyRequest,
  reply: FastifyReply,
  makeBody: () => Promise<object>,
): Promise<object> {
  await admitUpdate(view, request);
  const read = oneBody(view.input!.read(request, await makeBody(), 'change'));
  request.body = read.value;
  stateOf(request).input = read;
  return view.view[STEPS].update.run(request, reply, view.outputs.of(request, 'retrieve'));
}

/** Checks that the sender may update the record, because permissions may depend on the operation. */
async function admitUpdate({ view }: FeatureView, request: FastifyRequest): Promise<void> {
  const { plannedRoutes } = request.server.viewset;
  const route = plannedRoutes.find(
    (each) => each.view === (view as object) && each.plan.detail && each.plan.action === 'update',
  )!;
  if (route.needsToken && getCurrentUser(request) === null) throw permissionDenied(request);
  const { plan } = route;
  const { pk } = stateOf(request);
  const params = request.params as Readonly<Record<string, string>>;
  const simulated = simulateRequest(request, { plan, method: plan.method, params, pk });
  await compilePermissions(route)?.(simulated);
  await view.getObject(simulated);
}
