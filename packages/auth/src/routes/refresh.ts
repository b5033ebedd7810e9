import { securityEvent, Unauthorized } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type AccessTokens, claimsOf } from '../tokens/access-tokens.ts';
import { requireSameOrigin } from '../browsers/own-origin.ts';
import { readRefresh, REFRESH_BODY } from './request-body.ts';
import type { AuthRoute } from './auth-route.ts';
import { LOGGED_IN, type LoggedIn } from '../login/complete-login.ts';
import type { SessionParts } from './sessions.ts';

export interface RefreshParts extends SessionParts {
  readonly tokens: AccessTokens;
  /** Additional origins whose pages may refresh with the cookie. */
  readonly origins: ReadonlySet<string>;
  /** Ends logins of the account that have begun: a link that was sent to it, and attempts that wait for a second factor. */
  readonly endPendingLogins: (request: FastifyRequest, account: number) => Promise<void>;
}

export function refreshRoute({ sessions, cookie, tokens, origins }: RefreshParts): AuthRoute {
  return {
    name: 'refresh',
    method: 'POST',
    path: 'refresh',
    operationId: 'refresh',
    summary: 'Exchange a refresh token for new tokens',
    description:
      'Uses up the refresh token. If it is sent in the body, the response has the next one. If it is sent in the cookie `refresh_token`, ' +
      'the cookie is replaced. The cookie counts only in requests of the server’s own pages. A token that was used before ends its session.',
    body: REFRESH_BODY,
    hasOptionalBody: true,
    status: 200,
    answer: LOGGED_IN,
    cookies: 'The cookie with the next refresh token, if the last one was sent in it.',
    errors: [401, 403],
    access: 'anybody',
    async handler(request: FastifyRequest, reply: FastifyReply): Promise<LoggedIn> {
      const given = readRefresh(request.body).refresh_token;
      const token = given ?? cookie.read(request);
      if (token === undefined) throw new Unauthorized('A refresh token is required');
      if (given === undefined) requireSameOrigin(request, origins);
      const session = await sessions.refresh(request, token);
      const { account } = session;
      request.log.info({ ...securityEvent(request, 'auth.refreshed'), account: account.id }, 'a session was refreshed');
      const access_token = tokens.issue(claimsOf(account), session.id);
      if (given !== undefined) return { access_token, refresh_token: session.refreshToken };
      cookie.set(request, reply, session);
      return { access_token };
    },
  };
}
