import type * as Client from 'openid-client';
import { isInsecure, type ResolvedProvider } from './oauth-options.ts';
import type { OAuthFlow, OAuthProfile, OAuthProtocol } from './oauth-profile.ts';

export type OpenidClient = typeof Client;

const TIMEOUT_SECONDS = 5;
/** Metadata is read again after this time. */
const METADATA_LIFETIME_MS = 3_600_000;

/**
 * Makes the configuration of one exchange. Keys are read again for each, because a service may change them at any time.
 */
export function configurationOf(
  client: OpenidClient,
  metadata: Client.ServerMetadata,
  { issuer, clientId, clientSecret, kind }: ResolvedProvider,
): Client.Configuration {
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const usesBasic = kind === 'openid' && methods.includes('client_secret_basic');
  const authentication = usesBasic ? client.ClientSecretBasic(clientSecret) : client.ClientSecretPost(clientSecret);
  const configuration = new client.Configuration(metadata, clientId, undefined, authentication);
  configuration.timeout = TIMEOUT_SECONDS;
  if (isInsecure(issuer)) insecurely(client)(configuration);
  return configuration;
}

/** Allows plain HTTP with this machine. */
function insecurely(client: OpenidClient): (configuration: Client.Configuration) => void {
  // It is marked as deprecated to warn of its use with other machines.
  // oxlint-disable-next-line typescript/no-deprecated
  return client.allowInsecureRequests;
}

export function authorizationParameters({ scope }: ResolvedProvider, flow: OAuthFlow, challenge: string) {
  return {
    scope,
    redirect_uri: flow.redirectUri,
    state: flow.state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  };
}

/** OpenID Connect: the authorization code flow with discovery, PKCE, state and nonce. The signature of every ID token is verified. */
export class OpenidProtocol implements OAuthProtocol {
  readonly #client: OpenidClient;
  readonly #provider: ResolvedProvider;
  #metadata: { readonly found: Promise<Client.ServerMetadata>; readonly until: number } | undefined;

  constructor(client: OpenidClient, provider: ResolvedProvider) {
    this.#client = client;
    this.#provider = provider;
  }

  async authorizationUrl(flow: OAuthFlow): Promise<URL> {
    const configuration = await this.#configuration();
    const challenge = await this.#client.calculatePKCECodeChallenge(flow.verifier);
    const parameters = { ...authorizationParameters(this.#provider, flow, challenge), nonce: flow.nonce };
    return this.#client.buildAuthorizationUrl(configuration, parameters);
  }

  async profile(flow: OAuthFlow, url: URL): Promise<OAuthProfile> {
    const configuration = await this.#configuration();
    this.#client.enableNonRepudiationChecks(configuration);
    const tokens = await this.#client.authorizationCodeGrant(configuration, url, {
      pkceCodeVerifier: flow.verifier,
      expectedState: flow.state,
      expectedNonce: flow.nonce,
      idTokenExpected: true,
    });
    const claims = tokens.claims()!;
    const asksUserInfo =
      claims['email'] === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined;
    const more = asksUserInfo
      ? await this.#client.fetchUserInfo(configuration, tokens.access_token, claims.sub)
      : undefined;
    return profileOf(claims.sub, { ...more, ...claims });
  }

  async #configuration(): Promise<Client.Configuration> {
    return configurationOf(this.#client, await this.#discovered(), this.#provider);
  }

  /** A discovery that failed is tried again by the next login. */
  async #discovered(): Promise<Client.ServerMetadata> {
    const now = Date.now();
    if (this.#metadata === undefined || this.#metadata.until <= now) {
      this.#metadata = { found: this.#discover(), until: now + METADATA_LIFETIME_MS };
    }
    try {
      return await this.#metadata.found;
    } catch (error) {
      this.#metadata = undefined;
      throw error;
    }
  }

  async #discover(): Promise<Client.ServerMetadata> {
    const { issuer, clientId } = this.#provider;
    const execute = isInsecure(issuer) ? [insecurely(this.#client)] : [];
    const options = { timeout: TIMEOUT_SECONDS, execute };
    const found = await this.#client.discovery(new URL(issuer), clientId, undefined, undefined, options);
    return found.serverMetadata();
  }
}

/** An address is verified only if the claim is exactly true. */
function profileOf(subject: string, claims: Readonly<Record<string, unknown>>): OAuthProfile {
  const { email, email_verified, name } = claims;
  return {
    subject,
    verifiedEmail: email_verified === true && typeof email === 'string' ? email : undefined,
    name: typeof name === 'string' ? name : undefined,
  };
}
