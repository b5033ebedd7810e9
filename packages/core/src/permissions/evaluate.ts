import type { FastifyRequest } from 'fastify';
import { type Awaitable, isPromise, whenReady } from '../awaitable.ts';
import { and, type Condition, isAlways, never } from '../language/condition.ts';
import { ALL, covers, type Grant, intersection, NONE, scopeGrant } from './grant.ts';
import { GRANT, type Permission, type PermissionView } from './permission.ts';

/** The answer of a view's permissions together, for one request. */
export interface PermissionGrant {
  /** True: the request itself is refused. */
  readonly denied: boolean;
  /** The condition of the records that may be seen, perhaps none; undefined: all of them. The view's queries have to apply it. */
  readonly scope: Condition | undefined;
  /** True if the record has to be looked at, by `allows`. */
  readonly needsObject: boolean;
  /**
   * Tells if a record of the scope may be touched. If the request was not about one record (`object: false`), any record
   * may be asked about: it is looked at in full, its scope included.
   */
  allows(object: object): boolean | Promise<boolean>;
}

/** The answer of permissions that grant everything, which most requests get. */
const EVERYTHING: PermissionGrant = Object.freeze({
  denied: false,
  scope: undefined,
  needsObject: false,
  allows: () => true,
});

const REFUSED: PermissionGrant = Object.freeze({
  denied: true,
  scope: never,
  needsObject: false,
  allows: () => false,
});

/** The kind of a request. */
export interface EvaluateOptions {
  /** True if the request is about one record. */
  readonly object: boolean;
}

/**
 * Asks permissions, all of which must grant, once for a request; none is asked after one that refuses. Makes no
 * promise if no permission needs one.
 */
export function evaluatePermissions(
  permissions: readonly Permission[],
  request: FastifyRequest,
  view: PermissionView,
  { object: wantsObject }: EvaluateOptions,
): Awaitable<PermissionGrant> {
  return whenReady(grantOf(permissions, request, view), (granted) => {
    if (granted === ALL) return EVERYTHING;
    if (granted === NONE) return REFUSED;
    const { shown, object: check } = granted;
    const scope = isAlways(shown.most) ? undefined : shown.most;
    // A view without an entity has no query that a scope could narrow.
    if (scope !== undefined && view.meta === undefined) return REFUSED;
    return {
      denied: false,
      scope,
      needsObject: wantsObject && check !== true,
      allows: (object) => (wantsObject ? check === true || check(object) : covers(granted, object, request)),
    };
  });
}

/**
 * Narrows a grant to the records that other permissions show. Only their scopes count: if they grant nothing, no record
 * is shown, and the request itself is not refused.
 */
export function narrowGrant(
  granted: PermissionGrant,
  permissions: readonly Permission[],
  request: FastifyRequest,
  view: PermissionView,
  { object: wantsObject }: EvaluateOptions,
): Awaitable<PermissionGrant> {
  return whenReady(grantOf(permissions, request, view), ({ shown: { most: scope } }) => {
    if (isAlways(scope)) return granted;
    const shown = scopeGrant(scope);
    return {
      ...granted,
      scope: granted.scope === undefined ? scope : and(granted.scope, scope),
      allows: (object) =>
        wantsObject
          ? granted.allows(object)
          : whenReady(covers(shown, object, request), (isShown) => isShown && granted.allows(object)),
    };
  });
}

/** Asks permissions in their order, from one on, until one of them refuses, and adds their answers to what those before it grant. */
function grantOf(
  permissions: readonly Permission[],
  request: FastifyRequest,
  view: PermissionView,
  first = 0,
  before: Grant = ALL,
): Awaitable<Grant> {
  let granted = before;
  for (let index = first; index < permissions.length && granted !== NONE; index++) {
    const answer = permissions[index]![GRANT](request, view);
    if (isPromise(answer)) {
      const known = granted;
      return answer.then((own) => grantOf(permissions, request, view, index + 1, intersection(known, own)));
    }
    granted = intersection(granted, answer);
  }
  return granted;
}
