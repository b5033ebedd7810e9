import { isEmail, normalizeEmail } from '@viewset/auth';
import {
  getCurrentUser,
  type InputOf,
  IsRoleAdminUser,
  ModelViewSet,
  Permission,
  readShape,
  type PermissionView,
  type WriteData,
  writeShape,
} from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { keepAdministrator } from '../administrators.ts';
import { Account } from '../entities/account.ts';

const EmailAddress = Type.Refine(
  Type.String(),
  (text) => isEmail(normalizeEmail(text)),
  () => 'must be an e-mail address',
);

const write = writeShape(
  Account,
  ['name', 'is_active'],
  { email: EmailAddress, role: 'role.name' },
  { required: ['is_active', 'role'] },
);

/** Whoever is logged in may read their own account. */
class IsOwnAccount extends Permission {
  override hasPermission(request: FastifyRequest, view: PermissionView): boolean {
    return getCurrentUser(request) !== null && view.getAction(request) === 'retrieve';
  }

  override hasObjectPermission(request: FastifyRequest, _view: PermissionView, account: Account): boolean {
    return getCurrentUser(request)?.id === account.id;
  }
}

/** Accounts come from registration; administrators may list, change and delete them, but for the last administrator. */
export class AccountViewSet extends ModelViewSet(Account, {
  read: readShape(Account, ['id', 'email', 'name', 'is_active'], { role: 'role.name' }),
  write,
  operations: ['list', 'retrieve', 'update', 'destroy'],
  searchFields: ['name', 'email'],
  filterFields: { role: 'role__name', is_active: 'is_active' },
  orderingFields: { id: 'id', name: 'name', email: 'email' },
  permissionClasses: [IsRoleAdminUser.or(IsOwnAccount)],
}) {
  override performUpdate(
    request: FastifyRequest,
    account: Account,
    data: WriteData<Account, Partial<InputOf<typeof write>>>,
  ): Promise<Account> {
    return keepAdministrator(request, () => super.performUpdate(request, account, data));
  }

  override performDestroy(request: FastifyRequest, account: Account): Promise<void> {
    return keepAdministrator(request, () => super.performDestroy(request, account));
  }
}
