import { ForeignKeyConstraintViolationException } from '@mikro-orm/core';
import { securityEvent } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { type AccessTokens, claimsOf } from '../tokens/access-tokens.ts';
import type { Accounts, LoginAccount } from '../accounts/accounts.ts';
import type { DeviceCookies } from '../browsers/device-cookies.ts';
import { refuseDisabled, refuseWrong } from './login-failures.ts';
import type { SessionParts } from '../routes/sessions.ts';

/** The response of a login without sessions. */
export const ACCESS_TOKEN = Type.Object({ access_token: Type.String() });
/**
 * The response of a login and a refresh. It contains the refresh token if the client asked for it in the body instead
 * of a cookie.
 */
export const LOGGED_IN = Type.Object({
  ...ACCESS_TOKEN.properties,
  refresh_token: Type.Optional(Type.String()),
});
export type LoggedIn = Static<typeof LOGGED_IN>;
/** The response of a login to an account with two factors: the token for sending the second one. */
export const SECOND_FACTOR = Type.Object({ two_factor_token: Type.String() });

/** The response to a login: tokens, or the request for a second factor. */
export type LoginAnswer =
  | (LoggedIn & { readonly two_factor_token?: undefined })
  | (Static<typeof SECOND_FACTOR> & { readonly access_token?: undefined });

export interface CompleteLoginParts {
  readonly accounts: Accounts;
  readonly tokens: AccessTokens;
  readonly devices: DeviceCookies;
  /** Undefined: sessions are off. */
  readonly sessions: SessionParts | undefined;
}

/** The choices about the response to a login. */
export interface LoginChoices {
  /**
   * Where the refresh token is sent: in a cookie, or in the body for clients other than browsers. With `body` no cookie is set. Default:
   * `cookie`.
   */
  readonly refresh?: 'cookie' | 'body';
}

/**
 * Completes a login, of whatever kind: records it, starts a session, sets the cookies, writes the audit line and returns the tokens. Throws
 * Unauthorized if the account is deleted or disabled, or its password has changed meanwhile.
 */
export type CompleteLogin = (
  request: FastifyRequest,
  reply: FastifyReply,
  account: LoginAccount,
  choices?: LoginChoices,
) => Promise<LoginAnswer>;

export function loginCompletion({ accounts, tokens, devices, sessions }: CompleteLoginParts): CompleteLogin {
  return async (request, reply, account, { refresh = 'cookie' } = {}) => {
    const session = await sessions?.sessions.start(request, account).catch((error: unknown) => {
      // The account was deleted in this moment.
      throw error instanceof ForeignKeyConstraintViolationException ? refuseDisabled(request, account) : error;
    });
    // The order matters: a simultaneous password change either ends the session or makes the login fail.
    if (!(await accounts.recordLogin(request.em, account))) {
      if (session !== undefined) await sessions!.sessions.end(request.em, account.id, session.id);
      const isActive = (await accounts.activeId(request.em, account.email)) === account.id;
      throw isActive ? refuseWrong(request, account) : refuseDisabled(request, account);
    }
    request.log.info({ ...securityEvent(request, 'auth.login'), account: account.id }, 'somebody logged in');
    const access_token = tokens.issue(claimsOf(account), session?.id);
    if (refresh === 'body') return { access_token, ...(session && { refresh_token: session.refreshToken }) };
    devices.remember(request, reply, account.email);
    if (session !== undefined) sessions!.cookie.set(request, reply, session);
    return { access_token };
  };
}
