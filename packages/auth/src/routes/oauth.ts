import { InvalidUsage, NotFound, securityEvent, ServiceUnavailable, Unauthorized } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Identities } from '../oauth/identities.ts';
import type { OAuthFlow, OAuthProfile, OAuthProtocol } from '../oauth/oauth-profile.ts';
import type { OAuthFlows } from '../oauth/oauth-flows.ts';
import { type AuthRoute, LOGIN_COOKIES, NOTHING } from './auth-route.ts';
import type { CompleteLogin } from '../login/complete-login.ts';
import type { SessionParts } from './sessions.ts';

/** The path must also fit into the cookie. */
const MAX_RETURN_LENGTH = 1000;

export interface OAuthParts {
  readonly flows: OAuthFlows;
  readonly identities: Identities;
  readonly protocols: ReadonlyMap<string, OAuthProtocol>;
  /** The origin that browsers see; undefined: the request's. */
  readonly origin: string | undefined;
  /** The path of the routes, from the root of the server. */
  readonly path: string;
}

export interface OAuthRouteParts extends OAuthParts {
  readonly completeLogin: CompleteLogin;
  /** Undefined: sessions are off. */
  readonly sessions: SessionParts | undefined;
}

export function oauthRoutes(parts: OAuthRouteParts, loginAnswer: AuthRoute['answer']): readonly AuthRoute[] {
  const shared = {
    name: 'oauth',
    method: 'GET',
    params: Type.Object({ provider: Type.Enum([...parts.protocols.keys()]) }),
    access: 'anybody',
  } as const;
  return [
    {
      ...shared,
      path: 'oauth/:provider',
      operationId: 'oauth',
      summary: 'Log in by another service',
      description: 'Sends the browser to the page of the service, which sends it back to the callback.',
      ...(parts.sessions && { querystring: BEGIN_QUERY }),
      status: 302,
      answer: NOTHING,
      cookies: 'A cookie, so that only this browser can complete the login.',
      errors: [404, 503],
      handler: beginHandler(parts),
    },
    {
      ...shared,
      path: 'oauth/:provider/callback',
      operationId: 'oauthCallback',
      summary: 'End a login by another service',
      description:
        'Responds like a login, or sends the browser to `return_to` with the cookie of its session. Only the browser that began the login can complete it, and only once.',
      status: 200,
      answer: loginAnswer,
      cookies: LOGIN_COOKIES,
      errors: [401, 404, 503],
      handler: callbackHandler(parts),
    },
  ];
}

const BEGIN_QUERY = Type.Object({
  return_to: Type.Optional(
    Type.String({
      description:
        'The path of a page of this server, to go to when the login has ended. If the account has two factors, the page finds `two_factor_token` in the fragment.',
    }),
  ),
});

function beginHandler({ flows, protocols, origin, path, sessions }: OAuthRouteParts) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { name, protocol } = providerOf(request, protocols);
    const own = origin ?? `${request.protocol}://${request.host}`;
    const returnTo = sessions && readReturnTo(request, own);
    const flow = await flows.begin(request, reply, {
      provider: name,
      redirectUri: `${own}${path}/${name}/callback`,
      returnTo,
    });
    const url = await reach(() => protocol.authorizationUrl(flow));
    return reply.redirect(url.href);
  };
}

function callbackHandler({ flows, identities, protocols, completeLogin }: OAuthRouteParts) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { name, protocol } = providerOf(request, protocols);
    const flow = await flows.end(request, reply, name);
    const profile = await profileOf(request, protocol, flow);
    const found = await identities.accountOf(request, name, profile);
    if (found === undefined) {
      const reason = profile.verifiedEmail === undefined ? 'no_verified_address' : 'no_account';
      fail(request, name, reason);
      throw new Unauthorized(
        reason === 'no_account'
          ? 'No account has this address'
          : 'The service does not say that the e-mail address is verified',
      );
    }
    const { account, how } = found;
    if (how !== 'known') {
      const event = { ...securityEvent(request, `auth.oauth_${how}`), account: account.id, provider: name };
      request.log.info(event, 'an account was linked to a login by another service');
    }
    const answer = await completeLogin(request, reply, account);
    if (flow.returnTo === undefined) return answer;
    // The page gets an access token with its cookie, so that no address contains one.
    const half = 'two_factor_token' in answer ? `#two_factor_token=${answer.two_factor_token}` : '';
    return reply.redirect(flow.returnTo + half);
  };
}

/** Throws InvalidUsage unless the path is on this server, so that nobody is redirected to another one. */
function readReturnTo(request: FastifyRequest, origin: string): string | undefined {
  const { return_to: given } = request.query as { readonly return_to?: unknown };
  if (given === undefined || given === '') return undefined;
  const url = typeof given === 'string' && URL.canParse(given, origin) ? new URL(given, origin) : undefined;
  const isOwn = url?.origin === new URL(origin).origin && given === url.pathname + url.search;
  if (isOwn && url.href.length <= MAX_RETURN_LENGTH) return url.pathname + url.search;
  const details = [{ in: 'query', path: '/return_to', message: 'must be a path of this server' }] as const;
  throw new InvalidUsage('Invalid query: return_to must be a path of this server', { details });
}

async function profileOf(request: FastifyRequest, protocol: OAuthProtocol, flow: OAuthFlow): Promise<OAuthProfile> {
  const url = new URL(flow.redirectUri);
  url.search = new URL(request.url, flow.redirectUri).search;
  try {
    return await reach(() => protocol.profile(flow, url));
  } catch (error) {
    if (error instanceof ServiceUnavailable) throw error;
    request.log.info({ err: error }, 'the answer of a service was refused');
    fail(request, flow.provider, 'refused');
    throw new Unauthorized('The service did not confirm the login', { cause: error });
  }
}

/** Throws ServiceUnavailable if the service cannot be reached. */
async function reach<Result>(step: () => Promise<Result>): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    throw new ServiceUnavailable('The service does not answer; try again later', { cause: error });
  }
}

const UNREACHABLE = new Set(['OAUTH_TIMEOUT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON']);

/** `fetch` throws a TypeError with a cause if it cannot connect. */
function isUnreachable(error: unknown): boolean {
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: { readonly code?: unknown } };
  return UNREACHABLE.has(String(code)) || (error instanceof TypeError && typeof cause?.code === 'string');
}

function providerOf(request: FastifyRequest, protocols: OAuthParts['protocols']) {
  const { provider: name } = request.params as { readonly provider: string };
  const protocol = protocols.get(name);
  if (protocol === undefined) throw new NotFound('There is no login by this service');
  return { name, protocol };
}

function fail(request: FastifyRequest, provider: string, reason: string): void {
  request.log.info({ ...securityEvent(request, 'auth.oauth_failed'), provider, reason }, 'a login by a service failed');
}
