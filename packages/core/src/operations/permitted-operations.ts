import type { FastifyReply, FastifyRequest } from 'fastify';
import { getCurrentUser } from '../current-user.ts';
import { refusalStatus } from '../errors.ts';
import { FieldValueError } from '../fields/field-value-error.ts';
import { getOrMake } from '../get-or-make.ts';
import { templateParameters, unnamed } from '../path-template.ts';
import { ModelViewSetBase } from '../viewset/model-viewset-base.ts';
import type { Parent } from '../viewset/visible/parent.ts';
import type { TakingOperation } from '../viewset/request/read-input.ts';
import { requestFor } from '../viewset/request/request-for.ts';
import { stateOf } from '../viewset/request/request-state.ts';
import { askForSender } from '../viewset/request/sender-question.ts';
import { SharedLookUps } from '../viewset/request/shared-look-ups.ts';
import { type PathKey, refusesKey } from '../viewset/visible/refused-values.ts';
import { SHOWS } from '../viewset/visible/shown-records.ts';
import { RuleList } from '../throttle/request-limiter.ts';
import { hasThrottleRate } from '../viewset/viewset.ts';
import { askView, compileAdmission, type Step } from './gate.ts';
import { isShowing, type OperationPlan } from './operation-plan.ts';
import type { PlannedRoute } from './plan-view.ts';
import { pathKeys } from './refusals.ts';

/** The operations that a person may ask for at a URL and directly below it. */
export interface Permitted {
  /** The methods at the URL itself; HEAD is not among them. */
  readonly methods: ReadonlySet<string>;
  /** By their operationIds: those of the URL, of its actions, and of the collections below a record. */
  readonly operationIds: readonly string[];
  /** The names of the write shapes that the view chooses for the person, of those operations whose bodies have one of several. */
  readonly writeShapes: readonly (readonly [operationId: string, shape: string])[];
}

/**
 * @param url the path of the request as it stands in the request line
 * @throws TooManyRequests for a URL with a key, if a throttle of an operation there refuses
 */
export type PermittedAt = (request: FastifyRequest, reply: FastifyReply, url: string) => Promise<Permitted>;

interface Asked {
  readonly route: PlannedRoute;
  readonly isHere: boolean;
  /** The rest of its path below the URL, `/recount`. */
  readonly rest: string;
  readonly admit: Step;
  /** True if throttles of its own hold requests for it, by which this question is not counted. */
  readonly isUncounted: boolean;
}

/**
 * Makes the function that tells what the sender of a request may do at its URL, and at those below it that name no further record. An
 * operation is permitted if its permissions let the request in, if the views of its parents show them, and if its record is there and
 * its object permissions agree: whatever would be a 401, 403 or 404 is left out, so that a hidden record is like an absent one. Nothing
 * is known of a body: a question that fails after it has looked into the body, or the query string, leaves the operation out. Of the
 * root of a router, it tells which collections can be listed.
 *
 * If the URL has a key, the question is counted by all throttles of the operations at the URL, each once: else keys could be guessed
 * past them. Of an operation below the URL with throttles of its own it is told only if an operation at the URL shows the record.
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
  const asked = [...here, ...below].map((route): Asked => ({
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
    for (const each of asked) {
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

/** Asks if an operation is permitted, and by which of several write shapes. Undefined if it is not. */
async function permissionFor(
  { route, rest, admit }: Asked,
  asking: FastifyRequest,
  { url, values }: { readonly url: string; readonly values: readonly string[] },
  parents: Map<Parent, Promise<void>>,
): Promise<{ readonly shape: string | undefined } | undefined> {
  const { plan, parent, view, definition } = route;
  if (getCurrentUser(asking) === null && route.needsTokenAt(url.replace(/\/$/, '') + rest)) return undefined;
  const params = Object.fromEntries(plan.pathParameters.map(({ name }, index) => [name, values[index]!]));
  let dependsOnInput = false;
  const onInputRead = (): void => void (dependsOnInput = true);
  const request = requestFor(asking, { plan, method: plan.method, params, onInputRead });
  try {
    await admit(request);
    // Checked once for all operations below a parent: its view is always asked by GET.
    if (parent !== undefined) await getOrMake(parents, parent, () => parent.check(request));
    if (view instanceof ModelViewSetBase) await view[SHOWS].permit(request, plan);
    const isOneOfSeveral = plan.writeShapes.length > 1;
    return { shape: isOneOfSeveral ? definition.input?.of(request, plan.action as TakingOperation).name : undefined };
  } catch (error) {
    // A value of the program that fits no field is a 500 wherever it is asked.
    if (refusalStatus(error) !== undefined && !(error instanceof FieldValueError)) return undefined;
    const keysOf = (): readonly PathKey[] => pathKeys({ meta: view.meta, key: definition.key, parent }, request);
    if (await refusesKey(request, error, keysOf)) return undefined;
    // Whoever has looked into a body that is not there cannot tell what it would say to another one.
    if (!dependsOnInput) throw error;
    asking.log.debug({ err: error, operation: plan.operationId }, 'OPTIONS leaves out what depends on the body');
    return undefined;
  }
}

/**
 * Tells which of several write shapes a view chooses for the sender of a request, of whom alone something is known. Undefined if the body of
 * the operation has one shape, or if the view looks at the rest of the request to choose.
 */
export async function writeShapeOf(
  { plan, definition: { input } }: PlannedRoute,
  asking: FastifyRequest,
): Promise<string | undefined> {
  if (input === undefined || plan.writeShapes.length < 2) return undefined;
  const answer = await askForSender(plan, asking, (request) => input.of(request, plan.action as TakingOperation).name);
  return typeof answer === 'string' ? undefined : answer.answer;
}
