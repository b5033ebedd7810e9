import { hash, randomBytes } from 'node:crypto';
import { type Store, Unauthorized } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Cookie, readCookies, setCookie } from '../browsers/cookies.ts';
import type { OAuthFlow } from './oauth-profile.ts';
import type { SecretBox } from '../secrets/secret-box.ts';

/** How long a user may take at the service. */
const LIFETIME_SECONDS = 600;
const SUBJECT = 'oauth flow';

/**
 * Logins with other services that have begun. A flow is stored encrypted in a cookie, so that only the browser that
 * began it can end it. The store ensures that it ends only once.
 */
export class OAuthFlows {
  readonly #store: Store;
  readonly #box: SecretBox;
  readonly #cookie: Cookie;

  /** @param path the path of the routes, to which the cookie is sent */
  constructor(store: Store, box: SecretBox, path: string) {
    this.#store = store;
    this.#box = box;
    // The callback is a navigation from another site, with which browsers do not send strict cookies.
    this.#cookie = { name: 'oauth_state', path, sameSite: 'Lax' };
  }

  async begin(
    request: FastifyRequest,
    reply: FastifyReply,
    { provider, redirectUri, returnTo }: Pick<OAuthFlow, 'provider' | 'redirectUri' | 'returnTo'>,
  ): Promise<OAuthFlow> {
    const [state, nonce, verifier] = [randomText(), randomText(), randomText()];
    const expiresAt = Date.now() + LIFETIME_SECONDS * 1000;
    const flow = { provider, state, nonce, verifier, redirectUri, returnTo, expiresAt };
    await this.#store.put(this.#keyOf(flow), provider, LIFETIME_SECONDS * 1000);
    setCookie(request, reply, this.#cookie, this.#box.seal(JSON.stringify(flow), SUBJECT), LIFETIME_SECONDS);
    return flow;
  }

  /**
   * Ends the flow of a callback. Throws Unauthorized if the callback belongs to another browser, flow or provider, is
   * late, or comes again.
   */
  async end(request: FastifyRequest, reply: FastifyReply, provider: string): Promise<OAuthFlow> {
    const { state } = request.query as { readonly state?: unknown };
    const flow = readCookies(request, this.#cookie.name)
      .map((sealed) => this.#read(sealed))
      .find((each) => each?.provider === provider && each.state === state);
    const isTimely = flow !== undefined && flow.expiresAt > Date.now();
    if (!isTimely || (await this.#store.take(this.#keyOf(flow), provider, 1)).outcome !== 'matched') throw isOver();
    setCookie(request, reply, this.#cookie, '', 0);
    return flow;
  }

  #read(sealed: string): OAuthFlow | undefined {
    const text = this.#box.open(sealed, SUBJECT);
    return text === undefined ? undefined : (JSON.parse(text) as OAuthFlow);
  }

  #keyOf({ state }: OAuthFlow): string {
    // The state has 256 random bits, so that its hash needs no key.
    return `auth:oauth:${hash('sha256', state, 'base64url')}`;
  }
}

function randomText(): string {
  return randomBytes(32).toString('base64url');
}

function isOver(): Unauthorized {
  return new Unauthorized('The login has ended or was begun in another browser; begin it again', {
    event: 'auth.oauth_failed',
  });
}
