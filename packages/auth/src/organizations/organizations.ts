import type { EntityName } from '@mikro-orm/core';
import {
  ImproperlyConfigured,
  IsAuthenticated,
  IsSafeMethodOnly,
  type ModelViewSetClass,
  type ModelViewSetOptions,
  type ReadShape,
  readShape,
  requireUser,
  scoped,
  type UserPermissionClass,
  type WriteShape,
  writeShape,
} from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { noteEvent } from '../views/noted-events.ts';
import { type ReadyViewClass, type ReadyViewOptions, viewClass } from '../views/view-class.ts';
import { declareMemberships } from './kept-owners.ts';
import { isScoped, type MembershipRecord, Memberships } from './memberships.ts';
import {
  type OrganizationInvitationOptions,
  receivedInvitations,
  sentInvitations,
} from './organization-invitations.ts';
import { type OrganizationsOptions, resolveOrganizations } from './organization-options.ts';
import { Leaves, permissionIn } from './organization-permissions.ts';

/** A membership in responses. `account` is the id of the member, `name` the member's name. */
export interface MemberRecord<Role extends string = string> {
  readonly id: number;
  readonly account: number;
  readonly name: string;
  readonly role: Role;
}

/** The options of `MembershipViewSet`: those of ModelViewSet, and one of its own. */
export interface MembershipViewSetOptions<Membership extends object> extends ReadyViewOptions<Membership> {
  /** True: users give and take every role, also if they are no members. Needs `permissionClasses`. Default: false. */
  readonly anyRole?: boolean;
}

const WHO_GIVES =
  'MembershipViewSet: option "anyRole" needs the option "permissionClasses", such as [IsRoleAdminUser]: it says who gives every role';

interface ReadyMemberOptions<Membership extends object, Role extends string> {
  readonly read: ReadShape<Membership, MemberRecord<Role>>;
  readonly write: WriteShape<Membership, { readonly role: Role }>;
  readonly operations: readonly ['list', 'retrieve', 'update', 'destroy'];
  readonly filterFields: { readonly role: 'role' };
  readonly orderingFields: { readonly name: 'account__name' };
}

interface ReadyInvitationOptions<Invitation extends object, Role extends string> {
  readonly read: ReadShape<
    Invitation,
    {
      readonly id: number;
      readonly email: string;
      readonly role: Role;
      readonly expires_at: string;
      readonly invited_by: string;
    }
  >;
  readonly write: WriteShape<Invitation, { readonly email: string; readonly role: Role }>;
  readonly operations: readonly ['list', 'create', 'retrieve', 'destroy'];
  readonly filterFields: { readonly role: 'role' };
}

interface ReadyReceivedOptions<Invitation extends object, Role extends string> {
  readonly read: ReadShape<
    Invitation,
    {
      readonly id: number;
      readonly role: Role;
      readonly expires_at: string;
      readonly organization: string;
      readonly invited_by: string;
    }
  >;
  readonly operations: readonly ['list', 'retrieve', 'destroy'];
}

/**
 * The views and permission classes of organizations whose members have roles. Made by `organizations()`.
 *
 * A member can only give, change and take away roles whose permissions the member has too. Only owners do so with the role of owners. An
 * API key with scopes gives and takes only roles whose permissions are among its scopes, and never the role of owners. So it
 * creates no organizations. Nor does it answer invitations. The
 * last owner of an organization cannot leave, be removed or get another role: 409. Nor can the account of a last owner be deleted, by the
 * owner or by `AccountViewSet`. An owner whose account is disabled does not count. Disabling an account is never refused.
 */
export class Organizations<Organization extends object, Membership extends object, Role extends string> {
  /** Shows users the organizations that they are members of. For views of organizations. */
  readonly IsMember: UserPermissionClass;
  readonly #memberships: Memberships;

