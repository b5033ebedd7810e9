import type { EntityManager } from '@mikro-orm/core';
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
import { ApiKeyUser } from '../api-keys/api-keys.ts';
import type { ResolvedOrganizations } from './organization-options.ts';

/** A membership as the views know it. */
export interface MembershipRecord {
  readonly id: unknown;
  readonly role: string;
  readonly account: { readonly id: unknown };
}

/** The memberships of organizations: who has which role, and what a role allows. */
export class Memberships {
  readonly options: ResolvedOrganizations;

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
    const user: unknown = getCurrentUser(request);
    const scopes = user instanceof ApiKeyUser ? user.api_key.scopes : null;
    const isInScope = scopes === null || scopes.includes(permission);
    return isInScope && this.options.roles.get(role)?.includes(permission) === true;
  }

  /**
   * Throws Forbidden if a role is more than the user may give or take: it has a permission that the user's role lacks, or
   * it is the owners' role and the user is no owner.
   */
  async requireGrants(request: FastifyRequest, organization: unknown, ...roles: readonly unknown[]): Promise<void> {
    this.requireCovers(await this.roleIn(request, organization), ...roles);
  }

  /** Throws Forbidden if a user with one role may not give or take other ones. Undefined: the user is no member. */
  requireCovers(giver: string | undefined, ...roles: readonly unknown[]): void {
    if (giver !== undefined && roles.every((role) => this.covers(giver, role))) return;
    throw new Forbidden('The role has more rights than you have');
  }

  /** True if a member of one role may invite to another one: it has the permission for members, and covers the role. */
  invites(giver: string, role: string): boolean {
    const { roles, membersPermission } = this.options;
    return roles.get(giver)?.includes(membersPermission) === true && this.covers(giver, role);
  }

  /** True if a member of one role may give another one. */
  covers(giver: string, role: unknown): boolean {
    const { roles, ownerRole } = this.options;
    if (giver === ownerRole) return roles.has(role as string);
    const wanted = role === ownerRole ? undefined : roles.get(role as string);
    return wanted?.every((name) => roles.get(giver)?.includes(name)) === true;
  }

  /**
   * Runs a write of memberships. If the organization has no owner left, it throws TargetObjectAlreadyExist, which rolls
   * the write back. The organization is locked first, so that of two simultaneous writes the second one waits.
   */
  async keepOwner<Result>(em: EntityManager, organization: unknown, write: () => Promise<Result>): Promise<Result> {
    await this.lock(em, organization);
    const owners = this.#owners(em, organization);
    const hadOwner = await owners.exists();
    const result = await write();
    await em.flush();
    if (hadOwner && !(await owners.exists())) throw isLast();
    return result;
  }

  /** Throws TargetObjectAlreadyExist if the user is the last owner of an organization. */
  async requireOtherOwners(request: FastifyRequest): Promise<void> {
    const { membership, ownerRole, name } = this.options;
    const { em } = request;
    const { id } = requireUser(request);
    const owned = await QuerySet.of(em, membership)
      .filter({ account__id: id, role: ownerRole })
      .orderBy(`${name}__id` as never)
      .entities();
    for (const each of owned) {
      const organization = idOf((each as Readonly<Record<string, unknown>>)[name]);
      await this.lock(em, organization);
      const others = this.#owners(em, organization).filter({ account__id__ne: id });
      if (!(await others.exists())) throw isLast();
    }
  }

  /** Locks an organization until the transaction ends, so that writes of its memberships follow one another. */
  async lock(em: EntityManager, id: unknown): Promise<void> {
    await QuerySet.of(em, this.options.organization).filter({ id }).entity({ lock: true });
  }

  #owners(em: EntityManager, id: unknown): QuerySet<object> {
    const { membership, name, ownerRole } = this.options;
    return QuerySet.of(em, membership).filter({ [`${name}__id`]: id, role: ownerRole });
  }
}

/** The id of a record, which may be an entity, a reference or the id itself. */
export function idOf(record: unknown): unknown {
  return typeof record === 'object' && record !== null && 'id' in record ? record.id : record;
}

function isLast(): TargetObjectAlreadyExist {
  return new TargetObjectAlreadyExist('An organization must keep an owner; make another one first');
}
