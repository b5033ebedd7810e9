import {
  getCurrentUser,
  ImproperlyConfigured,
  IsAuthenticated,
  Permission,
  type UserPermissionClass,
} from '@viewset/core';
import type { FastifyRequest } from 'fastify';

/** The lists of the option `permissions` of the applications that are open. */
const declaredLists = new Set<ReadonlySet<string>>();

/**
 * Declares the names that `HasPermission` may ask for, until the returned function is called. Views that are registered
 * while any list is declared may only name permissions of such lists.
 */
export function declarePermissions(names: readonly string[]): () => void {
  const list = new Set(names);
  declaredLists.add(list);
  return () => void declaredLists.delete(list);
}

/** Returns the declared names; undefined if no application declares any. */
export function declaredPermissions(): readonly string[] | undefined {
  return declaredLists.size === 0 ? undefined : [...new Set([...declaredLists].flatMap((list) => [...list]))];
}

/**
 * Allows users who have a permission: one of the names in the `permissions` of their roles. Other users get 403, anonymous requests 401. A
 * request by an API key with scopes needs that scope too.
 *
 * A view that names a permission outside the option `permissions` of `auth` fails at startup, if the option is set.
 *
 * @example
 * class ProductViewSet extends ModelViewSet(Product, {
 *   read,
 *   permissionClasses: [IsSafeMethodOnly.or(HasPermission('products.write'))],
 * }) {}
 */
export function HasPermission(name: string): UserPermissionClass {
  if (typeof name !== 'string' || name === '') {
    throw new ImproperlyConfigured(`HasPermission() must be given the name of a permission, but ${typeof name} came`);
  }
  class HasNamedPermission extends Permission {
    constructor() {
      super();
      const known = declaredPermissions();
      if (known === undefined || known.includes(name)) return;
      const message = `HasPermission("${name}"): option "permissions" of auth has no such name, but ${known.join(', ')}`;
      throw new ImproperlyConfigured(message);
    }

    override hasPermission(request: FastifyRequest): boolean {
      // The application declares what its users are.
      const user: unknown = getCurrentUser(request);
      const { permissions } = (user ?? {}) as { readonly permissions?: unknown };
      return Array.isArray(permissions) && permissions.includes(name);
    }
  }
  Object.defineProperty(HasNamedPermission, 'name', { value: `HasPermission(${name})` });
  return IsAuthenticated.and(HasNamedPermission);
}
