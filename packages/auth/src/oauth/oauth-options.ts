import { checkOptionNames, wrongOption } from '@viewset/core';
import { type IdentitySchema, MAX_PROVIDER_LENGTH } from './identity-contract.ts';
import { isOrigin } from '../browsers/own-origin.ts';

/** A service that users can log in with. */
export interface OAuthProvider {
  /** The issuer of OpenID Connect, whose metadata is found by discovery. For GitHub, `https://github.com`. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The protocol. Default: `github` for the issuer `https://github.com`, else `openid`. */
  readonly kind?: 'openid' | 'github';
  /** Default: `openid email profile`; for GitHub `read:user user:email`. */
  readonly scope?: string;
}

/** The option `oauth`: logins with other services. */
export interface OAuthOptions {
  /** The entity that links accounts to their logins with other services; see IdentityFields for what it needs. */
  readonly identity: IdentitySchema;
  /** The services by name. The name is part of their paths: `google` has `/oauth/google`. */
  readonly providers: Readonly<Record<string, OAuthProvider>>;
  /**
   * The origin that browsers see, such as `https://shop.example.com`, if the server cannot know it. Default: the
   * request's origin.
   */
  readonly origin?: string;
  /**
   * True: creates an account for a verified address without one. Default: true, unless `registrationFields` is given.
   */
  readonly register?: boolean;
}

export interface ResolvedProvider extends Required<OAuthProvider> {
  readonly name: string;
}

export interface ResolvedOAuthOptions {
  readonly identity: IdentitySchema;
  readonly providers: readonly ResolvedProvider[];
  readonly origin: string | undefined;
  readonly register: boolean;
}

const GITHUB = 'https://github.com';
const SCOPES = { openid: 'openid email profile', github: 'read:user user:email' } as const;

/** Throws ImproperlyConfigured with the option, the expected value and the given one. */
export function resolveOAuthOptions(options: OAuthOptions, registers: boolean): ResolvedOAuthOptions {
  checkOptionNames('auth: option "oauth"', options, ['identity', 'providers', 'origin', 'register']);
  const { identity, providers, origin, register = registers } = options;
  if (identity === undefined || identity === null) throw wrong('identity', 'the entity of identities', identity);
  if (typeof providers !== 'object' || providers === null) throw wrong('providers', 'an object by name', providers);
  if (origin !== undefined && !(typeof origin === 'string' && isOrigin(origin))) {
    throw wrong('origin', 'an origin, such as "https://shop.example.com"', origin);
  }
  if (typeof register !== 'boolean') throw wrong('register', 'true or false', register);
  return {
    identity,
    providers: Object.entries(providers).map(([name, provider]) => resolveProvider(name, provider)),
    origin,
    register,
  };
}

function resolveProvider(name: string, provider: OAuthProvider): ResolvedProvider {
  const who = `providers.${name}`;
  // `links` is the path of another route.
  if (!/^[a-z0-9-]+$/.test(name) || name.length > MAX_PROVIDER_LENGTH || name === 'links') {
    const expected = `names of lower-case letters, digits and dashes, at most ${MAX_PROVIDER_LENGTH}, and not "links"`;
    throw wrong('providers', expected, name);
  }
  const names = ['issuer', 'clientId', 'clientSecret', 'kind', 'scope'] as const;
  checkOptionNames(`auth: option "oauth.${who}"`, provider, names);
  for (const key of ['issuer', 'clientId', 'clientSecret'] as const) {
    // The value may be a secret, so the error only shows its type.
    if (typeof provider[key] !== 'string' || provider[key] === '') {
      throw wrong(`${who}.${key}`, 'a text', typeof provider[key]);
    }
  }
  const { issuer, clientId, clientSecret } = provider;
  if (!isIssuer(issuer)) throw wrong(`${who}.issuer`, 'an https: URL (http: on this machine alone)', issuer);
  const { kind = isGithub(issuer) ? 'github' : 'openid' } = provider;
  if (!Object.hasOwn(SCOPES, kind)) throw wrong(`${who}.kind`, 'openid or github', kind);
  return { name, issuer, clientId, clientSecret, kind, scope: provider.scope ?? SCOPES[kind] };
}

function isGithub(issuer: string): boolean {
  return new URL(issuer).origin === GITHUB;
}

function isIssuer(issuer: string): boolean {
  return URL.canParse(issuer) && (new URL(issuer).protocol === 'https:' || isInsecure(issuer));
}

/** True for plain HTTP on this machine, for tests and development. */
export function isInsecure(issuer: string): boolean {
  const { protocol, hostname } = new URL(issuer);
  return protocol === 'http:' && /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

function wrong(name: string, expected: string, came: unknown): Error {
  return wrongOption('auth: option "oauth"', name, expected, came);
}
