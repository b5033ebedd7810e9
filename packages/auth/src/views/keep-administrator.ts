import type { EntityName } from '@mikro-orm/core';
import { checkOptionNames, QuerySet, TargetObjectAlreadyExist } from '@viewset/core';
import type { FastifyRequest } from 'fastify';

/** The names of an account's properties and of the administrators' role. */
export interface AdministratorOptions {
  /** The name of the administrators' role. Default: `admin`. */
  readonly adminRole?: string;
  /** Your own names of these properties of the account, as in the option `fields` of `auth`. */
  readonly names?: { readonly role?: string; readonly is_active?: string };
}

/** Runs a write of accounts inside the request's transaction. */
export type KeepAdministrator = <Result>(request: FastifyRequest, write: () => Promise<Result>) => Promise<Result>;

/**
 * Makes a function that runs a write of accounts. If no active administrator is left, it throws
 * TargetObjectAlreadyExist (409), which rolls the write back. `AccountViewSet` uses it. Give it to `me.delete` as well.
 *
 * Of two simultaneous writes in any processes, the second waits for the first. Each begins with an update that locks
 * the role's row without changing it. Every database then counts what the first has committed.
 *
 * @throws ImproperlyConfigured for an unknown option
 * @example
 * const me: MeOptions = { delete: keepAdministrator(Account) };
 * // DELETE /auth/me {"password":"…"} of the only administrator → 409
 */
export function keepAdministrator<Entity extends object>(
  entity: EntityName<Entity>,
  { adminRole = 'admin', names = {}, ...rest }: AdministratorOptions = {},
): KeepAdministrator {
  checkOptionNames('keepAdministrator()', rest, []);
  const { role = 'role', is_active = 'is_active' } = names;
  const account = entity as EntityName<object>;
  return async (request, write) => {
    const { em } = request;
    const { properties } = em.getMetadata().get(account);
    const roles = (properties as Record<string, { readonly targetMeta?: { readonly class: EntityName<object> } }>)[
      role
    ];
    await em.nativeUpdate(roles!.targetMeta!.class, { name: adminRole }, { name: adminRole });
    const named = { name: adminRole };
    const byRole = 'roles' in properties ? { $or: [{ [role]: named }, { roles: named }] } : { [role]: named };
    const administrators = QuerySet.of(em, account).matching({ ...byRole, [is_active]: true });
    const before = await administrators.count();
    const result = await write();
    if (before > 0 && (await administrators.count()) === 0) {
      throw new TargetObjectAlreadyExist('The last administrator cannot be removed; make another one first');
    }
    return result;
  };
}
