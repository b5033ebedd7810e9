import { InvalidUsage } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { AccountEntity } from '../accounts/account-contract.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { NO_PASSWORD } from '../passwords/password-hasher.ts';
import type { CheckPassword } from './check-password.ts';

/** The proofs that a request has sent. */
export interface SentProof {
  readonly password?: string | undefined;
  /** A code of the second factor. */
  readonly code?: string | undefined;
}

/** The second factors of accounts. */
export interface SecondFactor {
  isOn(request: FastifyRequest, account: number): Promise<boolean>;
  /** Checks and uses up a code. Throws InvalidUsage for a wrong one. */
  check(request: FastifyRequest, account: AccountEntity, code: string): Promise<void>;
}

export interface OwnerProofParts {
  readonly accounts: Accounts;
  readonly checkPassword: CheckPassword;
  /** Undefined: two factors are off. */
  readonly secondFactor: SecondFactor | undefined;
}

/**
 * Returns the logged-in user's account, and if the request has proven by a password that its owner sends it. An account
 * with two factors needs a code with the password. Its code alone is enough only if it has no password. Throws
 * InvalidUsage for a wrong or a missing part of a proof, which counts like any other wrong one.
 */
export type OwnerProof = (
  request: FastifyRequest,
  sent: SentProof,
) => Promise<{ readonly account: AccountEntity; readonly isProven: boolean }>;

export function ownerProof({ accounts, checkPassword, secondFactor }: OwnerProofParts): OwnerProof {
  return async (request, { password, code }) => {
    const account = await accounts.ofRequest(request);
    const hasSecond = async (): Promise<boolean> => (await secondFactor?.isOn(request, account.id)) === true;
    if (password !== undefined) {
      await checkPassword(request, account, password, 'password');
      // What is added logs in without a code, so the password alone must not be enough.
      if (await hasSecond()) await secondFactor!.check(request, account, requireCode(code));
      return { account, isProven: true };
    }
    const isEnough = code !== undefined && account.password === NO_PASSWORD && (await hasSecond());
    if (isEnough) await secondFactor!.check(request, account, code);
    return { account, isProven: isEnough };
  };
}

function requireCode(code: string | undefined): string {
  if (code !== undefined) return code;
  const details = [{ in: 'body', path: '/code', message: 'is required with the password' }] as const;
  const message = 'A code of the second factor is required with the password';
  throw new InvalidUsage(message, { details, event: 'auth.proof_required' });
}
