import { QuerySet, TargetObjectAlreadyExist } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { Account } from './entities/account.ts';
import { Role } from './entities/role.ts';

/** The name of the administrators' role. */
export const ADMIN_ROLE = 'admin';

/**
 * Runs a write of an account inside the request's transaction. Throws TargetObjectAlreadyExist (409), and so rolls the
 * write back, if it took the last active administrator away.
 *
 * If two such writes come at once, the second waits for the first to end, in any process: each begins with a write of the role's
 * row, which leaves the row as it is and locks it. Every database then counts what the first has committed.
 */
export async function keepAdministrator<Result>(
  request: FastifyRequest,
  write: () => Promise<Result>,
): Promise<Result> {
  const { em } = request;
  await em.nativeUpdate(Role, { name: ADMIN_ROLE }, { name: ADMIN_ROLE });
  const administrators = QuerySet.of(em, Account).filter({ role__name: ADMIN_ROLE, is_active: true });
  const before = await administrators.count();
  const result = await write();
  if (before > 0 && (await administrators.count()) === 0) {
    throw new TargetObjectAlreadyExist('The last administrator stays: another one has to be there first');
  }
  return result;
}

/** Throws TargetObjectAlreadyExist (409) for the administrators' role: without it nobody is an administrator. */
export function requireOtherRole(role: Role): void {
  if (role.name === ADMIN_ROLE) {
    throw new TargetObjectAlreadyExist(`The role "${ADMIN_ROLE}" keeps its name and is not deleted`);
  }
}
