import type { FastifyRequest } from 'fastify';
import { type Awaitable, isPromise, whenReady } from '../awaitable.ts';
import type { Condition } from '../language/condition.ts';
import { ALL, covers, type Grant, intersection, NONE } from './grant.ts';
import { GRANT, type Permission, type PermissionView } from './permission.ts';

/** What a view's permissions come to for one request. */
export interface PermissionGrant {
  /** True: nothing is granted. */
  readonly denied: boolean;
  /** Which records may be seen; undefined: all of them. The view's queries have to apply it. */
  readonly scope: Condition | undefined;
  /** Whether the record has to be looked at, by `allows`. */
  readonly needsObject: boolean;
  /**
   * Whether a record of the scope may be touched. Where the request was not about one record (`object: false`), any
   * record may be asked about: it is looked at in full, its scope included.
   */
  allows(object: object): boolean | Promise<boolean>;
}

/** What a request is about. */
export interface EvaluateOptions {
  /** Whether the request is about one record. */
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
 * Asks permissions, all of which must grant, once for a request; none is asked after one that grants nothing. No promise
 * where no permission needs one.
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

/** What permissions grant together of what was granted `before`. */
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
