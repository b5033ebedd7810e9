import type { FastifyRequest } from 'fastify';
import type { PermissionClass } from '../../permissions/permission.ts';
import type { SoftDelete } from '../visible/soft-delete.ts';
import { type Action, action, type ActionOptions } from './action.ts';

/** The method of a view that restores a deleted record; a symbol, so that a view can have a member of any name. */
export const RESTORE: unique symbol = Symbol('viewset.restore');

/** The part of a view that restores its records. */
export interface RestoringView {
  readonly permissionClasses: readonly PermissionClass[] | undefined;
  [RESTORE](request: FastifyRequest): Promise<object>;
}

/**
 * Returns the options of an action that is about deleted records: the permissions of the view, and those of `visibleTo`. Nobody gets past the
 * view's own, nor is a route open because both lists say so.
 */
export function permissionsForDeleted(
  view: Pick<RestoringView, 'permissionClasses'>,
  visibleTo: readonly PermissionClass[],
  defaults: readonly PermissionClass[],
): Pick<ActionOptions, 'permissionClasses' | 'scope' | 'allowAnonymous'> {
  const permissionClasses = [...(view.permissionClasses ?? defaults), ...visibleTo];
  // The view's own classes are among them, with their scopes.
  return { permissionClasses, scope: 'unrestricted', allowAnonymous: false };
}

/** Makes the action that restores a deleted record; none if nobody sees deleted records. */
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
