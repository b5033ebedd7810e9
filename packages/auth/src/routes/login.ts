import { securityEvent, StoreUnavailable, Unauthorized } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { AccountEntity } from '../account-contract.ts';
import { type TokenClaims, claimsOf } from '../access-tokens.ts';
import type { Accounts } from '../accounts.ts';
import { MAX_EMAIL_LENGTH } from '../email-address.ts';
import { isPasswordHash, type PasswordHasher } from '../password-hasher.ts';
import { readCredentials } from '../request-body.ts';
import type { WrongPasswords } from '../wrong-passwords.ts';

export interface LoginParts {
  readonly accounts: Accounts;
  readonly hasher: PasswordHasher;
  readonly tokens: { issue(claims: TokenClaims): string };
  readonly wrongPasswords: WrongPasswords;
}

/**
 * Exchanges an e-mail address and a password for a token. Whatever is wrong with them has one message, takes one time and
 * counts for the address alike. That the account is disabled is told only to whoever has the right password.
 */
export function loginHandler(parts: LoginParts) {
  const { accounts, tokens } = parts;
  return async (request: FastifyRequest): Promise<{ access_token: string }> => {
    const { email, password } = readCredentials(request.body);
    const { account, isOutdated } = await findAccount(parts, request, email ?? '', password ?? '');
    // The account may have been disabled while bcrypt was at work.
    const isActive = account.is_active && (await accounts.recordLogin(request.em, account.id));
    if (!isActive) {
      logFailure(request, account, 'disabled');
      throw new Unauthorized('The account is disabled');
    }
    if (isOutdated) await renewHash(parts, request, account, password!);
    request.log.info({ ...securityEvent(request, 'auth.login'), account: account.id }, 'somebody logged in');
    return { access_token: tokens.issue(claimsOf(account)) };
  };
}

/** Throws Unauthorized unless there is such an account with that password, and TooManyRequests while the address is held. */
async function findAccount(
  { accounts, hasher, wrongPasswords }: LoginParts,
  request: FastifyRequest,
  email: string,
  password: string,
): Promise<{ account: AccountEntity; isOutdated: boolean }> {
  // An address that is too long is nobody's; there is no need to ask the database.
  const isAskable = email !== '' && password !== '' && email.length <= MAX_EMAIL_LENGTH;
  if (isAskable) await limited(request, () => wrongPasswords.check(email));
  const account = isAskable ? await accounts.byEmail(request.em, email) : undefined;
  const { matches, isOutdated } = await hasher.check(password, account?.password);
  if (account !== undefined && matches) {
    await limited(request, () => wrongPasswords.check(email));
    return { account, isOutdated };
  }
  if (account !== undefined && !isPasswordHash(account.password)) {
    // Such as by a seeder that ran before the plugin was there, which may have left other passwords readable too.
    request.log.error(
      { account: account.id },
      'the password of this account is stored as no bcrypt hash: nobody can log in',
    );
  }
  if (isAskable) await limited(request, () => wrongPasswords.count(email));
  logFailure(request, account, account === undefined ? 'no_account' : 'wrong_password');
  throw new Unauthorized('The e-mail address or the password is not correct');
}

/** Runs a step of the limit of wrong passwords. If the store is down, logins pass uncounted, as requests pass throttles. */
async function limited(request: FastifyRequest, step: () => Promise<unknown>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    request.log.warn({ err: error }, 'the store does not answer: wrong passwords pass uncounted');
  }
}

/** Replaces a hash of fewer rounds. The login succeeds without it too. */
async function renewHash(
  { accounts, hasher }: LoginParts,
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

function logFailure(request: FastifyRequest, account: AccountEntity | undefined, reason: string): void {
  const event = { ...securityEvent(request, 'auth.login_failed'), account: account?.id ?? null, reason };
  request.log.info(event, 'a login failed');
}
