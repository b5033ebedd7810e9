import { securityEvent } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { accountOf, type AuthRoute, ENDED_SESSION_COOKIE, NOTHING } from './auth-route.ts';
import type { SessionParts } from './sessions.ts';

const COMMON = {
  method: 'POST',
  status: 204,
  answer: NOTHING,
  cookies: ENDED_SESSION_COOKIE,
  errors: [],
  access: 'token',
} as const;

export function logoutRoute({ sessions, cookie, currentSession }: SessionParts): AuthRoute {
  return {
    ...COMMON,
    name: 'logout',
    path: 'logout',
    operationId: 'logout',
    summary: 'End the session',
    description: 'Its access tokens and its refresh token are refused from then on. The cookie is cleared.',
    async handler(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const id = currentSession(request);
      if (id !== undefined) await sessions.end(request.em, accountOf(request), id);
      request.log.info(securityEvent(request, 'auth.logout'), 'somebody logged out');
      cookie.clear(request, reply);
      reply.code(204);
    },
  };
}

export function logoutAllRoute({ sessions, cookie }: SessionParts): AuthRoute {
  return {
    ...COMMON,
    name: 'logout-all',
    path: 'logout-all',
    operationId: 'logoutAll',
    summary: 'End every session of the account',
    description: 'All its access tokens and refresh tokens are refused from then on. The cookie is cleared.',
    async handler(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      await sessions.endAll(request.em, accountOf(request));
      request.log.info(securityEvent(request, 'auth.logout_all'), 'somebody logged out everywhere');
      cookie.clear(request, reply);
      reply.code(204);
    },
  };
}
