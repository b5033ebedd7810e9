import type { EntityName } from '@mikro-orm/core';
import { HasRole, many, type ReadShape, readShape, refs, type WriteShape, writeShape } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { EmailAddress } from '../accounts/email-field.ts';
import { keepOwners, noteLostOwners } from '../organizations/kept-owners.ts';
import { invitationsIn } from '../invitations/invitations.ts';
import { invitingView, requireInvitations } from './inviting-view.ts';
import { keepAdministrator } from './keep-administrator.ts';
import { noteEvent } from './noted-events.ts';
import { PrivilegeGuard, roleLoader } from './privilege-guard.ts';
import { type ReadyViewClass, type ReadyViewOptions, viewClass } from './view-class.ts';

/** The options of `AccountViewSet`: those of ModelViewSet, and names of the account's properties and roles. */
export interface AccountViewSetOptions<Entity extends object> extends ReadyViewOptions<Entity> {
  /** Your own names of these properties, as in the option `fields` of `auth`. Bodies and responses use them too. */
  readonly names?: { readonly [Field in Renamed]?: keyof Entity & string };
  /** True: the view shows and writes the account's further roles in `roles`. Default: false. */
  readonly roles?: 'roles' extends keyof Entity ? boolean : false;
  /**
   * True: the view creates accounts and invites their owners, with the option `invitations` of `auth`. Default: false.
   */
  readonly invitations?: 'invited_until' extends keyof Entity ? boolean : false;
  /** The name of the administrators' role. Default: `admin`. */
  readonly adminRole?: string;
}

type Renamed = 'email' | 'name' | 'is_active' | 'role';

/** The name that the options give a property. */
type NameIn<Options, Field extends Renamed> = Options extends {
  readonly names: { readonly [Name in Field]: infer Property extends string };
}
  ? Property
  : Field;

type Fields<Options> = {
  readonly [Name in NameIn<Options, 'email'> | NameIn<Options, 'name'>]: string;
} & { readonly [Name in NameIn<Options, 'is_active'>]: boolean } & {
  readonly [Name in NameIn<Options, 'role'>]: string | null;
};

type Inviting<Options, Shown, Otherwise = unknown> = Options extends { readonly invitations: true } ? Shown : Otherwise;
type FurtherRoles<Options, Shown> = Options extends { readonly roles: true } ? Shown : unknown;

/** An account in responses of `AccountViewSet`. `role` is its name or null. With the option `roles`, `roles` has all names. */
export type AccountRecord<Options = object> = { readonly id: number } & Fields<Options> &
  FurtherRoles<Options, { readonly roles: readonly string[] }> &
  Inviting<Options, { readonly invited_until: string | null }>;

/** An account in bodies of `AccountViewSet`. A role is written by its name. */
export type AccountChanges<Options = object> = Fields<Options> &
  FurtherRoles<Options, { readonly roles?: readonly string[] }>;

/** A new account in bodies of `AccountViewSet` with the option `invitations`. Without a role it gets that of new accounts. */
export type NewAccountFields<Options = object> = {
  readonly [Name in NameIn<Options, 'email'> | NameIn<Options, 'name'>]: string;
} & { readonly [Name in NameIn<Options, 'role'>]?: string | null } & FurtherRoles<
    Options,
    { readonly roles?: readonly string[] }
  >;

/** The options that the view sets itself. */
interface ReadyOptions<Entity extends object, Options> {
  readonly read: ReadShape<Entity, AccountRecord<Options>>;
  readonly write: Inviting<
    Options,
    {
      readonly create: WriteShape<Entity, NewAccountFields<Options>>;
      readonly update: WriteShape<Entity, AccountChanges<Options>>;
    },
    WriteShape<Entity, AccountChanges<Options>>
  >;
  readonly operations: Inviting<
    Options,
    readonly ['list', 'create', 'retrieve', 'update', 'destroy'],
    readonly ['list', 'retrieve', 'update', 'destroy']
  >;
  readonly searchFields: readonly [NameIn<Options, 'name'>, NameIn<Options, 'email'>];
  readonly filterFields: { readonly [Name in NameIn<Options, 'is_active'>]: Name } & {
    readonly [Name in NameIn<Options, 'role'>]: `${Name}__name`;
  };
  readonly orderingFields: { readonly [Name in 'id' | NameIn<Options, 'name'> | NameIn<Options, 'email'>]: Name };
}

/** An account's permissions. */
interface Access {
  readonly id: unknown;
  readonly role: string | null;
  readonly roles?: readonly string[];
  readonly isActive: boolean;
}

/**
 * Makes a view with which administrators list, read, change and delete accounts. Accounts come from registration, so there is no create.
 * With the option `invitations` there is: it makes an account without a password, and sends its owner a link to choose one. The last active administrator cannot be removed (409), and the account of the last owner
 * of an organization cannot be deleted (409, see `organizations()`). Changed roles, and enabled, disabled or deleted accounts are
 * security events.
 *
 * If other `permissionClasses` allow users who are not administrators, these users cannot change roles. They cannot change accounts of
 * administrators, or accounts with a permission that they lack (403).
 *
 * The options of `ModelViewSet` replace those of the view. Extend the class to override hooks.
 *
 * @throws ImproperlyConfigured if an option is wrong
 * @example
 * import { AccountViewSet } from '@viewset/auth';
 *
 * class Accounts extends AccountViewSet(Account, { pageSize: 50 }) {}
 * router.register('accounts', Accounts);
 * // PATCH /accounts/7 {"role":"editor"} → 200 {"id":7,"email":"ann@example.com","name":"Ann","is_active":true,"role":"editor"}
 */
