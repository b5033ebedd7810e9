import type { FastifyRequest } from 'fastify';
import { type Awaitable, isPromise, whenReady } from '../support/awaitable.ts';
import { and, type Condition, isAlways, never } from '../query/language/condition.ts';
import { ALL, allowsRecord, type Grant, intersection, NONE, scopeGrant } from './grant.ts';
import { GRANT, type Permission, type PermissionView } from './permission.ts';

/** The combined decision of a view's permissions about one request. */
export interface PermissionGrant {
  /** True if the request itself is refused. */
  readonly denied: boolean;
  /**
   * The condition for the records that the request may see, perhaps none. Undefined: all records. The view's queries
   * must apply it.
   */
  readonly scope: Condition | undefined;
  /** True if the record must be checked with `allows`. */
  readonly needsObject: boolean;
  /**
   * Reports whether the request may use a record of the scope. With `object: false` it accepts any record, and checks
   * the scope as well.
   */
  allows(object: object): boolean | Promise<boolean>;
}

/** The grant of permissions that allow everything. Most requests get it. */
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

export interface EvaluateOptions {
  /** True if the request is about one record. */
  readonly object: boolean;
}

/**
 * Evaluates permissions for a request. All of them must grant; the first refusal ends the evaluation. Creates no
 * promise unless a permission returns one.
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
    // A view without an entity has no query to which a scope could apply.
    if (scope !== undefined && view.meta === undefined) return REFUSED;
    return {
      denied: false,
      scope,
      needsObject: wantsObject && check !== true,
      allows: (object) => (wantsObject ? check === true || check(object) : allowsRecord(granted, object, request)),
    };
  });
}

/**
 * Narrows a grant to the records that other permissions show. It uses only their scopes. If they grant nothing, no
 * record is shown, but the request itself is not refused.
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
          : whenReady(allowsRecord(shown, object, request), (isShown) => isShown && granted.allows(object)),
    };
  });
}

/**
 * Evaluates permissions in order, starting at `first`, until one refuses. Intersects their grants with the grants of
 * the permissions before it.
 */
function grantOf(
  permissions: readonly Permission[],
  request: FastifyRequest,
  view: PermissionView,
  first = 0,
  before: Grant = ALL,
): Awaitable<Grant> {
  let granted = before;
  for (let index = first; index < permissions.length && granted !== NONE; index++) {
    const result = permissions[index]![GRANT](request, view);
    if (isPromise(result)) {
      const known = granted;
      return result.then((grant) => grantOf(permissions, request, view, index + 1, intersection(known, grant)));
    }
    granted = intersection(granted, result);
  }
  return granted;
}
