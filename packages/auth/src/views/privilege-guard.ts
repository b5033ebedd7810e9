import type { EntityName } from '@mikro-orm/core';
import { Forbidden, getCurrentUser, IsRoleAdminUser } from '@viewset/core';
import type { FastifyRequest } from 'fastify';

interface Role {
  readonly name: string;
  readonly permissions?: unknown;
}

/**
 * Keeps people who may manage accounts, and are no administrators, from getting more rights than they have: by their own role, or by an
 * account that has more rights, whose address would lead to its password.
 */
export class PrivilegeGuard {
  readonly #account: EntityName<object>;
  readonly #role: string;
  readonly #adminRole: string;
  readonly #administrators: IsRoleAdminUser;

  /** @param role the name of the account's property */
  constructor(account: EntityName<object>, role: string, adminRole: string) {
    this.#account = account;
    this.#role = role;
    this.#adminRole = adminRole;
    this.#administrators = new (IsRoleAdminUser.named(adminRole))();
  }

  /**
   * Throws Forbidden if a user who is no administrator writes an account of an administrator, or one that has a permission which the user
   * lacks. Returns the roles that the account has to keep; undefined if the user may change them.
   */
  async check(request: FastifyRequest, account: object): Promise<string | undefined> {
    if (this.#administrators.hasPermission(request)) return undefined;
    const roles = await this.#rolesOf(request, account);
    const { permissions: own } = (getCurrentUser(request) ?? {}) as { readonly permissions?: unknown };
    const held = new Set<unknown>(Array.isArray(own) ? own : []);
    const isStronger = roles.some(
      ({ name, permissions }) =>
        name === this.#adminRole || (Array.isArray(permissions) && permissions.some((each) => !held.has(each))),
    );
    if (isStronger) throw new Forbidden('The account has more rights than you have');
    return namesOf(roles);
  }

  /** Throws Forbidden, which rolls the write back, if the account has other roles than those that `check` returned. */
  async checkRoles(request: FastifyRequest, account: object, kept: string | undefined): Promise<void> {
    if (kept === undefined || namesOf(await this.#rolesOf(request, account)) === kept) return;
    throw new Forbidden('Only administrators change the roles of accounts');
  }

  async #rolesOf({ em }: FastifyRequest, account: object): Promise<readonly Role[]> {
    const hasFurther = 'roles' in em.getMetadata().get(this.#account).properties;
    await em.populate(account, [this.#role, ...(hasFurther ? ['roles'] : [])] as never);
    const values = account as Readonly<Record<string, unknown>>;
    const role = values[this.#role] as Role | null | undefined;
    return [...(role ? [role] : []), ...(hasFurther ? (values['roles'] as Iterable<Role>) : [])];
  }
}

function namesOf(roles: readonly Role[]): string {
  return JSON.stringify(roles.map(({ name }) => name).toSorted());
}
