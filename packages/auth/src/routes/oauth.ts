import {
  ImproperlyConfigured,
  InvalidUsage,
  NotFound,
  reportError,
  securityEvent,
  ServiceUnavailable,
  Unauthorized,
} from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Accounts } from '../accounts/accounts.ts';
import { PrimarySource } from '../accounts/primary-source.ts';
import { publicPath } from '../browsers/forwarded-prefix.ts';
import type { CompleteLogin } from '../login/complete-login.ts';
import type { RecentProof } from '../login/recent-proof.ts';
import type { Identities } from '../oauth/identities.ts';
import { MAX_PROVIDER_LENGTH } from '../oauth/identity-contract.ts';
import type { OAuthFlow, OAuthProfile, OAuthProtocol } from '../oauth/oauth-profile.ts';
import type { OAuthFlows } from '../oauth/oauth-flows.ts';
import { isUnreachable } from '../oauth/service-errors.ts';
import { accountOf, type AuthRoute, LOGIN_COOKIES, NOTHING } from './auth-route.ts';
import { optionalBodyReader, PROOF, PROOF_BODY, readProof } from './request-body.ts';
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
  readonly accounts: Accounts;
  readonly completeLogin: CompleteLogin;
  readonly proveRecently: RecentProof;
  /** Undefined: sessions are off. */
  readonly sessions: SessionParts | undefined;
}

const ReturnTo = Type.Optional(
  Type.String({
    description:
      'The path of a page of this server, to go to when the login has ended. If the account has two factors, the page finds `two_factor_token` in the fragment; after a failure, `error` with the code of the error.',
  }),
);
const BEGIN_QUERY = Type.Object({ return_to: ReturnTo });

export function oauthRoutes(parts: OAuthRouteParts, loginAnswer: AuthRoute['answer']): readonly AuthRoute[] {
  const shared = {
    name: 'oauth',
    params: Type.Object({ provider: Type.Enum([...parts.protocols.keys()]) }),
  } as const;
  return [
    {
      ...shared,
      method: 'GET',
      path: 'oauth/:provider',
      operationId: 'oauth',
      summary: 'Log in by another service',
      description: 'Sends the browser to the page of the service, which sends it back to the callback.',
      ...(parts.sessions && { querystring: BEGIN_QUERY }),
      status: 302,
      answer: NOTHING,
      cookies: 'A cookie, so that only this browser can complete the login.',
      errors: [404, 503],
      access: 'anybody',
      handler: beginHandler(parts),
    },
    ...callbackRoutes(parts, shared, loginAnswer),
    ...linkRoutes(parts, shared),
  ];
}

/** The callback, which is a POST with a form for some services. */
function callbackRoutes(
  parts: OAuthRouteParts,
  shared: Pick<AuthRoute, 'name' | 'params'>,
  loginAnswer: AuthRoute['answer'],
): readonly AuthRoute[] {
  const callback = {
    ...shared,
    path: 'oauth/:provider/callback',
    summary: 'End a login by another service',
    description:
      'Responds like a login, or sends the browser to `return_to` with the cookie of its session. A failure goes there too, as `#error=<code>`. Only the browser that began the login can complete it, and only once. A link responds with 204.',
    status: 200,
    answer: loginAnswer,
    cookies: LOGIN_COOKIES,
    errors: [401, 404, 409, 503],
    access: 'anybody',
    handler: callbackHandler(parts),
  } as const;
  const others = { 204: NOTHING, 302: NOTHING };
  const get: AuthRoute = { ...callback, method: 'GET', operationId: 'oauthCallback', others, hidesQuery: true };
  const posting = [...parts.protocols].filter(([, { postsForm }]) => postsForm).map(([name]) => name);
  if (posting.length === 0) return [get];
  const post: AuthRoute = {
    ...callback,
    method: 'POST',
    params: Type.Object({ provider: Type.Enum(posting) }),
    operationId: 'oauthFormCallback',
    description: `For services that send a form, in \`application/x-www-form-urlencoded\`. ${callback.description}`,
    others: { 204: NOTHING, 303: NOTHING },
    readsForm: true,
  };
  return [get, post];
}

const LINK_BODY = Type.Object({ return_to: ReturnTo, ...PROOF });
const LINK = Type.Object({ url: Type.String({ description: 'The page of the service, to send the browser to' }) });
const LINKS = Type.Array(Type.Object({ provider: Type.String() }));
const readLink = optionalBodyReader(LINK_BODY);

