import type * as Client from 'openid-client';
import type { ResolvedProvider } from './oauth-options.ts';
import type { OAuthFlow, OAuthProfile, OAuthProtocol } from './oauth-profile.ts';
import { authorizationParameters, configurationOf, type OpenidClient } from './openid-protocol.ts';

interface GithubUser {
  readonly id: number;
  readonly login: string;
  readonly name?: string | null;
}

interface GithubEmail {
  readonly email: string;
  readonly primary: boolean;
  readonly verified: boolean;
}

/** GitHub, and GitHub Enterprise Server by its own address: OAuth 2 with PKCE, without OpenID Connect. */
export class GithubProtocol implements OAuthProtocol {
  readonly #client: OpenidClient;
  readonly #provider: ResolvedProvider;
  readonly #metadata: Client.ServerMetadata;
  readonly #api: string;

  constructor(client: OpenidClient, provider: ResolvedProvider) {
    const { origin } = new URL(provider.issuer);
    this.#client = client;
    this.#provider = provider;
    this.#metadata = {
      issuer: origin,
      authorization_endpoint: `${origin}/login/oauth/authorize`,
      token_endpoint: `${origin}/login/oauth/access_token`,
    };
    this.#api = origin === 'https://github.com' ? 'https://api.github.com' : `${origin}/api/v3`;
  }

  async authorizationUrl(flow: OAuthFlow): Promise<URL> {
    const challenge = await this.#client.calculatePKCECodeChallenge(flow.verifier);
    return this.#client.buildAuthorizationUrl(
      this.#configuration(),
      authorizationParameters(this.#provider, flow, challenge),
    );
  }

  async profile(flow: OAuthFlow, url: URL): Promise<OAuthProfile> {
    const configuration = this.#configuration();
    const checks = { pkceCodeVerifier: flow.verifier, expectedState: flow.state };
    const { access_token: token } = await this.#client.authorizationCodeGrant(configuration, url, checks);
    const { id, login, name } = (await this.#get(configuration, token, '/user')) as GithubUser;
    if (!Number.isSafeInteger(id)) throw new TypeError('GitHub names no user');
    const emails = (await this.#get(configuration, token, '/user/emails')) as readonly GithubEmail[];
    const verified = emails.find((each) => each.primary && (each.verified as unknown) === true);
    return { subject: String(id), verifiedEmail: verified?.email, name: name ?? login };
  }

  #configuration(): Client.Configuration {
    return configurationOf(this.#client, this.#metadata, this.#provider);
  }

  async #get(configuration: Client.Configuration, token: string, path: string): Promise<unknown> {
    const headers = new Headers({ accept: 'application/vnd.github+json', 'user-agent': 'viewset' });
    const url = new URL(this.#api + path);
    const answer = await this.#client.fetchProtectedResource(configuration, token, url, 'GET', undefined, headers);
    if (!answer.ok) throw new TypeError(`GitHub answered ${answer.status} for ${path}`);
    return answer.json();
  }
}