export function AccountViewSet<
  Entity extends object,
  const Options extends AccountViewSetOptions<Entity> = Record<never, never>,
>(
  entity: EntityName<Entity>,
  options?: Options,
): ReadyViewClass<
  Entity,
  ReadyOptions<Entity, Options>,
  Omit<Options, 'names' | 'roles' | 'invitations' | 'adminRole'>
> {
  const {
    names: given = {},
    roles = false,
    invitations = false,
    adminRole = 'admin',
    ...rest
  } = options ?? ({} as Options);
  const names = { email: 'email', name: 'name', is_active: 'is_active', role: 'role', ...given };
  const anyEntity = entity as EntityName<object>;
  const keepAdmin = keepAdministrator(anyEntity, { adminRole, names: pick(names) });
  const loadRoles = roleLoader(anyEntity, names.role);
  const guard = new PrivilegeGuard(loadRoles, adminRole);
  const accessOf = async (request: FastifyRequest, account: object): Promise<Access> => {
    const { role, further } = await loadRoles(request, account);
    const values = account as { readonly id: unknown; readonly [name: string]: unknown };
    return {
      id: values.id,
      role: role?.name ?? null,
      ...(roles && { roles: further.map(({ name }) => name).toSorted() }),
      isActive: values[names.is_active] === true,
    };
  };
  const ready = readyOptions(anyEntity, names, { roles, invitations, adminRole });
  class ReadyAccountViewSet extends viewClass(anyEntity, ready, rest) {
    override async performUpdate(request: FastifyRequest, account: object, data: never): Promise<object> {
      const kept = await guard.check(request, account);
      const before = await accessOf(request, account);
      const update = () => keepAdmin(request, () => super.performUpdate(request, account, data));
      const pending = invitationsIn(request.server.auth);
      const write = () => (pending === undefined ? update() : pending.whileUnused(request, account, update));
      const isDisabled = before.isActive && (data as Readonly<Record<string, unknown>>)[names.is_active] === false;
      const changed = await (isDisabled ? noteLostOwners(request, before.id, write) : write());
      await guard.checkRoles(request, changed, kept);
      if (invitations) await requireInvitations(request.server.auth).voidIfActive(request.em, changed);
      noteChange(request, before, await accessOf(request, changed));
      return changed;
    }

    override async performDestroy(request: FastifyRequest, account: object): Promise<void> {
      const { id } = account as { readonly id: unknown };
      await guard.check(request, account);
      await keepOwners(request, id, () => keepAdmin(request, () => super.performDestroy(request, account)));
      noteEvent(request, 'auth.account_deleted', { target: id }, 'an account was deleted');
    }
  }
  if (!invitations) return ReadyAccountViewSet as never;
  return invitingView(ReadyAccountViewSet, { names, rest, guard }) as never;
}

type Names = Readonly<Record<Renamed, string>>;

function pick({ role, is_active }: Names): Pick<Names, 'role' | 'is_active'> {
  return { role, is_active };
}

function readyOptions(
  entity: EntityName<object>,
  { email, name, is_active, role }: Names,
  {
    roles,
    invitations,
    adminRole,
  }: { readonly roles: boolean; readonly invitations: boolean; readonly adminRole: string },
): object {
  const byName = `${role}.name`;
  const shown = { [role]: byName, ...(roles && { roles: many('roles.name' as never) }) };
  const written = { [email]: EmailAddress, [role]: byName, ...(roles && { roles: refs('roles.name') }) };
  const update = writeShape(entity, [name, is_active] as never[], written as never, {
    required: [is_active, role] as never[],
  });
  const create = writeShape(entity, [name] as never[], written as never);
  const invited = invitations ? ['invited_until'] : [];
  return {
    read: readShape(entity, ['id', email, name, is_active, ...invited] as never[], shown as never),
    write: invitations ? { create, update } : update,
    operations: ['list', ...(invitations ? ['create'] : []), 'retrieve', 'update', 'destroy'],
    searchFields: [name, email],
    filterFields: { [role]: `${role}__name`, [is_active]: is_active },
    orderingFields: { id: 'id', [name]: name, [email]: email },
    permissionClasses: [HasRole(adminRole)],
    description: invitations
      ? 'The accounts. A new one gets a mail in which its owner chooses the password.'
      : 'The accounts, which come from registration.',
  };
}

function noteChange(request: FastifyRequest, before: Access, after: Access): void {
  const target = after.id;
  if (before.role !== after.role || String(before.roles) !== String(after.roles)) {
    const further = after.roles && { roles: after.roles, roles_were: before.roles };
    const fields = { target, role: after.role, was: before.role, ...further };
    noteEvent(request, 'auth.role_changed', fields, 'the role of an account was changed');
  }
  if (before.isActive !== after.isActive) {
    const name = after.isActive ? 'auth.account_enabled' : 'auth.account_disabled';
    noteEvent(request, name, { target }, 'an account was enabled or disabled');
  }
}
