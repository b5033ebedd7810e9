import { Forbidden, InvalidUsage } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { AccountEntity } from '../accounts/account-contract.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { CheckPassword } from './check-password.ts';

/** A login counts as a proof for this time. */
const LOGIN_MS = 600_000;

/** The proofs that a request has sent. */
export interface SentProof {
  readonly password?: string | undefined;
  /** A code of the second factor. */
  readonly code?: string | undefined;
}

export interface RecentProofParts {
  readonly accounts: Accounts;
  readonly checkPassword: CheckPassword;
  /** Checks and uses up a code of the second factor; undefined if two factors are off. */
  readonly checkCode: ((request: FastifyRequest, account: AccountEntity, code: string) => Promise<void>) | undefined;
  /** When the user of the request logged in; undefined if that is unknown. */
  readonly loginTime: (request: FastifyRequest) => Promise<Date | undefined>;
}

/**
 * Returns the logged-in user's account after a proof that a stolen access token cannot give: the password, a code of
 * the second factor, or a login of the last ten minutes. Throws Forbidden without one, and for a wrong password or code,
 * which counts like any other wrong one.
 */
export type RecentProof = (request: FastifyRequest, sent: SentProof) => Promise<AccountEntity>;

export function recentProof({ accounts, checkPassword, checkCode, loginTime }: RecentProofParts): RecentProof {
  return async (request, { password, code }) => {
    const account = await accounts.ofRequest(request);
    if (password !== undefined) await orForbidden(() => checkPassword(request, account, password, 'password'));
    else if (code !== undefined && checkCode) await orForbidden(() => checkCode(request, account, code));
    else if (!isRecent(await loginTime(request))) throw missing(checkCode !== undefined);
    return account;
  };
}

function isRecent(time: Date | undefined): boolean {
  return time !== undefined && Date.now() - time.getTime() <= LOGIN_MS;
}

async function orForbidden(check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (!(error instanceof InvalidUsage)) throw error;
    throw new Forbidden(error.message, { cause: error, ...(error.event !== undefined && { event: error.event }) });
  }
}

function missing(hasCodes: boolean): Forbidden {
  const codes = hasCodes ? ', a code of the second factor' : '';
  return new Forbidden(`The last login is older than ten minutes: send the password${codes}, or log in again`, {
    event: 'auth.proof_required',
  });
}
