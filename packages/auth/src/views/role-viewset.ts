import type { EntityName } from '@mikro-orm/core';
import {
  HasRole,
  IsAuthenticated,
  IsSafeMethodOnly,
  type ReadShape,
  readShape,
  TargetObjectAlreadyExist,
  type WriteShape,
  writeShape,
} from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { noteEvent } from './noted-events.ts';
import { type ReadyViewClass, type ReadyViewOptions, viewClass } from './view-class.ts';

/** The options of `RoleViewSet`: those of ModelViewSet, and facts about roles. */
export interface RoleViewSetOptions<Entity extends object> extends ReadyViewOptions<Entity> {
  /**
   * The names that a role's `permissions` may contain, as in the option of `auth`. Default: roles neither show nor
   * accept permissions.
   */
  readonly permissions?: readonly string[];
  /** The name of the administrators' role. Default: `admin`. */
  readonly adminRole?: string;
}

type Permissions<Options, Shown> = Options extends { readonly permissions: readonly (infer Name)[] }
  ? { readonly [Field in 'permissions']: Shown extends null ? readonly Name[] | null : readonly Name[] }
  : unknown;

/** A role in responses of `RoleViewSet`. With the option `permissions` it has its permissions. */
export type RoleRecord<Options = object> = { readonly id: number; readonly name: string } & Permissions<Options, null>;

/** A role in bodies of `RoleViewSet`. */
export type RoleChanges<Options = object> = { readonly name: string } & Partial<Permissions<Options, unknown>>;

interface ReadyOptions<Entity extends object, Options> {
  readonly read: ReadShape<Entity, RoleRecord<Options>>;
  readonly write: WriteShape<Entity, RoleChanges<Options>>;
  readonly searchFields: readonly ['name'];
  readonly orderingFields: { readonly id: 'id'; readonly name: 'name' };
}

/** A role as its view knows it. */
interface Role {
  readonly id: unknown;
  readonly name: string;
  readonly permissions?: unknown;
}

/**
 * Makes a view of the roles. Logged-in users read them. Administrators change them and their permissions. The administrators' role cannot
 * be renamed or deleted (409), because nobody would be an administrator without it. New, renamed and deleted roles and changes of
 * permissions are security events.
 *
 * The options of `ModelViewSet` replace those of the view. Extend the class to override hooks.
 *
 * @throws ImproperlyConfigured for a wrong option
 * @example
 * class Roles extends RoleViewSet(Role, { permissions: ['products.read', 'products.write'] }) {}
 * router.register('roles', Roles);
 * // POST /roles {"name":"editor","permissions":["products.write"]} → 201 {"id":3,"name":"editor","permissions":["products.write"]}
 */
export function RoleViewSet<
  Entity extends object,
  const Options extends RoleViewSetOptions<Entity> = Record<never, never>,
>(
  entity: EntityName<Entity>,
  options?: Options,
): ReadyViewClass<Entity, ReadyOptions<Entity, Options>, Omit<Options, 'permissions' | 'adminRole'>> {
  const { permissions, adminRole = 'admin', ...rest } = options ?? ({} as Options);
  const anyEntity = entity as EntityName<object>;
  const requireOther = ({ name }: Role): void => {
    if (name !== adminRole) return;
    throw new TargetObjectAlreadyExist(`The role "${adminRole}" cannot be renamed or deleted`);
  };
  class ReadyRoleViewSet extends viewClass(anyEntity, readyOptions(anyEntity, permissions, adminRole), rest) {
    override async performCreate(request: FastifyRequest, data: never): Promise<object> {
      const role = (await super.performCreate(request, data)) as Role;
      const { id: target, name, permissions: given } = role;
      noteEvent(request, 'auth.role_created', { target, role: name, permissions: given }, 'a role was created');
      return role;
    }

    override async performUpdate(
      request: FastifyRequest,
      role: Role,
      data: { readonly name?: string },
    ): Promise<object> {
      if (data.name !== undefined && data.name !== role.name) requireOther(role);
      const before: Role = { id: role.id, name: role.name, permissions: role.permissions };
      const changed = (await super.performUpdate(request, role, data)) as Role;
      noteChange(request, before, changed);
      return changed;
    }

    override async performDestroy(request: FastifyRequest, role: Role): Promise<void> {
      requireOther(role);
      const { id: target, name } = role;
      await super.performDestroy(request, role);
      noteEvent(request, 'auth.role_deleted', { target, role: name }, 'a role was deleted');
    }
  }
  return ReadyRoleViewSet as never;
}

function noteChange(request: FastifyRequest, before: Role, { id: target, name, permissions }: Role): void {
  if (name !== before.name) {
    noteEvent(request, 'auth.role_renamed', { target, role: name, was: before.name }, 'a role was renamed');
  }
  const was = before.permissions;
  if (JSON.stringify(was) === JSON.stringify(permissions)) return;
  noteEvent(
    request,
    'auth.permissions_changed',
    { target, permissions, was },
    'the permissions of a role were changed',
  );
}

function readyOptions(
  entity: EntityName<object>,
  permissions: readonly string[] | undefined,
  adminRole: string,
): object {
  const more = permissions === undefined ? [] : ['permissions'];
  const written = permissions && {
    permissions: Type.Optional(Type.Array(Type.Enum([...permissions]), { uniqueItems: true })),
  };
  return {
    read: readShape(entity, ['id', 'name', ...more] as never[]),
    write: writeShape(entity, ['name'] as never[], written as never),
    searchFields: ['name'],
    orderingFields: { id: 'id', name: 'name' },
    permissionClasses: [IsAuthenticated, IsSafeMethodOnly.or(HasRole(adminRole))],
    description: 'The roles that accounts may have; administrators change them.',
  };
}
