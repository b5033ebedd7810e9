import { ERROR_SCHEMA, readJsonOnly } from '@viewset/core';
import type { FastifyInstance } from 'fastify';
import type { AuthRoute } from './auth-route.ts';
import { type LoginRouteParts, loginRoute } from './login.ts';
import { type RegisterParts, registerRoute } from './register.ts';
import type { AuthRouteName } from './route-names.ts';
import { type SendParts, sendRoute } from './send-verification-email.ts';

export type AuthRouteParts = LoginRouteParts & RegisterParts & SendParts;

/** The longest body in bytes: a good one has some two thousand, however its characters are escaped. */
const BODY_LIMIT = 16_384;

/** The table of routes. */
function routesOf(parts: AuthRouteParts): readonly AuthRoute[] {
  return [loginRoute(parts), registerRoute(parts), sendRoute(parts)];
}

/** Mounts the routes that are on, on a scope of their own. Each path has a name: `auth-login` and so on. */
export function addAuthRoutes(
  scope: FastifyInstance,
  urlPrefix: string,
  names: ReadonlySet<AuthRouteName>,
  parts: AuthRouteParts,
): void {
  readJsonOnly(scope);
  // No cache keeps a token or an answer about an account, nor a refusal.
  scope.addHook('onSend', async (_request, reply) => void reply.header('cache-control', 'no-store'));
  // The schemas document the bodies; the handlers check them, in the order that the specification gives.
  scope.setValidatorCompiler(() => () => true);
  for (const route of routesOf(parts)) {
    if (names.has(route.name)) mount(scope, urlPrefix, route);
  }
}

function mount(scope: FastifyInstance, urlPrefix: string, route: AuthRoute): void {
  const { name: _name, method, path, status, answer, errors, access, handler, ...documented } = route;
  const url = `${urlPrefix}/${path}`;
  scope.viewset.routeNames.add(`auth-${path.replaceAll(/[/:]+/g, '-')}`, scope.prefix + url);
  const refusals = Object.fromEntries(errors.map((error) => [error, ERROR_SCHEMA]));
  const schema = { tags: ['auth'], ...documented, response: { [status]: answer, ...refusals } };
  const config = access === 'anybody' ? { public: true } : {};
  scope.route({ method, url, schema, config, bodyLimit: BODY_LIMIT, handler });
}
