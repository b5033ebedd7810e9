import { AccountViewSet as AccountViews } from '@viewset/auth';
import { getCurrentUser, IsRoleAdminUser, Permission, type PermissionView } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { Account } from '../entities/account.ts';

/** Logged-in users may read their account. */
class IsSelf extends Permission {
  override hasPermission(request: FastifyRequest, view: PermissionView): boolean {
    return getCurrentUser(request) !== null && view.getAction(request) === 'retrieve';
  }

  override hasObjectPermission(request: FastifyRequest, _view: PermissionView, account: Account): boolean {
    return getCurrentUser(request)?.id === account.id;
  }
}

/** Accounts come from registration; administrators may list, change and delete them, but for the last administrator. */
export class AccountViewSet extends AccountViews(Account, {
  permissionClasses: [IsRoleAdminUser.or(IsSelf)],
}) {}
