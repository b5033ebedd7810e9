import { createHash, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSigner, createVerifier } from 'fast-jwt';
import type { Test } from 'tap';
import { CLIENT } from './openid.ts';

interface Received {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly form: Readonly<Record<string, string>>;
  readonly authorization: string;
}

interface Sent {
  readonly status?: number;
  readonly location?: string;
  readonly html?: string;
  readonly json?: unknown;
}

type Claims = Readonly<Record<string, unknown>>;

const pairs = { rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }), apple: p256(), stranger: p256() };
const ACCESS_TOKEN = 'the access token';
const BASIC = `Basic ${btoa([CLIENT.clientId, CLIENT.clientSecret].map(formEncode).join(':'))}`;

/** A service on loopback that is logged in to, at which one person is logged in and agrees to everything. */
abstract class Service {
  url = '';
  /** The requests, in the order of their arrival. */
  readonly requests: Received[] = [];
  /** The response to every request from now on. */
  outage: Sent | undefined;
  /** True: the person cancels. */
  cancels = false;
  protected readonly codes = new Map<string, Readonly<Record<string, string>>>();

  async start(t: Test): Promise<this> {
    const server: Server = createServer((request, response) => {
      void (async () => {
        const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
        let text = '';
        for await (const chunk of request) text += String(chunk);
        const [query, form] = [searchParams, new URLSearchParams(text)].map((each) => Object.fromEntries(each));
        const { authorization = '' } = request.headers;
        const received = { path: pathname, query: query!, form: form!, authorization };
        this.requests.push(received);
        const { status, location, html, json } = this.outage ?? this.answer(received);
        response.statusCode = status ?? (location === undefined ? 200 : 302);
        if (location !== undefined) response.setHeader('location', location);
        response.setHeader('content-type', html === undefined ? 'application/json' : 'text/html');
        response.end(html ?? JSON.stringify(json));
      })();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return this;
  }

  protected abstract answer(received: Received): Sent;

  /** The parameters that the service sends back. */
  protected decide(query: Received['query'], cancelled = 'access_denied'): Record<string, string> {
    const { state = '' } = query;
    if (this.cancels) return { error: cancelled, state };
    const code = randomBytes(8).toString('hex');
    this.codes.set(code, query);
    return { code, state };
  }

  protected back(query: Received['query'], parameters: Record<string, string>): Sent {
    return { location: `${query['redirect_uri']}?${new URLSearchParams(parameters).toString()}` };
  }

  /** Returns the request of a code, which ends; undefined if it does not match the exchange. */
  protected take({ form }: Received): Readonly<Record<string, string>> | undefined {
    const begun = this.codes.get(form['code'] ?? '');
    this.codes.delete(form['code'] ?? '');
    return begun?.['redirect_uri'] === form['redirect_uri'] ? begun : undefined;
  }
}

/** True if a request proves that it has begun the login. */
function provesPkce(begun: Readonly<Record<string, string>>, form: Received['form']): boolean {
  const challenge = createHash('sha256')
    .update(form['code_verifier'] ?? '')
    .digest('base64url');
  return begun['code_challenge_method'] === 'S256' && begun['code_challenge'] === challenge;
}

const hasSecret = ({ form }: Received): boolean =>
  form['client_id'] === CLIENT.clientId && form['client_secret'] === CLIENT.clientSecret;

function tokens(claims: Claims): Sent {
  const sign = createSigner({ algorithm: 'RS256', key: pem(pairs.rsa.privateKey), kid: 'one', expiresIn: 300_000 });
  return {
    json: { access_token: ACCESS_TOKEN, token_type: 'Bearer', expires_in: 3599, id_token: sign({ ...claims }) },
  };
}

const KEYS: Sent = {
  json: { keys: [{ ...pairs.rsa.publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'RS256' }] },
};
const refusal = (error: string, status = 400): Sent => ({ status, json: { error } });

export const TENANT = '11111111-2222-4333-8444-555555555555';
export const OTHER_TENANT = '99999999-2222-4333-8444-555555555555';

/**
 * The Microsoft identity platform 2.0: its metadata of `common` and `organizations` has no issuer of a token, and its
 * tokens have no `email_verified`.
 */
export class TestMicrosoft extends Service {
  readonly origin = 'https://login.microsoftonline.com';
  person: Claims & { readonly sub: string; readonly tid: string } = { sub: 'm1', tid: TENANT };
  /** The issuer that the next tokens name. Default: the person's. */
  iss: string | undefined;

  /** Sends what goes to Microsoft here. */
  override async start(t: Test): Promise<this> {
    await super.start(t);
    const { fetch } = globalThis;
    globalThis.fetch = (input, init) =>
      fetch(typeof input === 'string' ? input.replace(this.origin, this.url) : input, init);
    t.teardown(() => (globalThis.fetch = fetch));
    return this;
  }

  protected answer(received: Received): Sent {
    const { path, query, form } = received;
    const [, tenant = '', ...rest] = path.split('/');
    const isShared = tenant === 'common' || tenant === 'organizations';
    switch (rest.join('/')) {
      case 'v2.0/.well-known/openid-configuration': {
        const root = `${this.origin}/${tenant}`;
        return {
          json: {
            issuer: `${this.origin}/${isShared ? '{tenantid}' : tenant}/v2.0`,
            authorization_endpoint: `${root}/oauth2/v2.0/authorize`,
            token_endpoint: `${root}/oauth2/v2.0/token`,
            jwks_uri: `${root}/discovery/v2.0/keys`,
            userinfo_endpoint: 'https://graph.microsoft.com/oidc/userinfo',
            token_endpoint_auth_methods_supported: ['client_secret_post', 'private_key_jwt', 'client_secret_basic'],
            id_token_signing_alg_values_supported: ['RS256'],
            response_modes_supported: ['query', 'fragment', 'form_post'],
          },
        };
      }
      case 'discovery/v2.0/keys':
        return KEYS;
      case 'oauth2/v2.0/authorize':
        return this.back(query, this.decide(query));
      case 'oauth2/v2.0/token': {
        const begun = this.take(received);
        if (begun === undefined || !provesPkce(begun, form)) return refusal('invalid_grant');
        if (received.authorization !== BASIC && !hasSecret(received)) return refusal('invalid_client', 401);
        const { tid, ...claims } = this.person;
        const iss = this.iss ?? `${this.origin}/${tid}/v2.0`;
        return tokens({ ver: '2.0', iss, aud: CLIENT.clientId, nonce: begun['nonce'], tid, ...claims });
      }
      default:
        return { status: 404, json: {} };
    }
  }
}

/** Sign in with LinkedIn: no nonce in tokens, no PKCE beside a secret, the secret in the body, `email_verified` as text. */
export class TestLinkedin extends Service {
  person: Claims & { readonly sub: string } = { sub: 'l1' };

  protected answer(received: Received): Sent {
    const { path, query, form, authorization } = received;
    const root = `${this.url}/oauth`;
    switch (path) {
      case '/oauth/.well-known/openid-configuration':
        return {
          json: {
            issuer: root,
            authorization_endpoint: `${root}/v2/authorization`,
            token_endpoint: `${root}/v2/accessToken`,
            jwks_uri: `${root}/openid/jwks`,
            userinfo_endpoint: `${this.url}/v2/userinfo`,
            id_token_signing_alg_values_supported: ['RS256'],
          },
        };
      case '/oauth/openid/jwks':
        return KEYS;
      case '/oauth/v2/authorization':
        return this.back(query, this.decide(query, 'user_cancelled_login'));
      case '/oauth/v2/accessToken': {
        const isClient = hasSecret(received) && authorization === '' && form['code_verifier'] === undefined;
        if (!isClient) return refusal('invalid_client', 401);
        if (this.take(received) === undefined) return refusal('invalid_request');
        return tokens({ iss: root, aud: CLIENT.clientId, ...this.person });
      }
      default:
        return { status: 404, json: {} };
    }
  }
}

export const APPLE_KEY = { teamId: 'TEAM123456', keyId: 'KEY1234567', privateKey: pem(pairs.apple.privateKey) };
/** A key that Apple does not know. */
export const STRANGE_KEY = { ...APPLE_KEY, privateKey: pem(pairs.stranger.privateKey) };

/**
 * Sign in with Apple: the callback is a form of a page of Apple, the name comes once and unsigned, and secrets are tokens
 * by ES256.
 */
export class TestApple extends Service {
  person: Claims & { readonly sub: string } = { sub: 'a1' };
  /** What the form has in `user` at the first login of a person. */
  user = '';

  protected answer(received: Received): Sent {
    const { path, query } = received;
    switch (path) {
      case '/.well-known/openid-configuration':
        return {
          json: {
            issuer: this.url,
            authorization_endpoint: `${this.url}/auth/authorize`,
            token_endpoint: `${this.url}/auth/token`,
            jwks_uri: `${this.url}/auth/keys`,
            response_modes_supported: ['query', 'fragment', 'form_post'],
            id_token_signing_alg_values_supported: ['RS256'],
            token_endpoint_auth_methods_supported: ['client_secret_post'],
          },
        };
      case '/auth/keys':
        return KEYS;
      case '/auth/authorize': {
        // Apple: "If you request any scopes, you must use form_post".
        if (query['scope'] !== '' && query['response_mode'] !== 'form_post') return refusal('invalid_request');
        const parameters = { ...this.decide(query, 'user_cancelled_authorize'), ...(this.user && { user: this.user }) };
        const inputs = Object.entries(parameters).map(
          ([name, value]) => `<input type="hidden" name="${name}" value="${escapeAttribute(value)}">`,
        );
        const form = `<form method="post" action="${query['redirect_uri']}">${inputs.join('')}</form>`;
        return { html: `<!doctype html><title>Apple</title>${form}<script>document.forms[0].submit()</script>` };
      }
      case '/auth/token': {
        if (!this.#isSecret(received.form['client_secret'] ?? '')) return refusal('invalid_client');
        const begun = this.take(received);
        // Not documented: Apple checks PKCE if the login began with it.
        if (begun === undefined || !provesPkce(begun, received.form)) return refusal('invalid_grant');
        const nonce = begun['nonce'];
        return tokens({ iss: this.url, aud: CLIENT.clientId, nonce, nonce_supported: true, ...this.person });
      }
      default:
        return { status: 404, json: {} };
    }
  }

  #isSecret(secret: string): boolean {
    try {
      const verify = createVerifier({
        key: pairs.apple.publicKey.export({ type: 'spki', format: 'pem' }) as string,
        algorithms: ['ES256'],
        allowedIss: APPLE_KEY.teamId,
        allowedSub: CLIENT.clientId,
        allowedAud: this.url,
        maxAge: 15_777_000_000,
        requiredClaims: ['exp', 'iat'],
        complete: true,
      });
      return (verify(secret) as { header: { kid?: string } }).header.kid === APPLE_KEY.keyId;
    } catch {
      return false;
    }
  }
}

/** OAuth 2 without OpenID Connect. */
abstract class OAuth2Service extends Service {
  /** The object of the user. */
  user: unknown = {};
  protected abstract readonly paths: { readonly authorize: string; readonly token: string; readonly user: string };

  protected answer(received: Received): Sent {
    const { path, query, authorization } = received;
    if (path === this.paths.authorize) return this.back(query, this.decide(query));
    if (path === this.paths.token) return this.exchange(received, this.take(received));
    if (path !== this.paths.user) return { status: 404, json: {} };
    return authorization === `Bearer ${ACCESS_TOKEN}` ? this.read(query) : { status: 401, json: {} };
  }

  protected abstract exchange(received: Received, begun: Readonly<Record<string, string>> | undefined): Sent;

  protected read(_query: Received['query']): Sent {
    return { json: this.user };
  }

  endpoints(): { authorizationEndpoint: string; tokenEndpoint: string } {
    return { authorizationEndpoint: this.url + this.paths.authorize, tokenEndpoint: this.url + this.paths.token };
  }
}

const GRANTED: Sent = { json: { access_token: ACCESS_TOKEN, token_type: 'Bearer', expires_in: 604800, scope: '' } };

/** Discord takes the secret either way, and checks PKCE if it is used. */
export class TestDiscord extends OAuth2Service {
  protected readonly paths = { authorize: '/oauth2/authorize', token: '/api/oauth2/token', user: '/api/users/@me' };

  protected exchange(received: Received, begun: Readonly<Record<string, string>> | undefined): Sent {
    if (received.authorization !== BASIC && !hasSecret(received)) return refusal('invalid_client', 401);
    return begun !== undefined && provesPkce(begun, received.form) ? GRANTED : refusal('invalid_grant');
  }
}

/** Facebook takes the secret as a parameter, and its errors are objects. */
export class TestFacebook extends OAuth2Service {
  protected readonly paths = {
    authorize: '/v25.0/dialog/oauth',
    token: '/v25.0/oauth/access_token',
    user: '/v25.0/me',
  };

  protected exchange(received: Received, begun: Readonly<Record<string, string>> | undefined): Sent {
    if (hasSecret(received) && begun !== undefined && provesPkce(begun, received.form)) return GRANTED;
    return { status: 400, json: { error: { message: 'no', type: 'OAuthException', code: 100 } } };
  }

  protected override read({ fields = 'id,name' }: Received['query']): Sent {
    const asked = Object.entries(this.user as object).filter(([name]) => fields.split(',').includes(name));
    return { json: Object.fromEntries(asked) };
  }
}

/** X requires PKCE, and the secret of confidential clients by Basic. */
export class TestX extends OAuth2Service {
  protected readonly paths = { authorize: '/i/oauth2/authorize', token: '/2/oauth2/token', user: '/2/users/me' };

  protected exchange(received: Received, begun: Readonly<Record<string, string>> | undefined): Sent {
    if (received.authorization !== BASIC) return refusal('unauthorized_client', 401);
    return begun !== undefined && provesPkce(begun, received.form) ? GRANTED : refusal('invalid_request');
  }

  protected override read({ 'user.fields': fields = '' }: Received['query']): Sent {
    const { confirmed_email, ...user } = this.user as Claims;
    return { json: { data: { ...user, ...(fields.includes('confirmed_email') && { confirmed_email }) } } };
  }
}

function pem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string;
}

function p256() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
}

/** RFC 6749, section 2.3.1: both parts are form-encoded first. */
function formEncode(text: string): string {
  return new URLSearchParams({ x: text }).toString().slice(2);
}
