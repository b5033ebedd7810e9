import type { EntityName } from '@mikro-orm/core';
import { Forbidden, getCurrentUser, HasRole } from '@viewset/core';
import type { FastifyRequest } from 'fastify';

interface Role {
  readonly name: string;
  readonly permissions?: unknown;
}

/** The roles that an account has. */
export interface HeldRoles {
  readonly role: Role | null;
  /** The roles in `roles`; empty if the account has no such property. */
  readonly further: readonly Role[];
}

/** Loads the roles of an account. */
export type LoadRoles = (request: FastifyRequest, account: object) => Promise<HeldRoles>;

/**
 * Makes the function that loads the roles of an account.
 *
 * @param name the name of the account's property `role`
 */
export function roleLoader(entity: EntityName<object>, name: string): LoadRoles {
  return async ({ em }, account) => {
    const hasFurther = 'roles' in em.getMetadata().get(entity).properties;
    await em.populate(account, [name, ...(hasFurther ? ['roles'] : [])] as never);
    const values = account as Readonly<Record<string, unknown>>;
    const role = values[name] as Role | null | undefined;
    return { role: role ?? null, further: hasFurther ? [...(values['roles'] as Iterable<Role>)] : [] };
  };
}

/**
 * Prevents users who manage accounts but are not administrators from gaining permissions, through their own role or
 * through an account with more permissions. By changing its address they could set its password.
 */
export class PrivilegeGuard {
  readonly #loadRoles: LoadRoles;
  readonly #adminRole: string;
  readonly #administrators: { hasPermission(request: FastifyRequest): boolean };

  constructor(loadRoles: LoadRoles, adminRole: string) {
    this.#loadRoles = loadRoles;
    this.#adminRole = adminRole;
    this.#administrators = new (HasRole(adminRole))();
  }

  /**
   * Throws Forbidden if a user who is not an administrator writes an administrator's account, or one with a permission
   * that the user lacks. Returns the roles that the account must keep; undefined if the user may change them.
   */
  async check(request: FastifyRequest, account: object): Promise<string | undefined> {
    if (this.isAdministrator(request)) return undefined;
    const held = listed(await this.#loadRoles(request, account));
    const { permissions: userPermissions } = (getCurrentUser(request) ?? {}) as { readonly permissions?: unknown };
    const allowed = new Set<unknown>(Array.isArray(userPermissions) ? userPermissions : []);
    const isStronger = held.some(
      ({ name, permissions }) =>
        name === this.#adminRole || (Array.isArray(permissions) && permissions.some((each) => !allowed.has(each))),
    );
    if (isStronger) throw new Forbidden('The account has more rights than you have');
    return namesOf(held);
  }

  /** True if the user of a request is an administrator. */
  isAdministrator(request: FastifyRequest): boolean {
    return this.#administrators.hasPermission(request);
  }

  /** Throws Forbidden, which rolls the write back, if the account's roles differ from the result of `check`. */
  async checkRoles(request: FastifyRequest, account: object, kept: string | undefined): Promise<void> {
    if (kept === undefined || namesOf(listed(await this.#loadRoles(request, account))) === kept) return;
    throw new Forbidden('Only administrators change the roles of accounts');
  }
}

function listed({ role, further }: HeldRoles): readonly Role[] {
  return role === null ? further : [role, ...further];
}

function namesOf(roles: readonly Role[]): string {
  return JSON.stringify(roles.map(({ name }) => name).toSorted());
}
