import { NotFound, securityEvent } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import type { RefreshCookie } from '../sessions/refresh-cookie.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { accountOf, type AuthRoute, ENDED_SESSION_COOKIE, NOTHING } from './auth-route.ts';
import { isUuid } from '../accounts/uuid.ts';

export interface SessionParts {
  readonly sessions: Sessions;
  readonly cookie: RefreshCookie;
  /** The session of a request's token. */
  readonly currentSession: (request: FastifyRequest) => string | undefined;
}

const Time = Type.String({ format: 'date-time' });
const SESSION = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    created_at: Time,
    last_used_at: Type.String({ format: 'date-time', description: 'The time of the login or of the last refresh' }),
    ip: Type.String(),
    user_agent: Type.Union([Type.String(), Type.Null()]),
    current: Type.Boolean({ description: 'True for the session of the request' }),
  },
  { title: 'Session' },
);
export const SESSIONS = Type.Array(SESSION);

export function listSessionsRoute({ sessions, currentSession }: SessionParts): AuthRoute {
  return {
    name: 'sessions',
    method: 'GET',
    path: 'sessions',
    operationId: 'listSessions',
    summary: 'List the sessions of the account',
    description: 'The one that was used last comes first.',
    status: 200,
    answer: SESSIONS,
    errors: [],
    access: 'token',
    async handler(request: FastifyRequest): Promise<Static<typeof SESSIONS>> {
      const current = currentSession(request);
      const listed = await sessions.list(request, accountOf(request));
      return listed.map((session) => ({ ...session, current: session.id === current }));
    },
  };
}

export function endSessionRoute({ sessions, cookie, currentSession }: SessionParts): AuthRoute {
  return {
    name: 'sessions',
    method: 'DELETE',
    path: 'sessions/:id',
    operationId: 'endSession',
    summary: 'End a session of the account',
    description: 'Its access tokens and its refresh token are refused from then on.',
    params: Type.Object({ id: Type.String() }),
    status: 204,
    answer: NOTHING,
    cookies: ENDED_SESSION_COOKIE,
    errors: [404],
    access: 'token',
    async handler(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const { id } = request.params as { id: string };
      const hasEnded = isUuid(id) && (await sessions.end(request.em, accountOf(request), id));
      if (!hasEnded) throw new NotFound('The account has no such session');
      request.log.info(securityEvent(request, 'auth.session_ended'), 'a session was ended');
      if (id === currentSession(request)) cookie.clear(request, reply);
      reply.code(204);
    },
  };
}
