import {
  getCurrentUser,
  ImproperlyConfigured,
  IsAuthenticated,
  NotFound,
  Permission,
  type PermissionView,
  type UserPermissionClass,
} from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { declaredPermissions } from '../accounts/has-permission.ts';
import { isScoped, type MembershipRecord, type Memberships } from './memberships.ts';

type Params = Readonly<Record<string, string | undefined>>;

/** Makes the class that allows users whose role in the organization has a permission. */
export function permissionIn(memberships: Memberships, permission: string): UserPermissionClass {
  const { name, roles, organization } = memberships.options;
  const known = [...new Set([...roles.values()].flat())];
  if (!known.includes(permission)) {
    throw new ImproperlyConfigured(
      `HasPermission("${permission}"): no role has this permission, but ${known.join(', ')}`,
    );
  }
  class HasPermissionInOrganization extends Permission {
    constructor() {
      super();
      const declared = declaredPermissions();
      if (declared === undefined || declared.includes(permission)) return;
      const message = `HasPermission("${permission}"): option "permissions" of auth has no such name, but ${declared.join(', ')}`;
      throw new ImproperlyConfigured(message);
    }

    override async hasPermission(request: FastifyRequest, view: PermissionView): Promise<boolean> {
      const key = (request.params as Params)[name];
      if (key === undefined && isOf(request, view)) return !(isScoped(request) && view.getAction(request) === 'create');
      if (key === undefined) {
        throw new ImproperlyConfigured(`${view.name}: HasPermission("${permission}") needs a path with ":${name}"`);
      }
      const role = await memberships.roleInPath(request, key);
      if (role === undefined) throw new NotFound();
      return memberships.allows(request, role, permission);
    }

    /** Checks the organization itself, also each of several at once. */
    override async hasObjectPermission(
      request: FastifyRequest,
      view: PermissionView,
      object: object,
    ): Promise<boolean> {
      if (!isOf(request, view)) return true;
      const role = await memberships.roleIn(request, (object as { readonly id: unknown }).id);
      return role !== undefined && memberships.allows(request, role, permission);
    }
  }
  const isOf = ({ em }: FastifyRequest, { meta }: PermissionView): boolean =>
    meta !== undefined && meta.root === em.getMetadata().get(organization).root;
  Object.defineProperty(HasPermissionInOrganization, 'name', { value: `HasPermission(${permission})` });
  return IsAuthenticated.and(HasPermissionInOrganization);
}

/** Refuses API keys with scopes, which would change what their account is a member of. */
export class HasNoScopes extends Permission {
  override hasPermission(request: FastifyRequest): boolean {
    return !isScoped(request);
  }
}

/** Allows members to delete their membership. An API key with scopes removes it as it removes others'. */
class EndsMembership extends Permission {
  override hasPermission(request: FastifyRequest): boolean {
    const { method, params } = request;
    return method === 'DELETE' && (params as Params)['pk'] !== undefined && !isScoped(request);
  }

  override hasObjectPermission(request: FastifyRequest, _view: PermissionView, object: MembershipRecord): boolean {
    return object.account.id === (getCurrentUser(request) as { readonly id: unknown } | null)?.id;
  }
}
export const Leaves = IsAuthenticated.and(EndsMembership);
