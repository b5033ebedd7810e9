import type { EntityName } from '@mikro-orm/core';
import { checkOptionNames, wrongOption } from '@viewset/core';

/** The options of `organizations()`. */
export interface OrganizationsOptions<Organization extends object, Membership extends object, Role extends string> {
  /** The entity of organizations, with the primary key `id`. */
  readonly organization: EntityName<Organization>;
  /**
   * The entity of memberships: `account`, a reference to the account; `role`, a text; and a reference to the
   * organization. An account has at most one membership of an organization (a unique constraint).
   */
  readonly membership: EntityName<Membership>;
  /** The roles of members, each with the names of its permissions. */
  readonly roles: Readonly<Record<Role, readonly string[]>>;
  /** The role that each organization keeps at least one member of. Default: `owner`. */
  readonly ownerRole?: NoInfer<Role>;
  /** The membership's reference to the organization, and the parameter of paths. Default: `organization`. */
  readonly name?: keyof Membership & string;
  /** The organization's collection of memberships. Default: `members`. */
  readonly members?: keyof Organization & string;
  /** The organization's field that paths contain, as `lookupField` of its view. Default: `id`. */
  readonly lookupField?: keyof Organization & string;
  /** The permission to change and delete an organization. Default: `organization.write`. */
  readonly organizationPermission?: string;
  /** The permission to change and remove members, and to invite. Default: `members.write`. */
  readonly membersPermission?: string;
  /**
   * The most organizations that one user owns. Creating another one gives 409. Organizations that are deleted, also by
   * `softDelete`, do not count. Becoming the owner of an existing one is not limited. Default: 200.
   */
  readonly maxPerUser?: number;
}

/** The options with their defaults, checked. */
export interface ResolvedOrganizations {
  readonly organization: EntityName<object>;
  readonly membership: EntityName<object>;
  readonly roles: ReadonlyMap<string, readonly string[]>;
  readonly ownerRole: string;
  readonly name: string;
  readonly members: string;
  readonly lookupField: string;
  readonly organizationPermission: string;
  readonly membersPermission: string;
  readonly maxPerUser: number;
}

export const OWNER = 'organizations()';
const MAX_PER_USER = 200;
const NAMES: readonly (keyof OrganizationsOptions<object, object, string>)[] = [
  'organization',
  'membership',
  'roles',
  'ownerRole',
  'name',
  'members',
  'lookupField',
  'organizationPermission',
  'membersPermission',
  'maxPerUser',
];

/** Throws ImproperlyConfigured with the option, the expected value and the given one. */
export function resolveOrganizations(given: OrganizationsOptions<never, never, string>): ResolvedOrganizations {
  checkOptionNames(OWNER, given, NAMES);
  const { organization, membership, roles } = given;
  for (const [option, entity] of [
    ['organization', organization],
    ['membership', membership],
  ] as const) {
    if (entity === undefined || entity === null) throw wrongOption(OWNER, option, 'an entity', entity);
  }
  const texts = {
    ownerRole: 'owner',
    name: 'organization',
    members: 'members',
    lookupField: 'id',
    organizationPermission: 'organization.write',
    membersPermission: 'members.write',
  };
  const resolved = { ...texts };
  for (const option of Object.keys(texts) as (keyof typeof texts)[]) {
    const text: unknown = given[option] ?? texts[option];
    if (typeof text !== 'string' || text === '') throw wrongOption(OWNER, option, 'a name', text);
    resolved[option] = text;
  }
  const names = rolesOf(roles);
  if (!names.has(resolved.ownerRole)) {
    throw wrongOption(OWNER, 'ownerRole', `one of the roles ${[...names.keys()].join(', ')}`, resolved.ownerRole);
  }
  const maxPerUser: unknown = given.maxPerUser ?? MAX_PER_USER;
  if (!(Number.isSafeInteger(maxPerUser) && (maxPerUser as number) > 0)) {
    throw wrongOption(OWNER, 'maxPerUser', 'a whole number above 0', maxPerUser);
  }
  return { ...resolved, organization, membership, roles: names, maxPerUser } as ResolvedOrganizations;
}

function rolesOf(roles: unknown): ReadonlyMap<string, readonly string[]> {
  const entries = typeof roles === 'object' && roles !== null ? Object.entries(roles) : [];
  const areLists = entries.every(
    ([, names]) => Array.isArray(names) && names.every((name) => typeof name === 'string'),
  );
  if (entries.length > 0 && areLists) return new Map(entries as [string, readonly string[]][]);
  throw wrongOption(OWNER, 'roles', 'an object of lists of permissions, by the names of the roles', roles);
}
