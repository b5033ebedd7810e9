import { Reference } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { type AuthenticatedRequest, getCurrentUser } from '../http/current-user.ts';
import { isRecord } from '../support/json.ts';
import { SAFE_METHODS } from '../http/methods.ts';
import { wrongOption } from '../errors/options.ts';
import { Permission, type PermissionClass, type ComposableClass, REFUSES_ANONYMOUS } from './permission.ts';

/** Allows everybody. Use it instead of an empty list to show that a view is open on purpose. */
export class AllowAny extends Permission {
  override hasPermission(): boolean {
    return true;
  }
}

/** Reports whether a list of permission classes is `AllowAny` alone. */
export function isAllowAny(classes: readonly PermissionClass[] | undefined): boolean {
  return classes?.length === 1 && classes[0] === AllowAny;
}

/** Allows logged-in users. */
export class IsAuthenticated extends Permission {
  override hasPermission(request: FastifyRequest): request is AuthenticatedRequest {
    return getCurrentUser(request) !== null;
  }

  /** @internal */
  override [REFUSES_ANONYMOUS](): boolean {
    return this.hasPermission === IsAuthenticated.prototype.hasPermission;
  }
}

/**
 * Allows requests that only read: GET, HEAD, OPTIONS and QUERY.
 *
 * @example
 * const MayWrite = IsSafeMethodOnly.or(IsAuthenticated);   // everybody reads, logged-in users write
 * class ProductViewSet extends ModelViewSet(Product, { read, write, permissionClasses: [MayWrite] }) {}
 */
export class IsSafeMethodOnly extends Permission {
  override hasPermission(request: FastifyRequest): boolean {
    return SAFE_METHODS.has(request.method);
  }

  /** @internal */
  override [REFUSES_ANONYMOUS](method: string): boolean {
    return this.hasPermission === IsSafeMethodOnly.prototype.hasPermission && !SAFE_METHODS.has(method);
  }
}

/** The name of the administrator role. */
const ADMINISTRATOR = 'admin';

/** Allows users with one of some roles. */
export abstract class RolePermission extends Permission {
  /** The names of the roles. */
  protected readonly roles: readonly string[] = [];

  override hasPermission(request: FastifyRequest): request is AuthenticatedRequest {
    const names = roleNames(getCurrentUser(request));
    return this.roles.some((role) => names.includes(role));
  }

  /** @internal */
  override [REFUSES_ANONYMOUS](): boolean {
    return this.hasPermission === RolePermission.prototype.hasPermission;
  }
}

/** A permission class by roles. It needs no view. */
interface RoleClass extends ComposableClass {
  new (): RolePermission;
}

/**
 * Allows users whose `role`, or one of whose `roles`, is the administrator role, `admin`. Load the roles with the user,
 * as entities, loaded references or plain objects with a `name`. For another name, use `HasRole()`.
 *
 * @example
 * class ProductViewSet extends ModelViewSet(Product, { read, permissionClasses: [IsRoleAdminUser] }) {}
 */
export class IsRoleAdminUser extends RolePermission {
  protected override readonly roles: readonly string[] = [ADMINISTRATOR];
}

/**
 * Makes a permission class that allows users whose `role`, or one of whose `roles`, has one of the names. Load the roles
 * with the user, as for `IsRoleAdminUser`.
 *
 * @throws ImproperlyConfigured for a name that is no text, and without a name
 * @example
 * class ProductViewSet extends ModelViewSet(Product, {
 *   read,
 *   permissionClasses: [IsSafeMethodOnly.or(HasRole('buyer', 'manager'))],   // everybody reads, these two write
 * }) {}
 */
export function HasRole(...roles: readonly [string, ...string[]]): RoleClass {
  const wrong = roles.find((role: unknown) => typeof role !== 'string' || role === '');
  if (roles.length === 0 || wrong !== undefined) throw wrongOption('HasRole()', 'roles', 'names of roles', wrong);
  if (roles.length === 1 && roles[0] === ADMINISTRATOR) return IsRoleAdminUser;
  class HasNamedRole extends RolePermission {
    protected override readonly roles = roles;
  }
  Object.defineProperty(HasNamedRole, 'name', { value: `HasRole(${roles.join(', ')})` });
  return HasNamedRole;
}

function roleNames(user: unknown): unknown[] {
  const { role, roles } = (user ?? {}) as { role?: unknown; roles?: unknown };
  const more: readonly unknown[] = Array.isArray(roles) ? roles : [];
  return [role, ...more].filter(isRecord).map(nameOf);
}

function nameOf(role: object): unknown {
  return (Reference.unwrapReference(role) as { name?: unknown }).name;
}
