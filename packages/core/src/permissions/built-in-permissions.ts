import { Reference } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { type AuthenticatedRequest, getCurrentUser } from '../current-user.ts';
import { isRecord } from '../json.ts';
import { SAFE_METHODS } from '../methods.ts';
import { wrongOption } from '../options.ts';
import { Permission, type PermissionClass, REFUSES_ANONYMOUS } from './permission.ts';

/** Allows everybody. It shows that a view is open on purpose, which an empty list does not. */
export class AllowAny extends Permission {
  override hasPermission(): boolean {
    return true;
  }
}

/** Tells if a list of permission classes says that everybody may do everything. */
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
 * const MayWrite = IsSafeMethodOnly.or(IsAuthenticated);   // everybody reads, who is logged in writes
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

/**
 * Allows users whose `role`, or one of whose `roles`, is that of administrators. The roles must be loaded with the user, as entities,
 * loaded references or plain objects with a `name`.
 *
 * @example
 * class ProductViewSet extends ModelViewSet(Product, {
 *   read,
 *   permissionClasses: [IsRoleAdminUser.or(IsRoleAdminUser.named('owner'))],   // the role named "admin", or "owner"
 * }) {}
 */
export class IsRoleAdminUser extends Permission {
  /** The name of the role. */
  static readonly role: string = 'admin';

  /** Returns the same class for a role with another name. */
  static named(role: string): typeof IsRoleAdminUser {
    if (typeof role !== 'string' || role === '') {
      throw wrongOption('IsRoleAdminUser.named()', 'role', "a role's name", role);
    }
    if (role === IsRoleAdminUser.role) return IsRoleAdminUser;
    class IsNamedRoleUser extends IsRoleAdminUser {
      static override readonly role = role;
    }
    Object.defineProperty(IsNamedRoleUser, 'name', { value: `IsRoleAdminUser(${role})` });
    return IsNamedRoleUser;
  }

  override hasPermission(request: FastifyRequest): request is AuthenticatedRequest {
    const { role } = this.constructor as typeof IsRoleAdminUser;
    return roleNames(getCurrentUser(request)).includes(role);
  }

  /** @internal */
  override [REFUSES_ANONYMOUS](): boolean {
    return this.hasPermission === IsRoleAdminUser.prototype.hasPermission;
  }
}

function roleNames(user: unknown): unknown[] {
  const { role, roles } = (user ?? {}) as { role?: unknown; roles?: unknown };
  const more: readonly unknown[] = Array.isArray(roles) ? roles : [];
  return [role, ...more].filter(isRecord).map(nameOf);
}

function nameOf(role: object): unknown {
  return (Reference.unwrapReference(role) as { name?: unknown }).name;
}
