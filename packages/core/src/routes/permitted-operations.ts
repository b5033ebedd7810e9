import type { FastifyReply, FastifyRequest } from 'fastify';
import { getCurrentUser } from '../http/current-user.ts';
import { refusalStatus } from '../errors/errors.ts';
import { FieldValueError } from '../fields/field-value-error.ts';
import { getOrMake } from '../support/get-or-make.ts';
import { templateParameters, unnamed } from '../http/path-template.ts';
import { ModelViewSetBase } from '../view/model-viewset-base.ts';
import type { Parent } from '../view/records/parent.ts';
import { simulateRequest } from '../view/request/request-for.ts';
import { stateOf } from '../view/request/request-state.ts';
import { tryPermission } from '../view/request/permission-check.ts';
import { SharedLookUps } from '../view/request/shared-look-ups.ts';
import { type PathKey, rejectsKey } from '../view/records/database-rejections.ts';
import { SHOWN_RECORDS } from '../view/records/shown-records.ts';
import { RuleList } from '../throttle/request-limiter.ts';
import { hasThrottleRate } from '../view/viewset.ts';
import { askView, compileAdmission, type Step } from './gate.ts';
import { isShowing, type OperationPlan } from './operation-plan.ts';
import type { PlannedRoute } from './plan-view.ts';
import { pathKeys } from './database-rejections.ts';
import type { InputOperation } from '../view/request/operation.ts';

/** The operations that a user may request at a URL and directly below it. */
export interface Permitted {
  /** The methods at the URL itself, without HEAD. */
  readonly methods: ReadonlySet<string>;
  /** The operationIds of the URL, of its actions, and of the collections below a record. */
  readonly operationIds: readonly string[];
  /** The write shapes that the view chooses for the user, for operations with several write shapes. */
  readonly writeShapes: readonly (readonly [operationId: string, shape: string])[];
}

/**
 * @param url the path of the request as in the request line
 * @throws TooManyRequests for a URL with a key, if a throttle of an operation there refuses the request
 */
export type PermittedAt = (request: FastifyRequest, reply: FastifyReply, url: string) => Promise<Permitted>;

interface ListedRoute {
  readonly route: PlannedRoute;
  readonly isHere: boolean;
  /** The path below the URL, `/recount`. */
  readonly rest: string;
  readonly admit: Step;
  /** True if the operation has throttles that do not count this check. */
  readonly isUncounted: boolean;
}

/**
 * Makes the function that finds the operations which the sender of a request may use at its URL, and below it without a
 * further key. An operation is permitted if all of these hold:
 *
 * - its permissions allow the request;
 * - the views of its parents show them;
 * - its record exists, and its object permissions agree.
 *
 * Operations that would give 401, 403 or 404 are left out, so that a hidden record looks like a missing one. There is
 * no body and no query string: a check that fails after it has read them leaves the operation out. For the root of a
 * router, the result contains the collections that can be listed.
 *
 * If the URL has a key, all throttles of the operations at the URL count the check, each once. Otherwise clients could
 * guess keys without limit. An operation below the URL with its own throttles is included only if an operation at the
 * URL is permitted.
 *
 * @param path the path of the URL with its parameters by name
 * @param routes the routes of the application
 * @param common the throttles that count every request
 */
export function permittedOperations(path: string, routes: readonly PlannedRoute[], common: RuleList): PermittedAt {
  const here = routes.filter(({ plan }) => plan.path === path);
  const isRoot = here.some(({ definition }) => definition.listsCollections === true);
  const start = `${unnamed(path)}/`;
  const below = routes.filter(({ plan }) => {
    const each = unnamed(plan.path);
    return each.startsWith(start) && !each.includes(':', start.length) && (!isRoot || isShowing(plan));
  });
  const names = templateParameters(path);
  const hasKey = names.length > 0;
  const counting = RuleList.combine(here.map(({ plan }) => plan.rules)).except(common);
  const hooked = [...new Set(here.map(({ view }) => view).filter(hasThrottleRate))];
  const listed = [...here, ...below].map((route): ListedRoute => ({
    route,
    isHere: route.plan.path === path,
    rest: unnamed(route.plan.path).slice(unnamed(path).length),
    admit: compileAdmission(route),
    isUncounted:
      hasKey &&
      (!route.plan.rules.except(common).except(counting).isEmpty ||
        (hasThrottleRate(route.view) && !hooked.includes(route.view))),
  }));
  return async (request, reply, url) => {
    if (hasKey) {
      for (const phase of ['address', 'user'] as const) await counting.check(phase, request, reply);
      for (const view of hooked) await askView(view, request);
    }
    const params = request.params as Readonly<Record<string, string>>;
    const values = names.map((name) => params[name]!);
    stateOf(request).lookUps = new SharedLookUps();
    const parents = new Map<Parent, Promise<void>>();
    const permitted: { readonly isHere: boolean; readonly plan: OperationPlan; readonly shape: string | undefined }[] =
      [];
    for (const each of listed) {
      // The operations at the URL come first.
      if (each.isUncounted && !permitted.some(({ isHere }) => isHere)) continue;
      const permission = await permissionFor(each, request, { url, values }, parents);
      if (permission !== undefined) permitted.push({ isHere: each.isHere, plan: each.route.plan, ...permission });
    }
    return {
      methods: new Set(permitted.filter(({ isHere }) => isHere).map(({ plan }) => plan.method)),
      operationIds: permitted.map(({ plan }) => plan.operationId),
      writeShapes: permitted.flatMap(({ plan, shape }) => (shape === undefined ? [] : [[plan.operationId, shape]])),
    };
  };
}

