import { Forbidden, InvalidUsage } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { AccountEntity } from '../accounts/account-contract.ts';
import type { OwnerProof, SentProof } from './owner-proof.ts';

/** A login counts as a proof for this time. */
const LOGIN_MS = 600_000;

export interface RecentProofParts {
  readonly proveOwner: OwnerProof;
  /** True if accounts may have two factors. */
  readonly hasCodes: boolean;
  /** When the user of the request logged in; undefined if that is unknown. */
  readonly loginTime: (request: FastifyRequest) => Promise<Date | undefined>;
}

/**
 * Returns the logged-in user's account after a proof that a stolen access token cannot give: the password, with a code if
 * the account has two factors, or a login of the last ten minutes. Throws Forbidden without one, and for a wrong
 * password or code, which counts like any other wrong one.
 */
export type RecentProof = (request: FastifyRequest, sent: SentProof) => Promise<AccountEntity>;

export function recentProof({ proveOwner, hasCodes, loginTime }: RecentProofParts): RecentProof {
  return async (request, sent) => {
    const { account, isProven } = await orForbidden(() => proveOwner(request, sent));
    if (!isProven && !isRecent(await loginTime(request))) throw missing(hasCodes);
    return account;
  };
}

function isRecent(time: Date | undefined): boolean {
  return time !== undefined && Date.now() - time.getTime() <= LOGIN_MS;
}

async function orForbidden<Result>(check: () => Promise<Result>): Promise<Result> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof InvalidUsage)) throw error;
    throw new Forbidden(error.message, { cause: error, ...(error.event !== undefined && { event: error.event }) });
  }
}

function missing(hasCodes: boolean): Forbidden {
  const codes = hasCodes ? ', with a code if the account has two factors' : '';
  return new Forbidden(`The last login is older than ten minutes: send the password${codes}, or log in again`, {
    event: 'auth.proof_required',
  });
}
