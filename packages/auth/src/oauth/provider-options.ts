import { checkOptionNames, wrongOption } from '@viewset/core';
import { type AppleKey, checkAppleKey } from './apple-secret.ts';
import { githubService } from './github.ts';
import { MAX_PROVIDER_LENGTH } from './identity-contract.ts';
import { checkIssuer, isInsecure, kindOf, type OpenidKind } from './known-services.ts';
import type { OAuth2Provider } from './oauth2-provider.ts';
import { isUuid } from '../accounts/uuid.ts';

/** A service that users can log in with: one that speaks OpenID Connect, or GitHub. */
export interface OAuthProvider {
  /**
   * The issuer of OpenID Connect, whose metadata is found by discovery. For GitHub, `https://github.com`. For Microsoft,
   * `https://login.microsoftonline.com/<tenant>/v2.0`; the tenant is an id, `common`, `organizations` or `consumers`.
   */
  readonly issuer: string;
  readonly clientId: string;
  /** The secret that the service gave you. For Apple, the key that secrets are made with, or a secret made with it. */
  readonly clientSecret: string | AppleKey;
  /**
   * The service. Default: by the issuer `github`, `microsoft`, `linkedin` or `apple`, else `openid`. Set it for a GitHub
   * Enterprise Server.
   */
  readonly kind?: OpenidKind | 'github';
  /** Default: `openid email profile`; for GitHub `read:user user:email`, for Apple `name email`. */
  readonly scope?: string;
  /**
   * Trusts addresses about which the service says nothing (no `email_verified`; for Microsoft, no `xms_edov`): true for
   * all, or the domains to trust. The administrators of the service can then log in to any account with these addresses. An
   * address that the service calls unverified is never trusted. Default: none.
   */
  readonly trustUnverifiedEmails?: true | readonly string[];
  /** Microsoft: the ids of the tenants whose users may log in (the claim `tid`). Default: all that the issuer allows. */
  readonly tenants?: readonly string[];
  /**
   * True: logs in without PKCE, for a service that does not support it. A stolen authorization code is then protected by
   * `nonce`, `state` and the secret alone. Default: false, except for LinkedIn.
   */
  readonly skipPkce?: boolean;
  /**
   * True: logs in without `nonce`, for a service that does not return it in its ID tokens. Default: false, except for
   * LinkedIn.
   */
  readonly skipNonce?: boolean;
}

interface ResolvedClient {
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly scope: string;
  readonly skipPkce: boolean;
}

export interface ResolvedOpenidProvider extends ResolvedClient {
  readonly kind: OpenidKind;
  readonly clientSecret: string | AppleKey;
  readonly skipNonce: boolean;
  readonly trustUnverifiedEmails: true | readonly string[];
  readonly tenants: readonly string[] | undefined;
}

export interface ResolvedOAuth2Provider
  extends
    ResolvedClient,
    Pick<OAuth2Provider, 'kind' | 'authorizationEndpoint' | 'tokenEndpoint' | 'clientSecret' | 'profile'> {
  readonly tokenEndpointAuthMethod: 'client_secret_basic' | 'client_secret_post';
}

export type ResolvedProvider = ResolvedOpenidProvider | ResolvedOAuth2Provider;

const NAME = /^[a-z0-9-]+$/;
const DOMAIN = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/;
const TEXTS = ['issuer', 'clientId', 'scope'] as const;
const FLAGS = ['skipPkce', 'skipNonce'] as const;
const SCOPES: Readonly<Partial<Record<OpenidKind, string>>> = { apple: 'name email' };
const KINDS: ReadonlySet<unknown> = new Set(['openid', 'microsoft', 'linkedin', 'apple', 'github']);

/** Throws ImproperlyConfigured with the option, the expected value and the given one. */
export function resolveProvider(name: string, provider: OAuthProvider | OAuth2Provider): ResolvedProvider {
  // `links` is the path of another route.
  if (!NAME.test(name) || name.length > MAX_PROVIDER_LENGTH || name === 'links') {
    const expected = `names of lower-case letters, digits and dashes, at most ${MAX_PROVIDER_LENGTH}, and not "links"`;
    throw wrongOption('auth: option "oauth"', 'providers', expected, name);
  }
  return provider.kind === 'oauth2' ? resolveOAuth2(name, provider) : resolveKnown(name, provider);
}

function resolveKnown(name: string, provider: OAuthProvider): ResolvedProvider {
  const names = ['issuer', 'clientId', 'clientSecret', 'kind', 'scope', ...FLAGS] as const;
  checkOptionNames(owner(name), provider, [...names, 'trustUnverifiedEmails', 'tenants']);
  const { issuer, clientId, clientSecret } = provider;
  requireTexts(name, { issuer, clientId, scope: provider.scope ?? 'openid' });
  if (!isEndpoint(issuer)) throw wrong(name, 'issuer', ADDRESS, issuer);
  // The library would not compare the issuer of the metadata with this address.
  if (issuer.includes('/.well-known/')) throw wrong(name, 'issuer', 'the issuer alone, without /.well-known/', issuer);
  const kind = provider.kind ?? kindOf(issuer) ?? 'openid';
  if (!KINDS.has(kind)) {
    throw wrong(name, 'kind', 'openid, microsoft, linkedin, apple, github or oauth2', kind);
  }
  checkIssuer(name, issuer, kind);
  requireFlags(name, provider);
  if (typeof clientSecret !== 'string') checkAppleKey(name, clientSecret, kind);
  else requireSecret(name, clientSecret);
  if (kind === 'github') return resolveGithub(name, provider);
  return {
    name,
    kind,
    issuer,
    clientId,
    clientSecret,
    scope: provider.scope ?? SCOPES[kind] ?? 'openid email profile',
    skipPkce: provider.skipPkce ?? kind === 'linkedin',
    skipNonce: provider.skipNonce ?? kind === 'linkedin',
    tenants: resolveTenants(name, provider, kind),
    trustUnverifiedEmails: resolveTrust(name, provider, kind),
  };
}

