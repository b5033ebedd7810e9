import { Forbidden, readJsonOnly, serializeBySchema } from '@viewset/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { type ApiKeys, ApiKeyUser } from '../api-keys/api-keys.ts';
import { withoutQuery } from '../oauth/callback-log.ts';
import type { Passkeys } from '../passkeys/passkeys.ts';
import { type ApiKeyParts, apiKeyRoutes } from './api-keys.ts';
import { acceptInvitationRoute } from './accept-invitation.ts';
import type { Invitations } from '../invitations/invitations.ts';
import type { AuthRoute } from './auth-route.ts';
import { bodyLimitOf } from './body-limit.ts';
import { type ChangeEmailParts, changeEmailRoute } from './change-email.ts';
import { type ChangePasswordParts, changePasswordRoute } from './change-password.ts';
import { type ConfirmEmailParts, confirmEmailRoute } from './confirm-email.ts';
import { type ForgotPasswordParts, forgotPasswordRoute } from './forgot-password.ts';
import { jwksRoute } from './jwks.ts';
import { type LoginLinkParts, loginLinkRoutes } from './login-link.ts';
import { loginAnswer, type LoginRouteParts, loginRoute } from './login.ts';
import { logoutAllRoute, logoutRoute } from './logout.ts';
import { passkeyLoginRoutes } from './passkey-login.ts';
import { type PasskeyParts, passkeyRoutes } from './passkeys.ts';
import { type RefreshParts, refreshRoute } from './refresh.ts';
import { type MeParts, meRoutes } from './me.ts';
import { type OAuthParts, oauthRoutes } from './oauth.ts';
import { type RegisterParts, registerRoute } from './register.ts';
import type { AuthRouteName } from './route-names.ts';
import { type ResetPasswordParts, resetPasswordRoute } from './reset-password.ts';
import type { PublicJwk } from '../tokens/signing-keys.ts';
import type { CompleteLogin } from '../login/complete-login.ts';
import { type SendParts, sendRoute } from './send-verification-email.ts';
import { type TwoFactorParts, twoFactorRoutes } from './two-factor.ts';
import { endSessionRoute, listSessionsRoute } from './sessions.ts';

export type AuthRouteParts = Omit<LoginRouteParts, 'sessions'> &
  RegisterParts &
  SendParts &
  ChangePasswordParts &
  ForgotPasswordParts &
  ResetPasswordParts &
  ChangeEmailParts &
  ConfirmEmailParts &
  Pick<ApiKeyParts, 'permissions' | 'proveRecently'> &
  Pick<PasskeyParts, 'proveOwner'> & {
    /** Undefined: passkeys are off. */
    readonly passkeys: Passkeys | undefined;
    readonly apiKeys: ApiKeys | undefined;
    readonly twoFactor: TwoFactorParts | undefined;
    readonly oauth: OAuthParts | undefined;
    /** Undefined: nobody can be invited. */
    readonly invitations: Invitations | undefined;
    /** Undefined: no link logs in. */
    readonly loginLink: LoginLinkParts | undefined;
    /** The public keys of access tokens; none for HS256. */
    readonly publicKeys: readonly PublicJwk[];
    /** Ends a login without asking for a second factor. */
    readonly finishLogin: CompleteLogin;
    /** Undefined: sessions are off. */
    readonly sessions: RefreshParts | undefined;
    /** Undefined: there are no routes for the user's own account. */
    readonly me: MeParts['me'] | undefined;
  };

/** Fastify's. */
const DEFAULT_LIMIT = 1_048_576;

/** The table of routes. */
function routesOf(parts: AuthRouteParts): readonly AuthRoute[] {
  const { me, sessions, apiKeys, twoFactor, oauth, passkeys, loginLink, invitations } = parts;
  return [
    loginRoute(parts),
    registerRoute(parts),
    sendRoute(parts),
    changePasswordRoute(parts),
    forgotPasswordRoute(parts),
    resetPasswordRoute(parts),
    ...(me === undefined ? [] : meRoutes({ ...parts, me })),
    changeEmailRoute(parts),
    confirmEmailRoute(parts),
    ...(sessions === undefined
      ? []
      : [
          refreshRoute(sessions),
          logoutRoute(sessions),
          logoutAllRoute(sessions),
          listSessionsRoute(sessions),
          endSessionRoute(sessions),
        ]),
    jwksRoute(parts.publicKeys),
    ...(apiKeys === undefined ? [] : apiKeyRoutes({ ...parts, apiKeys })),
    ...(twoFactor === undefined ? [] : twoFactorRoutes({ ...parts, ...twoFactor })),
    ...(oauth === undefined ? [] : oauthRoutes({ ...parts, ...oauth }, loginAnswer(parts))),
    ...(invitations === undefined ? [] : [acceptInvitationRoute({ ...parts, invitations })]),
    ...(loginLink === undefined
      ? []
      : loginLinkRoutes({ ...parts, ...loginLink, hasSessions: sessions !== undefined, answer: loginAnswer(parts) })),
    ...(passkeys === undefined
      ? []
      : [...passkeyRoutes({ ...parts, passkeys }), ...passkeyLoginRoutes({ ...parts, passkeys })]),
  ];
}

