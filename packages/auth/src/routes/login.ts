import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { LOGIN_BODY, readCredentials } from '../request-body.ts';
import type { VerifyLogin } from '../verify-login.ts';
import type { AuthRoute } from './auth-route.ts';
import { type CompleteLogin, LOGGED_IN, SECOND_FACTOR } from './complete-login.ts';
import type { TwoFactorParts } from './two-factor.ts';

export interface LoginRouteParts {
  readonly verifyLogin: VerifyLogin;
  readonly completeLogin: CompleteLogin;
  /** Undefined: two factors are off. */
  readonly twoFactor: TwoFactorParts | undefined;
}

export function loginRoute({ verifyLogin, completeLogin, twoFactor }: LoginRouteParts): AuthRoute {
  return {
    name: 'login',
    method: 'POST',
    path: 'login',
    operationId: 'login',
    summary: 'Exchange an e-mail address and a password for an access token',
    description:
      'Says one thing of every wrong credential. The token goes into the header `Authorization`, as a Bearer token.',
    body: LOGIN_BODY,
    status: 200,
    answer: twoFactor === undefined ? LOGGED_IN : Type.Union([LOGGED_IN, SECOND_FACTOR]),
    errors: [401, 429],
    access: 'listed',
    async handler(request: FastifyRequest, reply: FastifyReply) {
      const { email, password } = readCredentials(request.body);
      return completeLogin(request, reply, await verifyLogin(request, email ?? '', password ?? ''));
    },
  };
}
