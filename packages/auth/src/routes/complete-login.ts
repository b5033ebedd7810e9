import { securityEvent } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { type TokenClaims, claimsOf } from '../access-tokens.ts';
import type { AccountEntity } from '../account-contract.ts';
import type { Accounts } from '../accounts.ts';
import { refuseDisabled } from '../login-failures.ts';

export const LOGGED_IN = Type.Object({ access_token: Type.String() });
/** What a login answers if the account has two factors: the token by which the second one is sent. */
export const SECOND_FACTOR = Type.Object({ two_factor_token: Type.String() });

/** The end of a login, or the demand for a second factor. */
export type LoginAnswer =
  | (Static<typeof LOGGED_IN> & { readonly two_factor_token?: undefined })
  | (Static<typeof SECOND_FACTOR> & { readonly access_token?: undefined });

export interface CompleteLoginParts {
  readonly accounts: Accounts;
  readonly tokens: { issue(claims: TokenClaims): string };
}

/** How a login ends. */
export interface LoginChoices {
  /** Where the refresh token goes: into a cookie, which is the default, or into the answer. */
  readonly refresh?: 'cookie' | 'body';
}

/**
 * Ends every login, however the account proved who it is: records it, writes the audit line and answers the tokens. Throws
 * Unauthorized if the account is gone or disabled by now.
 */
export type CompleteLogin = (
  request: FastifyRequest,
  reply: FastifyReply,
  account: AccountEntity,
  choices?: LoginChoices,
) => Promise<LoginAnswer>;

export function loginCompletion({ accounts, tokens }: CompleteLoginParts): CompleteLogin {
  return async (request, _reply, account) => {
    if (!(await accounts.recordLogin(request.em, account.id))) throw refuseDisabled(request, account);
    request.log.info({ ...securityEvent(request, 'auth.login'), account: account.id }, 'somebody logged in');
    return { access_token: tokens.issue(claimsOf(account)) };
  };
}
