import type { FastifyRequest } from 'fastify';
import { type Awaitable, isPromise, whenReady } from '../awaitable.ts';
import { and, type Condition, isAlways } from '../language/condition.ts';
import { ALL, covers, type Grant, intersection, NONE, scopeGrant } from './grant.ts';
import { GRANT, type Permission, type PermissionView } from './permission.ts';

/** The answer of a view's permissions together, for one request. */
export interface PermissionGrant {
  /** True: nothing is granted. */
  readonly denied: boolean;
  /** The condition of the records that may be seen; undefined: all of them. The view's queries have to apply it. */
  readonly scope: Condition | undefined;
  /** True if the record has to be looked at, by `allows`. */
  readonly needsObject: boolean;
  /**
   * Tells if a record of the scope may be touched. If the request was not about one record (`object: false`), any record
   * may be asked about: it is looked at in full, its scope included.
   */
  allows(object: object): boolean | Promise<boolean>;
}

/** The kind of a request. */
export interface EvaluateOptions {
  /** True if the request is about one record. */
  readonly object: boolean;
}

const allowed = (): boolean => true;
const refused = (): boolean => false;
const GRANTED: PermissionGrant = Object.freeze({
  denied: false,
  scope: undefined,
  needsObject: false,
  allows: allowed,
});
const DENIED: PermissionGrant = Object.freeze({ denied: true, scope: undefined, needsObject: false, allows: refused });

/**
 * Asks permissions, all of which must grant, once for a request; none is asked after one that grants nothing. Makes no
 * promise if no permission needs one.
 */
export function evaluatePermissions(
  permissions: readonly Permission[],
  request: FastifyRequest,
  view: PermissionView,
  options: EvaluateOptions,
): Awaitable<PermissionGrant> {
  const { object: wantsObject } = options;
  return whenReady(grantOf(permissions, request, view, wantsObject), (granted) =>
    evaluated(permissions, granted, request, view, wantsObject),
  );
}

/**
 * Narrows a grant to the records that other permissions show. Only their scopes count: where they grant nothing, no record
 * is shown, and the request itself is not refused.
 */
export function narrowGrant(
  granted: PermissionGrant,
  permissions: readonly Permission[],
  request: FastifyRequest,
  view: PermissionView,
  { object: wantsObject }: EvaluateOptions,
): Awaitable<PermissionGrant> {
  return whenReady(grantOf(permissions, request, view, false), ({ scope }) => {
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

function evaluated(
  permissions: readonly Permission[],
  granted: Grant,
  request: FastifyRequest,
  view: PermissionView,
  wantsObject: boolean,
): PermissionGrant {
  if (granted === NONE) return DENIED;
  if (granted === ALL) return GRANTED;
  const { scope, object: check } = granted;
  return {
    denied: false,
    scope: scope.kind === 'constant' ? undefined : scope,
    needsObject: wantsObject && check !== true,
    allows: wantsObject
      ? (object) => check === true || check(object)
      : (object) => whenReady(grantOf(permissions, request, view, true), (full) => covers(full, object, request)),
  };
}

/** Narrows what was granted `before` by what each of the permissions grants. */
function grantOf(
  permissions: readonly Permission[],
  request: FastifyRequest,
  view: PermissionView,
  wantsObject: boolean,
  before: Grant = ALL,
): Awaitable<Grant> {
  let granted = before;
  for (let at = 0; at < permissions.length; at++) {
    const next = permissions[at]![GRANT](request, view, wantsObject);
    if (isPromise(next)) {
      return next.then((known) => {
        const both = intersection(granted, known);
        return both === NONE ? NONE : grantOf(permissions.slice(at + 1), request, view, wantsObject, both);
      });
    }
    granted = intersection(granted, next);
    if (granted === NONE) return NONE;
  }
  return granted;
}
