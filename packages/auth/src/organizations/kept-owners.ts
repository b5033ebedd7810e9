import type { FastifyRequest } from 'fastify';
import { noteEvent } from '../views/noted-events.ts';
import { isLast, type Memberships } from './memberships.ts';

/** The memberships of all `organizations()`, by their entity. Of several for one entity, the last that was declared. */
const declared = new Map<object, Memberships>();

/** Makes memberships known to the writes of accounts. */
export function declareMemberships(memberships: Memberships): void {
  declared.set(memberships.options.membership, memberships);
}

/**
 * Runs a write that deletes an account. Throws TargetObjectAlreadyExist, which rolls the write back, if an organization
 * is left without an owner. An organization that the write deletes needs none. The organizations of the account are
 * locked first, so that simultaneous writes of their memberships wait.
 */
export async function keepOwners<Result>(
  request: FastifyRequest,
  account: unknown,
  write: () => Promise<Result>,
): Promise<Result> {
  const { result, lost } = await writeOwner(request, account, write);
  if (lost.length > 0) throw isLast();
  return result;
}

/**
 * Runs a write that disables an account, and returns its result. It is never refused: otherwise users could not be
 * disabled as long as they own an organization. Notes a security event for each organization that is left without an owner.
 */
export async function noteLostOwners<Result>(
  request: FastifyRequest,
  account: unknown,
  write: () => Promise<Result>,
): Promise<Result> {
  const { result, lost } = await writeOwner(request, account, write);
  for (const organization of lost) {
    const fields = { target: account, organization };
    noteEvent(request, 'auth.organization_without_owner', fields, 'an organization has no owner who can log in');
  }
  return result;
}

/** Runs a write, and finds the organizations that have lost their last owner by it. */
async function writeOwner<Result>(request: FastifyRequest, account: unknown, write: () => Promise<Result>) {
  const known = knownTo(request);
  const owned: (readonly [Memberships, unknown[]])[] = [];
  for (const memberships of known) owned.push([memberships, await memberships.lockOwned(request, account)]);
  const result = await write();
  const lost: unknown[] = [];
  for (const [memberships, ids] of owned) lost.push(...(await memberships.withoutOwner(request, ids)));
  return { result, lost };
}

/** The memberships whose entities the ORM of a request has. */
function knownTo({ em }: FastifyRequest): Memberships[] {
  const metadata = em.getMetadata();
  return [...declared.values()].filter(({ options: { membership } }) => {
    const meta = metadata.find(membership);
    return meta !== undefined && metadata.has(meta.class);
  });
}
