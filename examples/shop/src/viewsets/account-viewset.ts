import { isEmail, normalizeEmail } from '@viewset/auth';
import {
  getCurrentUser,
  type InputOf,
  IsRoleAdminUser,
  ModelViewSet,
  Permission,
  type OutputOf,
  readShape,
  securityEvent,
  type PermissionView,
  type WriteData,
  writeShape,
} from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { keepAdministrator } from '../administrators.ts';
import { Account } from '../entities/account.ts';

const EmailAddress = Type.Refine(
  Type.String(),
  (text) => isEmail(normalizeEmail(text)),
  () => 'must be an e-mail address',
);

const read = readShape(Account, ['id', 'email', 'name', 'is_active'], { role: 'role.name' });
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

/** The fields of an account that say what it may do. */
interface Access {
  readonly id: number;
  readonly role: string | null;
  readonly is_active: boolean;
}

/** The access before a request's write, which is logged once it is committed. */
const accessBefore = new WeakMap<FastifyRequest, Access>();

/** Accounts come from registration; administrators may list, change and delete them, but for the last administrator. */
export class AccountViewSet extends ModelViewSet(Account, {
  read,
  write,
  operations: ['list', 'retrieve', 'update', 'destroy'],
  searchFields: ['name', 'email'],
  filterFields: { role: 'role__name', is_active: 'is_active' },
  orderingFields: { id: 'id', name: 'name', email: 'email' },
  permissionClasses: [IsRoleAdminUser.or(IsOwnAccount)],
  description: 'The accounts, which come from registration.',
}) {
  override async update(request: FastifyRequest, reply: FastifyReply): Promise<OutputOf<typeof read>> {
    const after = await super.update(request, reply);
    const before = accessBefore.get(request);
    if (before !== undefined) logChanges(request, before, after);
    return after;
  }

  override async destroy(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    await super.destroy(request, reply);
    const target = accessBefore.get(request)?.id;
    request.log.info({ ...securityEvent(request, 'auth.account_deleted'), target }, 'an account was deleted');
  }

  override performUpdate(
    request: FastifyRequest,
    account: Account,
    data: WriteData<Account, Partial<InputOf<typeof write>>>,
  ): Promise<Account> {
    rememberAccess(request, account);
    return keepAdministrator(request, () => super.performUpdate(request, account, data));
  }

  override performDestroy(request: FastifyRequest, account: Account): Promise<void> {
    rememberAccess(request, account);
    return keepAdministrator(request, () => super.performDestroy(request, account));
  }
}

function rememberAccess(request: FastifyRequest, { id, role, is_active }: Account): void {
  accessBefore.set(request, { id, role: role?.name ?? null, is_active });
}

function logChanges(request: FastifyRequest, before: Access, after: Access): void {
  if (before.role !== after.role) {
    const event = {
      ...securityEvent(request, 'auth.role_changed'),
      target: after.id,
      role: after.role,
      was: before.role,
    };
    request.log.info(event, 'the role of an account was changed');
  }
  if (before.is_active !== after.is_active) {
    const name = after.is_active ? 'auth.account_enabled' : 'auth.account_disabled';
    request.log.info({ ...securityEvent(request, name), target: after.id }, 'an account was enabled or disabled');
  }
}
