import type { EntityManager, EntityName, EntityProperty, MikroORM } from '@mikro-orm/core';
import {
  FieldValueError,
  Forbidden,
  getCurrentUser,
  parseLookupText,
  QuerySet,
  requireUser,
  resolveLookup,
  TargetObjectAlreadyExist,
} from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { accountNamesOf } from '../accounts/account-names.ts';
import { EntityContract } from '../accounts/entity-contract.ts';
import { ApiKeyUser } from '../api-keys/api-keys.ts';
import { OWNER, type ResolvedOrganizations } from './organization-options.ts';

/** A membership as the views know it. */
export interface MembershipRecord {
  readonly id: unknown;
  readonly role: string;
  readonly account: { readonly id: unknown };
}

/** What a user may give to others: the permissions of a role, and of these only the scopes of an API key that has some. */
interface Giver {
  readonly role: string;
  /** Null: the credential has no scopes. */
  readonly scopes: readonly string[] | null;
}

/** The memberships of organizations: who has which role, and what a role allows. */
export class Memberships {
  readonly options: ResolvedOrganizations;
  /** The entities of the invitations that the views have. */
  readonly invitations = new Set<EntityName<object>>();

  /** The property with the time at which an organization was deleted; undefined if no view has `softDelete`. */
  deletedAt: string | undefined;

  constructor(options: ResolvedOrganizations) {
    this.options = options;
  }

  /** Returns the user's role in the organization of a path; undefined if there is none. */
  async roleInPath(request: FastifyRequest, key: string): Promise<string | undefined> {
    const { membership, name, lookupField } = this.options;
    const lookup = `${name}__${lookupField}`;
    try {
      const inPath = parseLookupText(resolveLookup(request.em.getMetadata().get(membership), lookup), key);
      const { id } = requireUser(request);
      const memberships = QuerySet.of(request.em, membership).filter({ account__id: id });
      return ((await memberships.where(inPath).entity()) as MembershipRecord | undefined)?.role;
    } catch (error) {
      if (error instanceof FieldValueError) return undefined;
      throw error;
    }
  }

  /** Returns the user's role in an organization, by its id. */
  async roleIn(request: FastifyRequest, organization: unknown): Promise<string | undefined> {
    return this.roleOf(request, organization, requireUser(request).id);
  }

  /** Returns an account's role in an organization; undefined if it is no member. */
  async roleOf({ em }: FastifyRequest, organization: unknown, account: unknown): Promise<string | undefined> {
    const { membership, name } = this.options;
    const where = { [`${name}__id`]: organization, account__id: account } as never;
    const found = await QuerySet.of(em, membership).filter(where).entity();
    return (found as MembershipRecord | undefined)?.role;
  }

  /** True if a role of the user has a permission. An API key with scopes also needs that scope. */
  allows(request: FastifyRequest, role: string, permission: string): boolean {
    return this.#has({ role, scopes: scopesOf(request) }, permission);
  }

  /**
   * Throws Forbidden if a role is more than the user may give or take: it has a permission that the user's role lacks or
   * that is no scope of the API key, or it is the owners' role and the user is no owner or uses a key with scopes.
   */
  async requireGrants(request: FastifyRequest, organization: unknown, ...roles: readonly unknown[]): Promise<void> {
    this.requireCovers(request, await this.roleIn(request, organization), ...roles);
  }