function resolveGithub(name: string, provider: OAuthProvider): ResolvedOAuth2Provider {
  for (const option of ['tenants', 'trustUnverifiedEmails', 'skipNonce'] as const) {
    if (provider[option] !== undefined) throw wrong(name, option, 'left out for GitHub', provider[option]);
  }
  const { issuer, clientId, clientSecret, scope = 'read:user user:email', skipPkce = false } = provider;
  return { ...githubService(issuer), name, clientId, clientSecret: clientSecret as string, scope, skipPkce };
}

function resolveOAuth2(name: string, provider: OAuth2Provider): ResolvedOAuth2Provider {
  const names = ['kind', 'authorizationEndpoint', 'tokenEndpoint', 'clientId', 'clientSecret', 'scope'] as const;
  checkOptionNames(owner(name), provider, [
    ...names,
    'profile',
    'tokenEndpointAuthMethod',
    'issuer',
    'skipPkce',
  ] as const);
  const { authorizationEndpoint, tokenEndpoint, clientId, clientSecret, scope, profile } = provider;
  const { tokenEndpointAuthMethod = 'client_secret_basic', skipPkce = false } = provider;
  for (const option of ['authorizationEndpoint', 'tokenEndpoint'] as const) {
    if (!isEndpoint(provider[option])) throw wrong(name, option, ADDRESS, provider[option]);
  }
  const { issuer = new URL(authorizationEndpoint).origin } = provider;
  requireTexts(name, { issuer, clientId, scope });
  requireSecret(name, clientSecret);
  requireFlags(name, { skipPkce });
  if (typeof profile !== 'function') throw wrong(name, 'profile', 'a function', profile);
  if (!['client_secret_basic', 'client_secret_post'].includes(tokenEndpointAuthMethod)) {
    const expected = 'client_secret_basic or client_secret_post';
    throw wrong(name, 'tokenEndpointAuthMethod', expected, tokenEndpointAuthMethod);
  }
  const client = { name, issuer, clientId, clientSecret, scope, skipPkce };
  return { ...client, kind: 'oauth2', authorizationEndpoint, tokenEndpoint, profile, tokenEndpointAuthMethod };
}

function resolveTenants(name: string, { tenants }: OAuthProvider, kind: OpenidKind): readonly string[] | undefined {
  if (tenants === undefined) return undefined;
  if (kind !== 'microsoft') throw wrong(name, 'tenants', 'left out, because it is for Microsoft', tenants);
  const isList = Array.isArray(tenants) && tenants.length > 0;
  const ids = isList ? tenants.map((tenant) => String(tenant).toLowerCase()) : [];
  if (!isList || !ids.every(isUuid)) throw wrong(name, 'tenants', 'a list of ids of tenants', tenants);
  return ids;
}

function resolveTrust(name: string, provider: OAuthProvider, kind: OpenidKind): true | readonly string[] {
  const { trustUnverifiedEmails: trust, issuer, tenants } = provider;
  if (trust === undefined) return [];
  if (kind !== 'openid' && kind !== 'microsoft') {
    throw wrong(name, 'trustUnverifiedEmails', `left out, because ${kind} says if an address is verified`, trust);
  }
  const isList = Array.isArray(trust) && trust.length > 0 && trust.every((domain) => DOMAIN.test(String(domain)));
  if (trust !== true && !isList) {
    throw wrong(name, 'trustUnverifiedEmails', 'true or a list of domains in lower case', trust);
  }
  const [, tenant] = new URL(issuer).pathname.split('/');
  // Anybody can make a tenant, and write any address into it.
  if (
    kind === 'microsoft' &&
    ['common', 'organizations', 'consumers'].includes(tenant ?? '') &&
    tenants === undefined
  ) {
    const expected = `left out with the tenant "${tenant}", unless the option "tenants" names those to trust`;
    throw wrong(name, 'trustUnverifiedEmails', expected, trust);
  }
  return trust;
}

const ADDRESS = 'an https: URL (http: on this machine alone)';

function isEndpoint(address: unknown): boolean {
  if (typeof address !== 'string' || !URL.canParse(address)) return false;
  return new URL(address).protocol === 'https:' || isInsecure(address);
}

function requireTexts(name: string, texts: Readonly<Record<(typeof TEXTS)[number], unknown>>): void {
  for (const option of TEXTS) {
    if (typeof texts[option] !== 'string' || texts[option] === '') throw wrong(name, option, 'a text', texts[option]);
  }
}

function requireSecret(name: string, secret: unknown): void {
  // The error shows the type alone, because the value may be a secret.
  if (typeof secret === 'string' && secret !== '') return;
  throw wrong(name, 'clientSecret', 'a text that is not empty', secret === '' ? '' : typeof secret);
}

function requireFlags(name: string, provider: Readonly<Partial<Record<(typeof FLAGS)[number], unknown>>>): void {
  for (const option of FLAGS) {
    const given = provider[option];
    if (given !== undefined && typeof given !== 'boolean') throw wrong(name, option, 'true or false', given);
  }
}

function owner(name: string): string {
  return `auth: option "oauth.providers.${name}"`;
}

function wrong(name: string, option: string, expected: string, received: unknown): Error {
  return wrongOption('auth: option "oauth"', `providers.${name}.${option}`, expected, received);
}
