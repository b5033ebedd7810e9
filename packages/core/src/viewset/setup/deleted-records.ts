import type { FastifyRequest } from 'fastify';
import type { PermissionClass } from '../../permissions/permission.ts';
import type { SoftDelete } from '../visible/soft-delete.ts';
import { type Action, action, type ActionOptions } from './action.ts';

/** The key of a view's method that restores a deleted record. A symbol, so that views can have members of any name. */
export const RESTORE: unique symbol = Symbol('viewset.restore');

/** The part of a view that restores records. */
export interface RestoringView {
  readonly permissionClasses: readonly PermissionClass[] | undefined;
  [RESTORE](request: FastifyRequest): Promise<object>;
}

/**
 * Returns the permission options of an action for deleted records. A request must pass both the view's permissions and
 * `visibleTo`. The route always needs a token, even if both lists allow anonymous requests.
 */
export function permissionsForDeleted(
  view: Pick<RestoringView, 'permissionClasses'>,
  visibleTo: readonly PermissionClass[],
  defaults: readonly PermissionClass[],
): Pick<ActionOptions, 'permissionClasses' | 'scope' | 'allowAnonymous'> {
  const permissionClasses = [...(view.permissionClasses ?? defaults), ...visibleTo];
  // The view's classes are included, with their scopes.
  return { permissionClasses, scope: 'unrestricted', allowAnonymous: false };
}

/**
 * Makes the action that restores a deleted record. None without `visibleTo`, because nobody can see deleted records.
 */
export function restoringActions(
  view: RestoringView,
  softDelete: SoftDelete | undefined,
  defaults: readonly PermissionClass[],
): ReadonlyMap<string, Action> {
  if (softDelete?.visibleTo === undefined) return new Map();
  const permissions = permissionsForDeleted(view, softDelete.visibleTo, defaults);
  const restore = action({ methods: ['post'], detail: true, answers: 'record', ...permissions }, (request) =>
    view[RESTORE](request),
  );
  return new Map([['restore', restore]]);
}
