import {
  getCurrentUser,
  IsRoleAdminUser,
  ModelViewSet,
  Permission,
  readShape,
  type PermissionView,
  writeShape,
} from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { Account } from '../entities/account.ts';

/** Whoever is logged in may read their own account. */
class IsOwnAccount extends Permission {
  override hasPermission(request: FastifyRequest, view: PermissionView): boolean {
    return getCurrentUser(request) !== null && view.getAction(request) === 'retrieve';
  }

  override hasObjectPermission(request: FastifyRequest, _view: PermissionView, account: Account): boolean {
    return getCurrentUser(request)?.id === account.id;
  }
}

/** Accounts come from registration; administrators may list, change and delete them. */
export class AccountViewSet extends ModelViewSet(Account, {
  read: readShape(Account, ['id', 'email', 'name', 'is_active'], { role: 'role.name' }),
  write: writeShape(Account, ['name', 'email', 'is_active'], { role: 'role.name' }),
  operations: ['list', 'retrieve', 'update', 'destroy'],
  searchFields: ['name', 'email'],
  filterFields: { role: 'role__name', is_active: 'is_active' },
  orderingFields: { id: 'id', name: 'name', email: 'email' },
  permissionClasses: [IsRoleAdminUser.or(IsOwnAccount)],
}) {}
