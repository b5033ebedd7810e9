import { ERROR_SCHEMA, readJsonOnly } from '@viewset/core';
import type { FastifyInstance, RouteHandlerMethod } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { LOGIN_BODY, REGISTER_BODY, SEND_BODY } from '../request-body.ts';
import { type LoginParts, loginHandler } from './login.ts';
import { type RegisterParts, registerHandler } from './register.ts';
import { type SendParts, sendHandler } from './send-verification-email.ts';

export type AuthRouteParts = LoginParts & RegisterParts & SendParts;

interface AuthRoute {
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly body: TSchema;
  readonly status: 200 | 201;
  readonly answer: TSchema;
  /** The errors that the route answers, besides those that every route with a body does. */
  readonly errors: readonly number[];
  readonly handler: RouteHandlerMethod;
}

export const LOGGED_IN = Type.Object({ access_token: Type.String() });
export const MESSAGE = Type.Object({ message: Type.String() });
export const REGISTERED = Type.Object({
  message: Type.String(),
  user: Type.Object({ id: Type.Integer(), email: Type.String(), name: Type.String() }),
});

export const AUTH_PATHS = ['login', 'register', 'send-verification-email'] as const;

/** The longest body in bytes: a good one has some two thousand, however its characters are escaped. */
const BODY_LIMIT = 16_384;

/** Mounts the three routes of authentication on a scope of their own, named `auth-login` and so on. */
export function addAuthRoutes(scope: FastifyInstance, urlPrefix: string, parts: AuthRouteParts): void {
  readJsonOnly(scope);
  // No cache keeps a token or an answer about an account, nor a refusal.
  scope.addHook('onSend', async (_request, reply) => void reply.header('cache-control', 'no-store'));
  // The schemas document the bodies; the handlers check them, in the order that the specification gives.
  scope.setValidatorCompiler(() => () => true);
  for (const { path, body, status, answer, errors, handler, ...words } of routesOf(parts)) {
    const url = `${urlPrefix}/${path}`;
    scope.viewset.routeNames.add(`auth-${path}`, scope.prefix + url);
    const refusals = Object.fromEntries(errors.map((error) => [error, ERROR_SCHEMA]));
    const schema = { tags: ['auth'], ...words, body, response: { [status]: answer, ...refusals } };
    scope.post(url, { schema, bodyLimit: BODY_LIMIT, handler });
  }
}

function routesOf(parts: AuthRouteParts): readonly AuthRoute[] {
  const [login, register, send] = AUTH_PATHS;
  return [
    {
      path: login,
      operationId: 'login',
      summary: 'Exchange an e-mail address and a password for an access token',
      description:
        'Says one thing of every wrong credential. The token goes into the header `Authorization`, as a Bearer token.',
      errors: [401, 429],
      body: LOGIN_BODY,
      status: 200,
      answer: LOGGED_IN,
      handler: loginHandler(parts),
    },
    {
      path: register,
      operationId: 'register',
      summary: 'Make an account, with the code that was sent to its address',
      description: 'Uses up the code. An address that has an account already is refused.',
      errors: [],
      body: REGISTER_BODY,
      status: 201,
      answer: REGISTERED,
      handler: registerHandler(parts),
    },
    {
      path: send,
      operationId: 'sendVerificationEmail',
      summary: 'Send a verification code to an e-mail address',
      description: 'Answers alike if the address has an account and if it has none.',
      errors: [429],
      body: SEND_BODY,
      status: 200,
      answer: MESSAGE,
      handler: sendHandler(parts),
    },
  ];
}
