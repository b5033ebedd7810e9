import type { FastifyRequest } from 'fastify';
import { getCurrentUser } from '../current-user.ts';
import { wrongOption } from '../options.ts';
import { Permission, type PermissionClass } from './permission.ts';

/**
 * Lets in whoever has the administrator's role, which is named `admin` unless `named` says otherwise. The user's `role`
 * must be loaded.
 *
 * @example
 * permissionClasses: [IsRoleAdminUser]
 * permissionClasses: [IsRoleAdminUser.named('owner')]
 */
export class IsRoleAdminUser extends Permission {
  /** The name of the role that counts as administrator. */
  protected readonly roleName: string = 'admin';

  override hasPermission(request: FastifyRequest): boolean {
    return (getCurrentUser(request) as { role?: { name?: string } | null } | null)?.role?.name === this.roleName;
  }

  /** The same with another role's name. */
  static named(roleName: string): PermissionClass {
    if (typeof roleName !== 'string' || roleName === '') throw wrongOption('IsRoleAdminUser', 'named()', 'the name of a role', roleName);
    return class IsNamedRoleUser extends IsRoleAdminUser {
      protected override readonly roleName = roleName;
    };
  }
}
