import type { OAuthProfile } from './oauth-profile.ts';

/** A service's API, for the function `profile` of an `OAuth2Provider`. */
export interface OAuth2Api {
  /** The access token of the user. */
  readonly accessToken: string;
  /**
   * Sends a GET with the access token, and returns the JSON of the response. Throws after five seconds, and for every
   * status but 2xx. The login then fails.
   */
  readonly get: (url: string, headers?: Readonly<Record<string, string>>) => Promise<unknown>;
}

/** A service that speaks OAuth 2.0 without OpenID Connect, such as Discord, Facebook and X. */
export interface OAuth2Provider {
  readonly kind: 'oauth2';
  /** The address of the service's page. */
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string;
  /**
   * Reads the user from the service's API. Return `verifiedEmail` only if the service documents that it has verified the
   * address: it decides whose account the user gets.
   *
   * @example
   * const profile: OAuth2Provider['profile'] = async ({ get }) => {
   *   const user = await get('https://discord.com/api/users/@me');
   *   const { id, email, verified } = user as { id: string; email?: string; verified?: boolean };
   *   return { subject: id, verifiedEmail: verified === true ? email : undefined };
   * };
   */
  readonly profile: (api: OAuth2Api) => Promise<OAuthProfile> | OAuthProfile;
  /** How the secret is sent to the token endpoint. Default: `client_secret_basic` (RFC 6749, section 2.3.1). */
  readonly tokenEndpointAuthMethod?: 'client_secret_basic' | 'client_secret_post';
  /** The `iss` that the service sends with a callback (RFC 9207). Default: the origin of `authorizationEndpoint`. */
  readonly issuer?: string;
  /**
   * True: logs in without PKCE, for a service that does not support it. A stolen authorization code is then protected by
   * `state` and the secret alone. Default: false.
   */
  readonly skipPkce?: boolean;
}
