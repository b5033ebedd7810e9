import {
  getCurrentUser,
  ImproperlyConfigured,
  IsAuthenticated,
  Permission,
  type UserPermissionClass,
} from '@viewset/core';
import type { FastifyRequest } from 'fastify';

/** The lists in the option `permissions` of all open applications. */
const declaredLists = new Set<ReadonlySet<string>>();

/**
 * Declares the names that `HasPermission` accepts, until the returned function is called. While any list is declared,
 * registered views may only use permissions from such lists.
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
 * Allows users with a permission: a name in the `permissions` of one of their roles. Other users get 403, anonymous
 * requests 401. An API key with scopes also needs that scope.
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
    throw new ImproperlyConfigured(`HasPermission() must be given the name of a permission, got ${typeof name}`);
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
      // The application declares the type of its users.
      const user: unknown = getCurrentUser(request);
      const { permissions } = (user ?? {}) as { readonly permissions?: unknown };
      return Array.isArray(permissions) && permissions.includes(name);
    }
  }
  Object.defineProperty(HasNamedPermission, 'name', { value: `HasPermission(${name})` });
  return IsAuthenticated.and(HasNamedPermission);
}
