import type * as Client from 'openid-client';
import { authorizationParameters, grantChecks, type OpenidClient } from './client-requests.ts';
import type { OAuthFlow, OAuthProfile, OAuthProtocol } from './oauth-profile.ts';
import { OpenidDiscovery } from './openid-discovery.ts';
import type { ResolvedOpenidProvider } from './provider-options.ts';
import { verifiedEmail } from './verified-email.ts';

type Claims = Readonly<Record<string, unknown>>;

/**
 * OpenID Connect: the authorization code flow with discovery, state, PKCE and nonce. The signature of every ID token is
 * verified.
 */
export class OpenidProtocol implements OAuthProtocol {
  readonly postsForm: boolean;
  readonly #client: OpenidClient;
  readonly #provider: ResolvedOpenidProvider;
  readonly #discovery: OpenidDiscovery;

  constructor(client: OpenidClient, provider: ResolvedOpenidProvider) {
    // Apple refuses another response mode if the scope has a name or an address.
    this.postsForm = provider.kind === 'apple';
    this.#client = client;
    this.#provider = provider;
    this.#discovery = new OpenidDiscovery(client, provider);
  }

  async authorizationUrl(flow: OAuthFlow): Promise<URL> {
    const configuration = await this.#discovery.configuration();
    return this.#client.buildAuthorizationUrl(configuration, {
      ...(await authorizationParameters(this.#client, this.#provider, flow)),
      ...(this.#provider.skipNonce ? {} : { nonce: flow.nonce }),
      ...(this.postsForm ? { response_mode: 'form_post' } : {}),
    });
  }

  async profile(flow: OAuthFlow, url: URL): Promise<OAuthProfile> {
    const configuration = await this.#discovery.configuration();
    const tokens = await this.#client.authorizationCodeGrant(configuration, url, {
      ...grantChecks(this.#provider, flow),
      ...(this.#provider.skipNonce ? {} : { expectedNonce: flow.nonce }),
      idTokenExpected: true,
    });
    const claims = tokens.claims()!;
    this.#requireTenant(claims);
    const more = await this.#userInfo(configuration, tokens.access_token, claims);
    const name = claims['name'] ?? more?.['name'] ?? (this.#provider.kind === 'apple' ? appleName(url) : undefined);
    return {
      subject: claims.sub,
      // An address and what is said of it come from the same place.
      verifiedEmail: verifiedEmail(this.#provider, more ?? claims),
      name: typeof name === 'string' ? name : undefined,
    };
  }

  /** Asks for the user, if the ID token has no address. */
  async #userInfo(
    configuration: Client.Configuration,
    token: string,
    claims: Client.IDToken,
  ): Promise<Claims | undefined> {
    // Microsoft's has no `xms_edov`, so that its address proves nothing.
    if (claims['email'] !== undefined || this.#provider.kind === 'microsoft') return undefined;
    if (configuration.serverMetadata().userinfo_endpoint === undefined) return undefined;
    return this.#client.fetchUserInfo(configuration, token, claims.sub);
  }

  #requireTenant({ tid }: Claims): void {
    const { tenants } = this.#provider;
    if (tenants === undefined || (typeof tid === 'string' && tenants.includes(tid.toLowerCase()))) return;
    throw new TypeError(`option "tenants" does not have the tenant ${JSON.stringify(tid)}`);
  }
}

/** Apple sends the name only with the first callback of a user, and nothing signs it. */
function appleName(url: URL): string | undefined {
  try {
    const user: unknown = JSON.parse(url.searchParams.get('user') ?? 'null');
    const { firstName, lastName } = (user as { name?: Readonly<Record<string, unknown>> } | null)?.name ?? {};
    return [firstName, lastName].filter((part) => typeof part === 'string' && part !== '').join(' ') || undefined;
  } catch {
    return undefined;
  }
}
