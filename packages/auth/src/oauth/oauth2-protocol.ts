import type * as Client from 'openid-client';
import { authorizationParameters, grantChecks, prepare, type OpenidClient } from './client-requests.ts';
import { MAX_SUBJECT_LENGTH } from './identity-contract.ts';
import type { OAuthFlow, OAuthProfile, OAuthProtocol } from './oauth-profile.ts';
import type { OAuth2Api } from './oauth2-provider.ts';
import type { ResolvedOAuth2Provider } from './provider-options.ts';
import { ServiceResponseError } from './service-errors.ts';

/** OAuth 2.0 without OpenID Connect: a function reads the user from the service's API. */
export class OAuth2Protocol implements OAuthProtocol {
  readonly postsForm = false;
  readonly #client: OpenidClient;
  readonly #provider: ResolvedOAuth2Provider;
  readonly #configuration: Client.Configuration;

  constructor(client: OpenidClient, provider: ResolvedOAuth2Provider) {
    const { issuer, clientId, clientSecret, authorizationEndpoint, tokenEndpoint } = provider;
    const metadata = { issuer, authorization_endpoint: authorizationEndpoint, token_endpoint: tokenEndpoint };
    const isBasic = provider.tokenEndpointAuthMethod === 'client_secret_basic';
    const authentication = isBasic ? client.ClientSecretBasic(clientSecret) : client.ClientSecretPost(clientSecret);
    this.#client = client;
    this.#provider = provider;
    this.#configuration = new client.Configuration(metadata, clientId, undefined, authentication);
    prepare(client, this.#configuration, tokenEndpoint);
  }

  async authorizationUrl(flow: OAuthFlow): Promise<URL> {
    const parameters = await authorizationParameters(this.#client, this.#provider, flow);
    return this.#client.buildAuthorizationUrl(this.#configuration, parameters);
  }

  async profile(flow: OAuthFlow, url: URL): Promise<OAuthProfile> {
    const checks = grantChecks(this.#provider, flow);
    const { access_token } = await this.#client.authorizationCodeGrant(this.#configuration, url, checks);
    return checkProfile(await this.#provider.profile(this.#api(access_token)));
  }

  #api(accessToken: string): OAuth2Api {
    return {
      accessToken,
      get: async (address, headers = {}) => {
        const sent = new Headers({ accept: 'application/json', ...headers });
        const url = new URL(address);
        const request = [this.#configuration, accessToken, url, 'GET', undefined, sent] as const;
        const answer = await this.#client.fetchProtectedResource(...request);
        if (!answer.ok) throw new ServiceResponseError(`${url.origin}${url.pathname}`, answer.status);
        return answer.json();
      },
    };
  }
}

/** The function is the application's, and reads what a service sends. */
function checkProfile(profile: OAuthProfile): OAuthProfile {
  const { subject, verifiedEmail, name } = profile;
  const isId = typeof subject === 'string' && subject !== '' && subject.length <= MAX_SUBJECT_LENGTH;
  if (!isId || subject.includes('\0')) {
    throw new TypeError(`profile() must return a subject, a text of at most ${MAX_SUBJECT_LENGTH} characters`);
  }
  return {
    subject,
    verifiedEmail: typeof verifiedEmail === 'string' ? verifiedEmail : undefined,
    name: typeof name === 'string' ? name : undefined,
  };
}