  /** @internal */
  constructor(options: OrganizationsOptions<Organization, Membership, Role>) {
    this.#memberships = new Memberships(resolveOrganizations(options as never));
    const { organization, members } = this.#memberships.options;
    this.IsMember = ofMember(organization, `${members}__account`);
    declareMemberships(this.#memberships);
  }

  /**
   * Makes a permission class that shows records of the user's organizations.
   *
   * @param entity the entity of the view
   * @param path the relations that lead to the organization, such as `project` or `ticket__project`
   * @example
   * const TasksOfJoinedProjects = projects.within(Task, 'project');
   */
  within<Entity extends object>(entity: EntityName<Entity>, path: string): UserPermissionClass {
    return ofMember(entity as EntityName<object>, `${path}__${this.#memberships.options.members}__account`);
  }

  /**
   * Makes a permission class that allows users whose role in the organization of the path has a permission. Other members
   * get 403, all other users 404 as for a missing organization, and anonymous requests 401. An API key with scopes also
   * needs that scope. In a view of organizations it checks each record, and everybody who is logged in may create one.
   *
   * Throws ImproperlyConfigured for a permission that no role has. A view fails at start if the option `permissions` of
   * `auth` is set and lacks the name.
   *
   * @example
   * class TaskViewSet extends ModelViewSet(Task, {
   *   read: readShape(Task, ['id', 'title']),
   *   permissionClasses: [IsSafeMethodOnly.or(projects.HasPermission('tasks.write'))],
   * }) {}
   * router.register('projects/:project/tasks', TaskViewSet);
   */
  HasPermission(permission: string): UserPermissionClass {
    return permissionIn(this.#memberships, permission);
  }

  /**
   * Makes a view of organizations. Members see theirs. Users who are logged in create up to `maxPerUser` of them, and
   * become their owners. API keys with scopes cannot.
   * Members with the permission `organizationPermission` change and delete them. The options of `ModelViewSet` replace
   * those of the view.
   *
   * @example
   * class ProjectViewSet extends projects.OrganizationViewSet({
   *   read: readShape(Project, ['id', 'name']),
   *   write: writeShape(Project, ['name']),
   * }) {}
   */
  OrganizationViewSet<const Options extends ModelViewSetOptions<Organization>>(
    options: Options,
  ): ModelViewSetClass<Organization, Options> {
    const memberships = this.#memberships;
    const { organization, membership, name, ownerRole, lookupField, organizationPermission } = memberships.options;
    const ready = {
      ...(lookupField !== 'id' && { lookupField }),
      permissionClasses: [this.IsMember, IsSafeMethodOnly.or(this.HasPermission(organizationPermission))],
    };
    const { softDelete } = options;
    if (softDelete !== undefined) {
      memberships.deletedAt = typeof softDelete === 'object' ? softDelete.property : softDelete;
    }
    return class ReadyOrganizationViewSet extends viewClass(organization, ready, options, memberships) {
      override async performCreate(request: FastifyRequest, data: never): Promise<object> {
        await memberships.requireRoom(request);
        const made = await super.performCreate(request, data);
        const { em } = request;
        em.create(membership, { [name]: made, account: requireUser(request).id, role: ownerRole } as never);
        await em.flush();
        return made;
      }
    } as never;
  }

  /**
   * Makes a view of the open invitations of an organization, for a path with the organization. Members with the
   * permission `membersPermission` list them, invite by address, revoke by DELETE, and send the mail again by the action
   * `resend`. A role is given by the same rules as in `MembershipViewSet`. A member or an open invitation with the address
   * gives 409. If the mail cannot be sent, the response is 503 and nothing is stored.
   *
   * @param entity has the reference to the organization, `email`, `role`, `expires_at` and `invited_by`, a reference to
   * the account. The organization and `email` are unique together
   * @example
   * const InvitationViewSet = projects.InvitationViewSet(Invitation, {
   *   email: ({ id }) => ({ subject: 'Join us', content: `https://app.example.com/invitations/${String(id)}` }),
   * });
   * router.register('projects/:project/invitations', InvitationViewSet);
   */
  InvitationViewSet<Invitation extends object>(
    entity: EntityName<Invitation>,
    options: OrganizationInvitationOptions,
  ): ReadyViewClass<Invitation, ReadyInvitationOptions<Invitation, Role>, Record<never, never>> {
    const { name, membersPermission } = this.#memberships.options;
    const anyEntity = entity as EntityName<object>;
    const permissionClasses = [this.within(anyEntity, name), this.HasPermission(membersPermission)];
    return sentInvitations(this.#memberships, anyEntity, options, permissionClasses) as never;
  }

  /**
   * Makes a view of the invitations that the user has received at the address of the account. Users accept by the action
   * `accept`, and decline by DELETE. API keys with scopes can do neither. Accepting gives 409 if the sender could
   * not invite to this role any more. Throws ImproperlyConfigured in requests whose user has no `email`.
   *
   * @param shown the field of the organization that the view shows as `organization`. Default: `name`
   * @example
   * router.register('invitations', projects.ReceivedInvitationViewSet(Invitation));
   * // POST /invitations/5/accept → 204
   */
  ReceivedInvitationViewSet<Invitation extends object>(
    entity: EntityName<Invitation>,
    shown: keyof Organization & string = 'name' as never,
  ): ReadyViewClass<Invitation, ReadyReceivedOptions<Invitation, Role>, Record<never, never>> {
    return receivedInvitations(this.#memberships, entity as EntityName<object>, shown) as never;
  }

  /**
   * Makes a view of the members of an organization, for a path with the organization: members see each other, and can
   * leave. Members with the permission `membersPermission` change roles and remove members. There is no create, because
   * members come from invitations. The options of `ModelViewSet` replace those of the view.
   *
   * With `anyRole: true` everybody whom `permissionClasses` admits gives and takes every role. Use it for administrators, who are no members.
   * The scopes of an API key limit the roles here too.
   *
   * @throws ImproperlyConfigured for `anyRole` without `permissionClasses`
   * @example
   * router.register('projects/:project/members', projects.MembershipViewSet());
   * // PATCH /projects/7/members/3 {"role":"guest"} → 200 {"id":3,"account":12,"name":"Ann","role":"guest"}
   */
  MembershipViewSet<const Options extends MembershipViewSetOptions<Membership> = Record<never, never>>(
    options?: Options,
  ): ReadyViewClass<Membership, ReadyMemberOptions<Membership, Role>, Omit<Options, 'anyRole'>> {
    const memberships = this.#memberships;
    const { anyRole = false, ...rest } = options ?? ({} as Options);
    if (anyRole && rest.permissionClasses === undefined) throw new ImproperlyConfigured(WHO_GIVES);
    const { membership, name, membersPermission, ownerRole } = memberships.options;
    const giverOf = (request: FastifyRequest, organization: unknown): Promise<string | undefined> =>
      anyRole ? Promise.resolve(ownerRole) : memberships.roleIn(request, organization);
    const ready = {
      read: readShape(membership, ['id', 'role'] as never[], { account: 'account.id', name: 'account.name' } as never),
      write: writeShape(membership, ['role'] as never[]),
      operations: ['list', 'retrieve', 'update', 'destroy'],
      filterFields: { role: 'role' },
      orderingFields: { name: 'account__name' },
      permissionClasses: [
        this.within(membership, name),
        IsSafeMethodOnly.or(this.HasPermission(membersPermission)).or(Leaves),
      ],
      description: 'The members of an organization.',
    };
    const organizationOf = (record: object): unknown => memberships.organizationOf(record);
    return class ReadyMembershipViewSet extends viewClass(membership, ready, rest, memberships) {
      override async performCreate(request: FastifyRequest, data: never): Promise<object> {
        const giver = await giverOf(request, organizationOf(data));
        const member = await super.performCreate(request, data);
        // Checked only now, because the role may be the default of its column. An error rolls the write back.
        memberships.requireCovers(request, giver, (member as MembershipRecord).role);
        note(request, 'auth.member_added', member as MembershipRecord, {});
        await memberships.voidInvitations(request, organizationOf(member), (member as MembershipRecord).account.id);
        return member;
      }

      override async performUpdate(request: FastifyRequest, member: MembershipRecord, data: never): Promise<object> {
        const { role = member.role } = data as { readonly role?: string };
        const was = member.role;
        const organization = organizationOf(member);
        return memberships.keepOwner(request, organization, async () => {
          memberships.requireCovers(request, await giverOf(request, organization), was, role);
          const changed = await super.performUpdate(request, member, data);
          if (role !== was) note(request, 'auth.member_changed', changed as MembershipRecord, { was });
          return changed;
        });
      }

      override async performDestroy(request: FastifyRequest, member: MembershipRecord): Promise<void> {
        const organization = organizationOf(member);
        await memberships.keepOwner(request, organization, async () => {
          const isSelf = member.account.id === requireUser(request).id && !isScoped(request);
          if (!isSelf) memberships.requireCovers(request, await giverOf(request, organization), member.role);
          note(request, 'auth.member_removed', member, {});
          await memberships.voidInvitations(request, organization, member.account.id);
          await super.performDestroy(request, member);
        });
      }
    } as never;

    function note(request: FastifyRequest, event: string, member: MembershipRecord, more: object): void {
      const fields = { target: member.account.id, organization: organizationOf(member), role: member.role, ...more };
      noteEvent(request, event, fields, 'a membership of an organization was changed');
    }
  }
}

function ofMember(entity: EntityName<object>, path: string): UserPermissionClass {
  const Scoped = scoped(entity, (request) => ({ [path]: requireUser(request).id }) as never);
  const Members = IsAuthenticated.and(Scoped);
  Object.defineProperty(Members, 'name', { value: Scoped.name });
  return Members;
}

/**
 * Makes the views and permission classes of organizations: their members have roles, and the roles have permissions by
 * name.
 *
 * @throws ImproperlyConfigured for a wrong option
 * @example
 * export const projects = organizations({
 *   organization: Project,
 *   membership: Member,
 *   name: 'project',
 *   roles: { owner: ['organization.write', 'members.write', 'tasks.write'], member: ['tasks.write'], guest: [] },
 * });
 */
export function organizations<Organization extends object, Membership extends object, const Role extends string>(
  options: OrganizationsOptions<Organization, Membership, Role>,
): Organizations<Organization, Membership, Role> {
  return new Organizations(options);
}
