import type { EntityName } from '@mikro-orm/core';
import { checkOptionNames, QuerySet, TargetObjectAlreadyExist } from '@viewset/core';
import type { FastifyRequest } from 'fastify';

/** What an account's role is called, and that of the administrators. */
export interface AdministratorOptions {
  /** The name of the administrators' role. Default: `admin`. */
  readonly adminRole?: string;
  /** Names of your own for these properties of the account, as in the option `fields` of `auth`. */
  readonly names?: { readonly role?: string; readonly is_active?: string };
}

/** Runs a write of accounts inside the request's transaction. */
export type KeepAdministrator = <Result>(request: FastifyRequest, write: () => Promise<Result>) => Promise<Result>;

/**
 * Makes a function that keeps the last active administrator of an application: it runs a write of accounts, and throws
 * TargetObjectAlreadyExist (409), which rolls the write back, if no administrator is left. `AccountViewSet` uses it; give it to
 * `me.delete` as well.
 *
 * If two writes come at once, the second waits for the first to end, in any process: each begins with a write of the role's row, which
 * leaves the row as it is and locks it. Every database then counts what the first has committed.
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
      throw new TargetObjectAlreadyExist('The last administrator stays: another one has to be there first');
    }
    return result;
  };
}