/**
 * Checks whether an operation is permitted, and finds the write shape if it has several. Undefined if it is not
 * permitted.
 */
async function permissionFor(
  { route, rest, admit }: ListedRoute,
  sender: FastifyRequest,
  { url, values }: { readonly url: string; readonly values: readonly string[] },
  parents: Map<Parent, Promise<void>>,
): Promise<{ readonly shape: string | undefined } | undefined> {
  const { plan, parent, view, definition } = route;
  if (getCurrentUser(sender) === null && route.needsTokenAt(url.replace(/\/$/, '') + rest)) return undefined;
  const params = Object.fromEntries(plan.pathParameters.map(({ name }, index) => [name, values[index]!]));
  let dependsOnInput = false;
  const onInputRead = (): void => void (dependsOnInput = true);
  const request = simulateRequest(sender, { plan, method: plan.method, params, onInputRead });
  try {
    await admit(request);
    // Checked once for all operations below a parent: its view is always asked by GET.
    if (parent !== undefined) await getOrMake(parents, parent, () => parent.check(request));
    if (view instanceof ModelViewSetBase) await view[SHOWN_RECORDS].permit(request, plan);
    const isOneOfSeveral = plan.writeShapes.length > 1;
    return { shape: isOneOfSeveral ? definition.input?.of(request, plan.action as InputOperation).name : undefined };
  } catch (error) {
    // A value of the program that fits no field gives 500 everywhere.
    if (refusalStatus(error) !== undefined && !(error instanceof FieldValueError)) return undefined;
    const keysOf = (): readonly PathKey[] => pathKeys({ meta: view.meta, key: definition.key, parent }, request);
    if (await rejectsKey(request, error, keysOf)) return undefined;
    // A check that has read the missing body cannot decide for another body.
    if (!dependsOnInput) throw error;
    sender.log.debug({ err: error, operation: plan.operationId }, 'OPTIONS leaves out what depends on the body');
    return undefined;
  }
}

/**
 * Returns the write shape that a view chooses for the sender of a request, if the body has several shapes. Only the
 * sender is known. Undefined if the body has one shape, or if the choice depends on the rest of the request.
 */
export async function writeShapeOf(
  { plan, definition: { input } }: PlannedRoute,
  sender: FastifyRequest,
): Promise<string | undefined> {
  if (input === undefined || plan.writeShapes.length < 2) return undefined;
  return nameForSender(plan, sender, (request) => input.of(request, plan.action as InputOperation).name);
}

/**
 * Returns the read shape that a view chooses for the sender of a request, if the response has several shapes. Only the
 * sender is known. Undefined if the response has one shape, or if the choice depends on the rest of the request.
 */
export async function readShapeOf(
  { plan, declared: { recordsAs }, definition: { outputs } }: PlannedRoute,
  sender: FastifyRequest,
): Promise<string | undefined> {
  if (outputs === undefined || recordsAs === undefined || plan.readShapes.length < 2) return undefined;
  return nameForSender(plan, sender, (request) => outputs.of(request, recordsAs).name);
}

async function nameForSender(
  plan: OperationPlan,
  sender: FastifyRequest,
  choose: (request: FastifyRequest) => string,
): Promise<string | undefined> {
  const result = await tryPermission(plan, sender, choose);
  return typeof result === 'string' ? undefined : result.result;
}
