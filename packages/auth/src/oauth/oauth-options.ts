import { checkOptionNames, isOrigin, wrongOption } from '@viewset/core';
import type { IdentitySchema } from './identity-contract.ts';
import type { OAuth2Provider } from './oauth2-provider.ts';
import { type OAuthProvider, type ResolvedProvider, resolveProvider } from './provider-options.ts';

/** The option `oauth`: logins with other services. */
export interface OAuthOptions {
  /** The entity that links accounts to their logins with other services; see IdentityFields for what it needs. */
  readonly identity: IdentitySchema;
  /** The services by name. The name is part of their paths: `google` has `/oauth/google`. */
  readonly providers: Readonly<Record<string, OAuthProvider | OAuth2Provider>>;
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

export interface ResolvedOAuthOptions {
  readonly identity: IdentitySchema;
  readonly providers: readonly ResolvedProvider[];
  readonly origin: string | undefined;
  readonly register: boolean;
}

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

function wrong(name: string, expected: string, received: unknown): Error {
  return wrongOption('auth: option "oauth"', name, expected, received);
}