function linkRoutes(parts: OAuthRouteParts, shared: Pick<AuthRoute, 'name' | 'params'>): readonly AuthRoute[] {
  const { identities } = parts;
  return [
    {
      name: shared.name,
      method: 'GET',
      path: 'oauth/links',
      operationId: 'listOauthLinks',
      summary: 'List the services that are linked to your account',
      description: 'Each can log in to the account.',
      status: 200,
      answer: LINKS,
      errors: [401, 403],
      access: 'token',
      async handler(request: FastifyRequest) {
        const providers = await identities.providersOf(request, accountOf(request));
        return providers.map((provider) => ({ provider }));
      },
    },
    {
      ...shared,
      method: 'POST',
      path: 'oauth/:provider/link',
      operationId: 'linkOauth',
      summary: 'Link a service to your account',
      description:
        'Returns the page of the service. It sends the browser to the callback, which links the service and goes to `return_to`. Takes the password, with a code if the account has two factors, unless the login is at most ten minutes old.',
      body: LINK_BODY,
      hasOptionalBody: true,
      status: 200,
      answer: LINK,
      cookies: 'A cookie, so that only this browser can complete the link.',
      errors: [401, 403, 404, 429, 503],
      access: 'token',
      handler: linkHandler(parts),
    },
    {
      ...shared,
      method: 'DELETE',
      path: 'oauth/:provider/link',
      operationId: 'unlinkOauth',
      summary: 'Unlink a service from your account',
      description:
        'The last way to log in cannot be removed. Takes the password, with a code if the account has two factors, unless the login is at most ten minutes old.',
      body: PROOF_BODY,
      hasOptionalBody: true,
      status: 204,
      answer: NOTHING,
      errors: [401, 403, 404, 409, 429],
      access: 'token',
      handler: unlinkHandler(parts),
    },
  ];
}

function unlinkHandler({ identities, proveRecently }: OAuthRouteParts) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { provider } = request.params as { readonly provider: string };
    await proveRecently(request, readProof(request.body));
    // A service that is no longer configured can be unlinked too. No name has more characters.
    const isName = provider.length <= MAX_PROVIDER_LENGTH && !provider.includes('\0');
    if (!isName || !(await identities.unlink(request, provider))) {
      throw new NotFound('The account is not linked to this service');
    }
    request.log.info({ ...securityEvent(request, 'auth.oauth_unlinked'), provider }, 'a service was unlinked');
    return reply.code(204).send();
  };
}

function beginHandler(parts: OAuthRouteParts) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const named = providerOf(request, parts.protocols);
    const { return_to } = request.query as { readonly return_to?: unknown };
    const returnTo = parts.sessions && readReturnTo(return_to, originOf(parts, request), 'query');
    return orReturn(request, reply, returnTo, async () => {
      return reply.redirect(await begin(parts, request, reply, { ...named, returnTo }));
    });
  };
}

function linkHandler(parts: OAuthRouteParts) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const named = providerOf(request, parts.protocols);
    const { return_to, ...proof } = readLink(request.body);
    const returnTo = readReturnTo(return_to, originOf(parts, request), 'body');
    const { id: account } = await parts.proveRecently(request, proof);
    const link = { account, session: parts.sessions?.currentSession(request) };
    return { url: await begin(parts, request, reply, { ...named, returnTo, link }) };
  };
}

interface Begun extends Pick<OAuthFlow, 'returnTo' | 'link'> {
  readonly name: string;
  readonly protocol: OAuthProtocol;
}

/** Begins a flow, and returns the address of the service's page. */
async function begin(
  parts: OAuthRouteParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { name, protocol, returnTo, link }: Begun,
): Promise<string> {
  const redirectUri = `${originOf(parts, request)}${publicPath(request, parts.path)}/${name}/callback`;
  const { postsForm } = protocol;
  const flow = parts.flows.begin(request, reply, { provider: name, redirectUri, postsForm, returnTo, link });
  return (await reach(() => protocol.authorizationUrl(flow))).href;
}

function callbackHandler(parts: OAuthRouteParts) {
  const { flows, protocols } = parts;
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { name, protocol } = providerOf(request, protocols);
    const parameters = parametersOf(request, protocol);
    const found = flows.find(request, name, parameters);
    return orReturn(request, reply, found?.returnTo, async () => {
      const flow = await flows.end(request, reply, found);
      const profile = await profileOf(request, protocol, flow, parameters);
      return flow.link === undefined
        ? endLogin(parts, request, reply, flow, profile)
        : endLink(parts, request, reply, { ...flow, link: flow.link }, profile);
    });
  };
}

