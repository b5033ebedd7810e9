import { securityEvent, Unauthorized } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isSameOriginRequest, requireSameOrigin } from '../browsers/own-origin.ts';
import { accountOf, type AuthRoute, ENDED_SESSION_COOKIE, NOTHING } from './auth-route.ts';
import type { RefreshParts } from './refresh.ts';
import { readRefresh, REFRESH_BODY } from './request-body.ts';

const COMMON = {
  method: 'POST',
  body: REFRESH_BODY,
  hasOptionalBody: true,
  status: 204,
  answer: NOTHING,
  cookies: ENDED_SESSION_COOKIE,
  errors: [401, 403],
  access: 'either',
} as const;

const EITHER_TOKEN =
  'Takes an access token, or the refresh token in the cookie or in the body. So it also works with an access token that has expired.';

export function logoutRoute(parts: RefreshParts): AuthRoute {
  const { sessions, cookie, currentSession } = parts;
  return {
    ...COMMON,
    name: 'logout',
    path: 'logout',
    operationId: 'logout',
    summary: 'End the session',
    description: `Its access tokens and its refresh token are refused from then on. The cookie is cleared. ${EITHER_TOKEN}`,
    async handler(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const token = refreshTokenOf(parts, request);
      const id = currentSession(request);
      if (id !== undefined) await sessions.end(request.em, accountOf(request), id);
      const ended = token === undefined ? undefined : await endBy(parts, request, reply, token);
      cookie.clear(request, reply);
      const event = securityEvent(request, 'auth.logout');
      request.log.info({ ...event, account: event.account ?? ended ?? null }, 'somebody logged out');
      reply.code(204);
    },
  };
}

export function logoutAllRoute(parts: RefreshParts): AuthRoute {
  const { sessions, cookie, endPendingLogins } = parts;
  return {
    ...COMMON,
    name: 'logout-all',
    path: 'logout-all',
    operationId: 'logoutAll',
    summary: 'End every session of the account',
    description: `All its access tokens and refresh tokens are refused from then on. The cookie is cleared. ${EITHER_TOKEN}`,
    async handler(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const token = refreshTokenOf(parts, request);
      const account = request.user === null ? await sessions.accountOf(request, token!) : accountOf(request);
      // First, so that none of them starts a session after the others have ended.
      await endPendingLogins(request, account);
      await sessions.endAll(request.em, account);
      const event = { ...securityEvent(request, 'auth.logout_all'), account };
      request.log.info(event, 'somebody logged out everywhere');
      cookie.clear(request, reply);
      reply.code(204);
    },
  };
}

/**
 * Returns the refresh token of a request. Throws Unauthorized if the request has no token of any kind, and Forbidden if
 * its only token is a cookie that a page of another site may have sent.
 */
function refreshTokenOf({ cookie, origins }: RefreshParts, request: FastifyRequest): string | undefined {
  const given = readRefresh(request.body).refresh_token;
  if (given !== undefined) return given;
  const token = cookie.read(request);
  if (request.user !== null) return token !== undefined && isSameOriginRequest(request, origins) ? token : undefined;
  if (token === undefined) throw new Unauthorized();
  requireSameOrigin(request, origins);
  return token;
}

/**
 * Ends the session of a refresh token, and returns its account. Beside an access token, a refresh token that is not ours
 * is ignored. Otherwise it clears the cookie before it throws, because no page can do so.
 */
async function endBy(
  { sessions, cookie }: RefreshParts,
  request: FastifyRequest,
  reply: FastifyReply,
  token: string,
): Promise<number | undefined> {
  try {
    return await sessions.endBy(request, token);
  } catch (error) {
    if (!(error instanceof Unauthorized)) throw error;
    if (request.user !== null) return undefined;
    cookie.clear(request, reply);
    throw error;
  }
}
