import { Reference } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { type AuthenticatedRequest, getCurrentUser } from '../current-user.ts';
import { isRecord } from '../json.ts';
import { SAFE_METHODS } from '../methods.ts';
import { wrongOption } from '../options.ts';
import { Permission, type PermissionClass, REFUSES_ANONYMOUS } from './permission.ts';

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

/**
 * Allows users whose `role`, or one of whose `roles`, is the administrator role. Load the roles with the user, as
 * entities, loaded references or plain objects with a `name`.
 *
 * @example
 * class ProductViewSet extends ModelViewSet(Product, {
 *   read,
 *   permissionClasses: [IsRoleAdminUser.or(IsRoleAdminUser.named('owner'))],   // the role named "admin", or "owner"
 * }) {}
 */
export class IsRoleAdminUser extends Permission {
  /** The name of the administrator role. */
  static readonly role: string = 'admin';

  /** Returns this class for a role with another name. */
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
