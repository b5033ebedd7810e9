import type { FastifyReply, FastifyRequest } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { LOGIN_BODY, readCredentials, readRefreshChoice, SESSION_LOGIN_BODY } from './request-body.ts';
import type { VerifyLogin } from '../login/verify-login.ts';
import { type AuthRoute, LOGIN_COOKIES } from './auth-route.ts';
import {
  ACCESS_TOKEN,
  type CompleteLogin,
  LOGGED_IN,
  type LoginAnswer,
  SECOND_FACTOR,
} from '../login/complete-login.ts';
import type { SessionParts } from './sessions.ts';
import type { TwoFactorParts } from './two-factor.ts';

export interface LoginRouteParts {
  readonly verifyLogin: VerifyLogin;
  readonly completeLogin: CompleteLogin;
  /** Undefined: sessions are off. */
  readonly sessions: SessionParts | undefined;
  /** Undefined: two factors are off. */
  readonly twoFactor: TwoFactorParts | undefined;
}

/** The schema of a login's response. */
export function loginAnswer({ sessions, twoFactor }: Pick<LoginRouteParts, 'sessions' | 'twoFactor'>): TSchema {
  const answer = sessions === undefined ? ACCESS_TOKEN : LOGGED_IN;
  if (twoFactor === undefined) return answer;
  // One object, because generated clients have no fields for a union.
  return Type.Partial(Type.Object({ ...answer.properties, ...SECOND_FACTOR.properties }));
}

export function loginRoute({ verifyLogin, completeLogin, sessions, twoFactor }: LoginRouteParts): AuthRoute {
  return {
    name: 'login',
    method: 'POST',
    path: 'login',
    operationId: 'login',
    summary: 'Exchange an e-mail address and a password for an access token',
    description:
      'All wrong credentials give the same response. The token goes into the header `Authorization`, as a Bearer token.',
    body: sessions === undefined ? LOGIN_BODY : SESSION_LOGIN_BODY,
    status: 200,
    answer: loginAnswer({ sessions, twoFactor }),
    cookies: LOGIN_COOKIES,
    errors: [401, 429],
    access: 'listed',
    async handler(request: FastifyRequest, reply: FastifyReply): Promise<LoginAnswer> {
      const { email, password } = readCredentials(request.body);
      const choices = sessions === undefined ? {} : readRefreshChoice(request.body);
      const account = await verifyLogin(request, email ?? '', password ?? '');
      return completeLogin(request, reply, account, choices);
    },
  };
}