  /** Throws Forbidden if the user, with a role, may not give or take other ones. Undefined: the user is no member. */
  requireCovers(request: FastifyRequest, role: string | undefined, ...roles: readonly unknown[]): void {
    const scopes = scopesOf(request);
    if (role !== undefined && roles.every((each) => this.#covers({ role, scopes }, each))) return;
    throw new Forbidden('The role has more rights than you have');
  }

  /**
   * True if a member of one role may invite to another one: it has the permission for members, and covers the role. The
   * scopes of a key were checked when it sent the invitation.
   */
  invites(inviter: string, role: string): boolean {
    const giver = { role: inviter, scopes: null };
    return this.#has(giver, this.options.membersPermission) && this.#covers(giver, role);
  }

  #covers(giver: Giver, role: unknown): boolean {
    const { roles, ownerRole } = this.options;
    if (giver.role === ownerRole && giver.scopes === null) return roles.has(role as string);
    const wanted = role === ownerRole ? undefined : roles.get(role as string);
    return wanted?.every((name) => this.#has(giver, name)) === true;
  }

  #has({ role, scopes }: Giver, permission: string): boolean {
    const isInScope = scopes === null || scopes.includes(permission);
    return isInScope && this.options.roles.get(role)?.includes(permission) === true;
  }

  /**
   * Runs a write of memberships. If the organization has no owner left, it throws TargetObjectAlreadyExist, which rolls
   * the write back. The organization is locked first, so that of two simultaneous writes the second one waits.
   */
  async keepOwner<Result>(
    request: FastifyRequest,
    organization: unknown,
    write: () => Promise<Result>,
  ): Promise<Result> {
    await this.lock(request.em, organization);
    const owners = this.#owners(request).filter({ [`${this.options.name}__id`]: organization });
    const hadOwner = await owners.exists();
    const result = await write();
    await request.em.flush();
    if (hadOwner && !(await owners.exists())) throw isLast();
    return result;
  }

  /**
   * Throws TargetObjectAlreadyExist if the user owns as many organizations as allowed. The account is locked first, so
   * that of two simultaneous requests the second one waits.
   */
  async requireRoom(request: FastifyRequest): Promise<void> {
    const { membership, name, ownerRole, maxPerUser } = this.options;
    const { id } = requireUser(request);
    await QuerySet.of(request.em, this.#accountOf(request)).filter({ id }).entity({ lock: true });
    const existing = this.deletedAt === undefined ? {} : { [`${name}__${this.deletedAt}__isnull`]: true };
    const owned = QuerySet.of(request.em, membership).filter({ account__id: id, role: ownerRole, ...existing });
    if ((await owned.count()) >= maxPerUser) throw new TargetObjectAlreadyExist(tooMany(maxPerUser));
  }

  /**
   * Throws ImproperlyConfigured if an account could be a member twice, or if the column of a role and the option `roles`
   * have different names.
   *
   * @param invitation the entity of invitations, which is checked too
   */
  checkEntities(orm: Pick<MikroORM, 'getMetadata'>, invitation?: EntityName<object>): void {
    const { membership, name, roles } = this.options;
    const names = [...roles.keys()];
    const members = new EntityContract(orm, 'membership', membership, ['account', 'role', name], OWNER);
    members.requireUniqueTogether(name, 'account');
    members.requireValues('role', names, 'option "roles"');
    if (invitation === undefined) return;
    const properties = ['email', 'role', 'expires_at', 'invited_by', name];
    const invitations = new EntityContract(orm, 'Invitation', invitation, properties, 'InvitationViewSet()');
    invitations.requireUniqueTogether(name, 'email');
    invitations.requireValues('role', names, 'option "roles" of organizations()');
  }

  /** Locks the organizations of an account, and returns the ids of those that have an owner. */
  async lockOwned(request: FastifyRequest, account: unknown): Promise<unknown[]> {
    const { membership, name } = this.options;
    const { em } = request;
    // In one order, so that simultaneous deletions of accounts do not wait for each other.
    const joined = await QuerySet.of(em, membership)
      .filter({ account__id: account })
      .orderBy(`${name}__id` as never)
      .entities();
    const owned: unknown[] = [];
    for (const ids of chunks(joined.map((each) => this.organizationOf(each)))) {
      const locked = await this.#existing(em, ids)
        .orderBy('id' as never)
        .entities({ lock: true });
      owned.push(...(await this.#owned(request, locked.map(idOf))));
    }
    return [...new Set(owned)];
  }

  /** Returns those of the organizations that exist and have no owner. */
  async withoutOwner(request: FastifyRequest, organizations: readonly unknown[]): Promise<unknown[]> {
    const lost: unknown[] = [];
    for (const ids of chunks(organizations)) {
      const kept = new Set((await this.#owned(request, ids)).map(String));
      const existing = await this.#existing(request.em, ids).entities();
      lost.push(...existing.map(idOf).filter((id) => !kept.has(String(id))));
    }
    return lost;
  }

  /** Returns the id of the organization of a membership, an invitation, or the data of a new one. */
  organizationOf(record: object): unknown {
    return idOf((record as Readonly<Record<string, unknown>>)[this.options.name]);
  }

  /** True if an account has an address now. The user of a request may be some minutes old. */
  hasAddress(request: FastifyRequest, account: unknown, email: string): Promise<boolean> {
    const lookups = { id: account, [accountNamesOf(request).email]: email } as never;
    return QuerySet.of(request.em, this.#accountOf(request)).filter(lookups).exists();
  }

  /** Deletes the open invitations of a member, so that nobody who is removed comes back by an old one. */
  async voidInvitations(request: FastifyRequest, organization: unknown, account: unknown): Promise<void> {
    const { em } = request;
    const found = await QuerySet.of(em, this.#accountOf(request)).filter({ id: account }).entity();
    const email = (found as Readonly<Record<string, unknown>> | undefined)?.[accountNamesOf(request).email];
    for (const entity of this.invitations) {
      const isKnown = em.getMetadata().find(entity) !== undefined;
      if (isKnown) await em.nativeDelete(entity, { [this.options.name]: organization, email });
    }
  }

  #accountOf({ em }: FastifyRequest): EntityName<object> {
    const { account } = em.getMetadata().get(this.options.membership).properties as Record<string, EntityProperty>;
    return account!.targetMeta!.class;
  }

  /**
   * Locks an organization until the transaction ends, so that writes of its memberships follow one another. False if it
   * is deleted.
   */
  async lock(em: EntityManager, id: unknown): Promise<boolean> {
    return (await this.#existing(em, [id]).entity({ lock: true })) !== undefined;
  }

  /** Those of the organizations that are not deleted. */
  #existing(em: EntityManager, ids: readonly unknown[]): QuerySet<object> {
    const found = QuerySet.of(em, this.options.organization).filter({ id__in: ids });
    return this.deletedAt === undefined ? found : found.filter({ [`${this.deletedAt}__isnull`]: true });
  }

  /** The memberships of owners who can log in. A disabled account owns nothing until it is enabled. */
  #owners(request: FastifyRequest): QuerySet<object> {
    const { membership, ownerRole } = this.options;
    const { account } = request.em.getMetadata().get(membership).properties as Record<
      string,
      EntityProperty | undefined
    >;
    const name = accountNamesOf(request).is_active;
    const active = name in (account?.targetMeta?.properties ?? {}) ? { [`account__${name}`]: true } : {};
    return QuerySet.of(request.em, membership).filter({ role: ownerRole, ...active });
  }

  async #owned(request: FastifyRequest, ids: readonly unknown[]): Promise<unknown[]> {
    const owners = this.#owners(request).filter({ [`${this.options.name}__id__in`]: ids });
    return (await owners.entities()).map((each) => this.organizationOf(each));
  }
}

/** True for a request by an API key with scopes. */
export function isScoped(request: FastifyRequest): boolean {
  return scopesOf(request) !== null;
}

/** The scopes of the API key of a request; null if it has none, or the request has another credential. */
function scopesOf(request: FastifyRequest): readonly string[] | null {
  const user: unknown = getCurrentUser(request);
  return user instanceof ApiKeyUser ? user.api_key.scopes : null;
}

/** The most organizations in a condition of one query. */
const MAX_IN_QUERY = 500;

function* chunks(values: readonly unknown[]): Generator<readonly unknown[]> {
  for (let at = 0; at < values.length; at += MAX_IN_QUERY) yield values.slice(at, at + MAX_IN_QUERY);
}

/** The id of a record, which may be an entity, a reference or the id itself. */
export function idOf(record: unknown): unknown {
  return typeof record === 'object' && record !== null && 'id' in record ? record.id : record;
}

function tooMany(most: number): string {
  return `A user can own at most ${most} organizations (maxPerUser); delete one first, or make somebody else its owner`;
}

/** The error of a write that leaves an organization without an owner. */
export function isLast(): TargetObjectAlreadyExist {
  return new TargetObjectAlreadyExist('An organization must keep an owner; make another one first');
}
