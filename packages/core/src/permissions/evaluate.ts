import type { FastifyRequest } from 'fastify';
import type { Condition } from '../query/condition.ts';
import { bothGrants, type Grant, GRANTED, scopeCondition } from './grant.ts';
import type { Permission, PermissionView } from './permission.ts';

/** What all of a view's permissions together let one request do. */
export interface PermissionGrant {
  /** True: the request may not use the view at all. */
  readonly denied: boolean;
  /** The records that there are for the request; undefined where all are. */
  readonly scope: Condition | undefined;
  /** True where a record still has to be asked about, as an entity. */
  readonly needsObject: boolean;
  /** Whether the request may act on a record that is in the scope. */
  allows(object: object): boolean | Promise<boolean>;
}

/**
 * Asks a view's permissions, every one of which must agree; the later are not asked where one denies. Answers at once
 * where they all do.
 *
 * @param asked.object whether the request is about one record, which will be asked about later
 */
export function evaluatePermissions(
  permissions: readonly Permission[],
  request: FastifyRequest,
  view: PermissionView,
  asked: { readonly object: boolean },
): PermissionGrant | Promise<PermissionGrant> {
  let granted: Grant = GRANTED;
  for (const [index, permission] of permissions.entries()) {
    const next = permission.grant(request, view, asked.object);
    if (next instanceof Promise) {
      const rest = permissions.slice(index + 1);
      return next.then((grant) => evaluateRest(bothGrants(granted, grant), rest, request, view, asked.object));
    }
    granted = bothGrants(granted, next);
    if (granted.scope === 'none') break;
  }
  return permissionGrant(granted);
}

async function evaluateRest(
  first: Grant,
  rest: readonly Permission[],
  request: FastifyRequest,
  view: PermissionView,
  object: boolean,
): Promise<PermissionGrant> {
  let granted = first;
  for (const permission of rest) {
    if (granted.scope === 'none') break;
    granted = bothGrants(granted, await permission.grant(request, view, object));
  }
  return permissionGrant(granted);
}

const FREE: PermissionGrant = Object.freeze({ denied: false, scope: undefined, needsObject: false, allows: () => true });

function permissionGrant({ scope, object }: Grant): PermissionGrant {
  if (scope === 'all' && object === true) return FREE;
  return {
    denied: scope === 'none',
    scope: scopeCondition(scope),
    needsObject: object !== true,
    allows: (record) => object === true || object(record),
  };
}
