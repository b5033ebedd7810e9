import { StoreUnavailable } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { TokenAccount } from '../tokens/access-tokens.ts';
import type { AccountEntity, AccountFields } from '../accounts/account-contract.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { DeviceCookies } from '../browsers/device-cookies.ts';
import { MAX_EMAIL_LENGTH, normalizeEmail } from '../accounts/email-address.ts';
import { refuseDisabled, refuseWrong } from './login-failures.ts';
import { isPasswordHash, NO_PASSWORD, type PasswordHasher } from '../passwords/password-hasher.ts';
import type { GuessLimit } from '../secrets/guess-limit.ts';

export interface VerifyLoginParts {
  readonly accounts: Accounts;
  readonly hasher: PasswordHasher;
  readonly wrongPasswords: GuessLimit;
  readonly devices: DeviceCookies;
}

/**
 * Finds the account for an e-mail address and a password, with its role loaded. All wrong credentials give the same
 * message and take the same time. They count for the address, or for the browser if it has logged into the account
 * before. Only a client with the right password learns that the account is disabled. An outdated hash is renewed.
 * Throws Unauthorized, and TooManyRequests while logins for the address are blocked.
 */
export type VerifyLogin = (
  request: FastifyRequest,
  email: string,
  password: string,
) => Promise<AccountFields & TokenAccount>;

export function loginVerification(parts: VerifyLoginParts): VerifyLogin {
  return async (request, email, password) => {
    const { account, isOutdated } = await findAccount(parts, request, normalizeEmail(email), password);
    if (!account.is_active) throw refuseDisabled(request, account);
    if (!isOutdated) return account;
    await renewHash(parts, request, account, password);
    // Another login may have renewed the hash first, or the password was changed.
    return (await findAccount(parts, request, account.email, password)).account;
  };
}

/** Throws Unauthorized if there is no account with that password, and TooManyRequests while logins for the address are blocked. */
async function findAccount(
  { accounts, hasher, wrongPasswords, devices }: VerifyLoginParts,
  request: FastifyRequest,
  email: string,
  password: string,
): Promise<{ account: AccountEntity; isOutdated: boolean }> {
  // No account has an address that is too long or contains NUL, so no query is needed.
  const isAskable = email !== '' && password !== '' && email.length <= MAX_EMAIL_LENGTH && !email.includes('\0');
  const device = devices.knownDevice(request, email);
  if (isAskable) await limited(request, () => wrongPasswords.check(email, device));
  const account = isAskable ? await accounts.byEmail(request.em, email) : undefined;
  const { matches, isOutdated } = await hasher.check(password, account?.password);
  if (account !== undefined && matches) {
    await limited(request, () => wrongPasswords.check(email, device));
    return { account, isOutdated };
  }
  if (account !== undefined && account.password !== NO_PASSWORD && !isPasswordHash(account.password)) {
    // Such as by a seeder that ran before the plugin was there, which may have left other passwords readable too.
    request.log.error(
      { account: account.id },
      'the stored password of this account is not a hash, so nobody can log in',
    );
  }
  if (isAskable) await limited(request, () => wrongPasswords.count(email, device));
  throw refuseWrong(request, account);
}

/** Runs a step of the limit of wrong passwords. If the store is down, logins pass uncounted, as requests pass throttles. */
export async function limited(request: FastifyRequest, step: () => Promise<unknown>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    request.log.warn({ err: error }, 'the store does not answer: wrong passwords pass uncounted');
  }
}

/** Replaces a hash of fewer rounds. The login succeeds without it too. */
async function renewHash(
  { accounts, hasher }: VerifyLoginParts,
  request: FastifyRequest,
  account: AccountEntity,
  password: string,
): Promise<void> {
  try {
    await accounts.replaceHash(request.em, account, await hasher.hash(password));
  } catch (error) {
    request.log.warn({ err: error, account: account.id }, 'the hash of a password could not be renewed');
  }
}