async function endLogin(
  { identities, completeLogin }: OAuthRouteParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { provider, returnTo }: OAuthFlow,
  profile: OAuthProfile,
) {
  const found = await identities.accountOf(request, provider, profile);
  if (found === undefined) {
    const reason = profile.verifiedEmail === undefined ? 'no_verified_address' : 'no_account';
    fail(request, provider, reason);
    throw new Unauthorized(
      reason === 'no_account'
        ? 'No account has this address'
        : 'The service does not say that the e-mail address is verified',
    );
  }
  const { account, how } = found;
  if (how !== 'known') {
    const event = { ...securityEvent(request, `auth.oauth_${how}`), account: account.id, provider };
    request.log.info(event, 'an account was linked to a login by another service');
  }
  const answer = await completeLogin(request, reply, account);
  if (returnTo === undefined) return answer;
  // The page gets an access token with its cookie, so that no address contains one.
  const half = 'two_factor_token' in answer ? `#two_factor_token=${answer.two_factor_token}` : '';
  return goTo(request, reply, returnTo + half);
}

/** Links the service, unless the account was disabled or logged out meanwhile. */
async function endLink(
  { accounts, identities, sessions }: OAuthRouteParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { provider, returnTo, link }: OAuthFlow & { readonly link: NonNullable<OAuthFlow['link']> },
  profile: OAuthProfile,
) {
  const account = await accounts.byId(new PrimarySource(request), link.account);
  const isLoggedIn =
    link.session === undefined || (await sessions?.sessions.begun(request, link.session)) !== undefined;
  const isActive = account?.is_active === true && isLoggedIn;
  if (!isActive || !(await identities.link(request, account, provider, profile))) {
    fail(request, provider, 'logged_out');
    throw new Unauthorized('The login has ended; log in, and link the service again');
  }
  const event = { ...securityEvent(request, 'auth.oauth_linked'), account: account.id, provider };
  request.log.info(event, 'an account was linked to a login by another service');
  return returnTo === undefined ? reply.code(204).send() : goTo(request, reply, returnTo);
}

/** Sends a browser that has a page to return to there, with the code of the error. Other errors are thrown. */
async function orReturn<Result>(
  request: FastifyRequest,
  reply: FastifyReply,
  returnTo: string | undefined,
  work: () => Promise<Result>,
): Promise<Result | FastifyReply> {
  try {
    return await work();
  } catch (error) {
    if (returnTo === undefined) throw error;
    return goTo(request, reply, `${returnTo}#error=${reportError(error, request).code}`);
  }
}

/** Sends the browser to a page, with a GET. */
function goTo(request: FastifyRequest, reply: FastifyReply, page: string): FastifyReply {
  return reply.redirect(page, request.method === 'POST' ? 303 : 302);
}

/** Returns what the service sends back. Throws NotFound if the service sends it by the other method. */
function parametersOf({ method, url, body }: FastifyRequest, { postsForm }: OAuthProtocol): URLSearchParams {
  if (postsForm !== (method === 'POST')) {
    throw new NotFound(`The callback of this service is a ${postsForm ? 'POST' : 'GET'}`);
  }
  if (!postsForm) return new URL(url, 'http://localhost').searchParams;
  return body instanceof URLSearchParams ? body : new URLSearchParams();
}

/** Returns the origin that browsers see. */
function originOf({ origin }: OAuthRouteParts, request: FastifyRequest): string {
  return origin ?? `${request.protocol}://${request.host}`;
}

/** Throws InvalidUsage unless the path is on this server, so that nobody is redirected to another one. */
function readReturnTo(given: unknown, origin: string, part: 'query' | 'body'): string | undefined {
  if (given === undefined || given === '') return undefined;
  const url = typeof given === 'string' && URL.canParse(given, origin) ? new URL(given, origin) : undefined;
  const isOfOrigin = url?.origin === new URL(origin).origin && given === url.pathname + url.search;
  if (isOfOrigin && url.href.length <= MAX_RETURN_LENGTH) return url.pathname + url.search;
  const details = [{ in: part, path: '/return_to', message: 'must be a path of this server' }] as const;
  throw new InvalidUsage(`Invalid ${part}: return_to must be a path of this server`, { details });
}

async function profileOf(
  request: FastifyRequest,
  protocol: OAuthProtocol,
  flow: OAuthFlow,
  parameters: URLSearchParams,
): Promise<OAuthProfile> {
  const url = new URL(flow.redirectUri);
  url.search = parameters.toString();
  try {
    return await reach(() => protocol.profile(flow, url));
  } catch (error) {
    if (error instanceof ServiceUnavailable) throw error;
    request.log.info({ err: error }, 'the answer of a service was refused');
    fail(request, flow.provider, 'refused');
    throw new Unauthorized('The service did not confirm the login', { cause: error });
  }
}

/** Throws ServiceUnavailable if the service cannot be reached, or is not the one that the options name. */
async function reach<Result>(step: () => Promise<Result>): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof ImproperlyConfigured) {
      throw new ServiceUnavailable('The login by this service is not set up correctly', { cause: error });
    }
    if (!isUnreachable(error)) throw error;
    throw new ServiceUnavailable('The service does not answer; try again later', { cause: error });
  }
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
