import { ImproperlyConfigured } from '@viewset/core';
import type * as Client from 'openid-client';
import { appleSecret } from './apple-secret.ts';
import { extensionsFor, type OpenidClient, TIMEOUT_SECONDS } from './client-requests.ts';
import type { ResolvedOpenidProvider } from './provider-options.ts';
import { isUnreachable } from './service-errors.ts';

/** Metadata is read again after this time. */
const METADATA_LIFETIME_MS = 3_600_000;
const METADATA_PATH = '/.well-known/openid-configuration';

/**
 * Makes the configuration of one exchange by discovery. The configuration is the library's, because it has special cases
 * for services such as Microsoft, which its metadata does not show. The metadata is kept, but not the keys: a service may
 * change them at any time.
 */
export class OpenidDiscovery {
  readonly #client: OpenidClient;
  readonly #provider: ResolvedOpenidProvider;
  #metadata: { readonly found: ReturnType<typeof readMetadata>; readonly until: number } | undefined;

  constructor(client: OpenidClient, provider: ResolvedOpenidProvider) {
    this.#client = client;
    this.#provider = provider;
  }

  /** Throws ImproperlyConfigured if the issuer has no metadata, or another issuer's. A failure is tried again. */
  async configuration(): Promise<Client.Configuration> {
    const { issuer, clientId } = this.#provider;
    const execute = [...extensionsFor(this.#client, issuer), this.#client.enableNonRepudiationChecks];
    const options = { timeout: TIMEOUT_SECONDS, execute, [this.#client.customFetch]: this.#fetch };
    try {
      return await this.#client.discovery(new URL(issuer), clientId, undefined, this.#authentication(), options);
    } catch (error) {
      this.#metadata = undefined;
      // A page instead of JSON is what most servers have at the address of a wrong issuer.
      if (isUnreachable(error) && (error as { code?: unknown }).code !== 'OAUTH_RESPONSE_IS_NOT_JSON') throw error;
      throw this.#wrongIssuer(error);
    }
  }

  /** Keeps the response with the metadata. Every other request is sent. */
  readonly #fetch: Client.CustomFetch = async (url, options) => {
    if (!url.endsWith(METADATA_PATH)) return fetch(url, options as RequestInit);
    const now = Date.now();
    if (this.#metadata === undefined || this.#metadata.until <= now) {
      this.#metadata = { found: readMetadata(url, options), until: now + METADATA_LIFETIME_MS };
    }
    const { body, ...answer } = await this.#metadata.found;
    return new Response(body, answer);
  };

  #authentication(): Client.ClientAuth {
    const { clientId, clientSecret, issuer, kind } = this.#provider;
    const secret = typeof clientSecret === 'string' ? clientSecret : appleSecret(clientSecret, clientId, issuer);
    const post = this.#client.ClientSecretPost(secret);
    const basic = this.#client.ClientSecretBasic(secret);
    if (kind === 'apple' || kind === 'linkedin') return post;
    return (metadata, ...request) => {
      const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
      return (methods.includes('client_secret_basic') ? basic : post)(metadata, ...request);
    };
  }

  #wrongIssuer(error: unknown): ImproperlyConfigured {
    const { name, issuer } = this.#provider;
    const { cause, message } = error as Error;
    const found = (cause as { readonly body?: { readonly issuer?: unknown } } | undefined)?.body?.issuer;
    const status = cause instanceof Response ? `a response with ${cause.status}` : message;
    const received = typeof found === 'string' ? `the metadata of the issuer "${found}"` : status;
    return new ImproperlyConfigured(
      `auth: option "oauth": option "providers.${name}.issuer" must be the issuer of an OpenID provider, got ${received} for "${issuer}"`,
      { cause: error },
    );
  }
}

async function readMetadata(url: string, options: Client.CustomFetchOptions) {
  const answer = await fetch(url, options as RequestInit);
  const headers = { 'content-type': answer.headers.get('content-type') ?? '' };
  return { body: (await answer.text()) || null, status: answer.status, headers };
}
