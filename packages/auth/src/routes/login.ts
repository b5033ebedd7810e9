import { Unauthorized } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { type TokenClaims, claimsOf } from '../access-tokens.ts';
import type { Accounts } from '../accounts.ts';
import { MAX_EMAIL_LENGTH } from '../email-address.ts';
import type { PasswordHasher } from '../password-hasher.ts';
import { readCredentials } from '../request-body.ts';

export interface LoginParts {
  readonly accounts: Accounts;
  readonly hasher: PasswordHasher;
  readonly tokens: { issue(claims: TokenClaims): string };
}

/**
 * Exchanges an e-mail address and a password for a token. Whatever is wrong with them is one message and one bcrypt
 * comparison; that the account is disabled is told only to whoever has the right password.
 */
export function loginHandler({ accounts, hasher, tokens }: LoginParts) {
  return async (request: FastifyRequest): Promise<{ access_token: string }> => {
    const { email, password } = readCredentials(request.body);
    // An address that is too long is nobody's; there is no need to ask the database.
    const askable = email && password && email.length <= MAX_EMAIL_LENGTH;
    const account = askable ? await accounts.byEmail(request.em, email) : undefined;
    const matches = await hasher.matches(password ?? '', account?.password);
    if (account === undefined || !matches) throw new Unauthorized('The e-mail address or the password is not correct');
    // It may have been disabled while bcrypt was at work.
    const isActive = account.is_active && (await accounts.recordLogin(request.em, account.id));
    if (!isActive) throw new Unauthorized('The account is disabled');
    return { access_token: tokens.issue(claimsOf(account)) };
  };
}