/** Mounts the routes that are on, on a scope of their own. Each path has a name: `auth-login` and so on. */
export function addAuthRoutes(
  scope: FastifyInstance,
  urlPrefix: string,
  names: ReadonlySet<AuthRouteName>,
  parts: AuthRouteParts,
): void {
  readJsonOnly(scope);
  serializeBySchema(scope);
  // No cache keeps a token or an answer about an account, nor a refusal.
  scope.addHook('onSend', async (_request, reply) => {
    if (reply.statusCode !== 200 || !reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
  });
  // The schemas document the bodies; the handlers check them, in the order that the specification gives.
  scope.setValidatorCompiler(() => () => true);
  const routes = routesOf(parts).filter((route) => names.has(route.name));
  const paths = routes.map(({ path }) => path);
  for (const route of routes) mount(scope, urlPrefix, route, paths);
}

/**
 * Returns a path as Fastify matches it. A parameter is never a segment that another path has there: `passkeys/options` is
 * no passkey, so its wrong methods give 405.
 */
function patternOf(path: string, paths: readonly string[]): string {
  const [, before, parameter = '', after] = /^([^:]*)(:\w+)(.*)$/.exec(path) ?? [];
  if (before === undefined || after === undefined) return path;
  const segments = paths
    .filter((each) => each.startsWith(before) && each.endsWith(after))
    .map((each) => each.slice(before.length, each.length - after.length))
    .filter((segment) => /^[\w-]+$/.test(segment));
  return segments.length === 0 ? path : `${before}${parameter}(^(?!(?:${segments.join('|')})$).*$)${after}`;
}

function mount(scope: FastifyInstance, urlPrefix: string, route: AuthRoute, paths: readonly string[]): void {
  const {
    name: _name,
    method,
    path,
    status,
    answer,
    others,
    cookies,
    errors,
    access,
    takesApiKeys,
    hidesQuery,
    readsForm,
    hasOptionalBody,
    handler,
    ...documented
  } = route;
  const below = (at: string): string => (at.startsWith('/') ? at : `${urlPrefix}/${at}`);
  const url = below(patternOf(path, paths));
  const name = `auth-${path.replaceAll(/[^\w]+/g, '-').replace(/^-/, '')}`;
  scope.viewset.routeNames.add(name, scope.prefix + below(path));
  const refusals = scope.viewset.errorResponses(errors);
  const headers = { 'Set-Cookie': Type.String({ description: cookies ?? '' }) };
  const success = cookies === undefined ? answer : { ...answer, headers };
  const schema = { tags: ['auth'], ...documented, response: { ...refusals, ...others, [status]: success } };
  const config = {
    public: access === 'anybody' || access === 'either',
    identifies: access === 'either',
    ...(hasOptionalBody && { optionalBody: true }),
  };
  const needsLogin = access === 'token' || access === 'either';
  const onRequest = needsLogin && takesApiKeys !== true ? [refuseApiKeys] : [];
  const logSerializers = hidesQuery === true ? withoutQuery(scope.log) : undefined;
  const logging = logSerializers && { logSerializers };
  const bodyLimit = bodyLimitOf(documented.body, scope.initialConfig.bodyLimit ?? DEFAULT_LIMIT);
  const declared = { method, url, schema, config, bodyLimit, onRequest, ...logging, handler };
  if (readsForm === true) void scope.register(async (forms) => readForm(forms).route(declared));
  else scope.route(declared);
}

/** Makes a scope read forms instead of JSON. */
function readForm(scope: FastifyInstance): FastifyInstance {
  scope.removeAllContentTypeParsers();
  const options = { parseAs: 'string' } as const;
  scope.addContentTypeParser('application/x-www-form-urlencoded', options, (_request, body, done) =>
    done(null, new URLSearchParams(body as string)),
  );
  return scope;
}

/** A key that leaked must not be able to make others, or to lock its owner out. */
async function refuseApiKeys({ user }: FastifyRequest): Promise<void> {
  if (!((user as unknown) instanceof ApiKeyUser)) return;
  throw new Forbidden('An API key cannot do this: log in', { event: 'auth.api_key_refused' });
}
