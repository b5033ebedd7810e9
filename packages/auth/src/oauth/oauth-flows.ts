import { hash, randomBytes } from 'node:crypto';
import { type Store, Unauthorized } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Cookie, cookiesNamed, setCookie } from '../browsers/cookies.ts';
import { publicPath } from '../browsers/forwarded-prefix.ts';
import type { OAuthFlow } from './oauth-profile.ts';
import type { SecretBox } from '../secrets/secret-box.ts';

/** How long a user may take at the service. */
const LIFETIME_SECONDS = 600;
const CLOCK_MS = 60_000;
const SUBJECT = 'oauth flow';
/** Each flow has a cookie of its own, so that several tabs can log in at once. */
const COOKIE_PREFIX = 'oauth_state_';
/** How many flows of one browser may run, so that its cookies fit into the headers. */
const MAX_FLOWS = 4;

/**
 * Logins with other services that have begun. A flow is stored encrypted in a cookie, so that only the browser that
 * began it can end it. The store ensures that it ends only once. It only gets flows that end, so that nobody fills it by
 * beginning many.
 */
export class OAuthFlows {
  readonly #store: Store;
  readonly #box: SecretBox;
  readonly #path: string;

  /** @param path the path of the routes, to which the cookies are sent */
  constructor(store: Store, box: SecretBox, path: string) {
    this.#store = store;
    this.#box = box;
    this.#path = path;
  }

  begin(
    request: FastifyRequest,
    reply: FastifyReply,
    begun: Pick<OAuthFlow, 'provider' | 'redirectUri' | 'postsForm' | 'returnTo' | 'link'>,
  ): OAuthFlow {
    const [state, nonce, verifier] = [randomText(), randomText(), randomText()];
    const expiresAt = Date.now() + LIFETIME_SECONDS * 1000;
    const flow = { ...begun, state, nonce, verifier, expiresAt };
    this.#makeRoom(request, reply);
    const sealed = this.#box.seal(JSON.stringify(flow), SUBJECT);
    setCookie(request, reply, this.#cookie(request, nameOf(state), flow), sealed, LIFETIME_SECONDS);
    return flow;
  }

  /** Returns the flow of a callback, also if it has ended; undefined if this browser has not begun it. */
  find(request: FastifyRequest, provider: string, parameters: URLSearchParams): OAuthFlow | undefined {
    const [state, ...others] = parameters.getAll('state');
    if (state === undefined || others.length > 0) return undefined;
    return cookiesNamed(request, COOKIE_PREFIX)
      .filter(({ name }) => name === nameOf(state))
      .map(({ value }) => this.#read(value))
      .find((flow) => flow?.provider === provider && flow.state === state);
  }

  /** Ends a flow. Throws Unauthorized if there is none, it is late, or it has ended before. */
  async end(request: FastifyRequest, reply: FastifyReply, flow: OAuthFlow | undefined): Promise<OAuthFlow> {
    const leftMs = (flow?.expiresAt ?? 0) - Date.now();
    if (flow === undefined || leftMs <= 0) throw isOver();
    // Kept somewhat longer than the flow, because the clocks of processes differ.
    const isFirst = await this.#store.put(keyOf(flow), 'ended', leftMs + CLOCK_MS, { onlyIfAbsent: true });
    if ((isFirst as unknown) !== true) throw isOver();
    // With a page to return to, the cookie stays: a reload of the callback goes back to the page.
    if (flow.returnTo === undefined) setCookie(request, reply, this.#cookie(request, nameOf(flow.state), flow), '', 0);
    return flow;
  }

  /** Removes the oldest flows of the browser if it has too many. */
  #makeRoom(request: FastifyRequest, reply: FastifyReply): void {
    const begun = cookiesNamed(request, COOKIE_PREFIX)
      .map(({ name, value }) => ({ name, flow: this.#read(value) }))
      .toSorted((one, other) => (other.flow?.expiresAt ?? 0) - (one.flow?.expiresAt ?? 0));
    for (const { name, flow } of begun.slice(MAX_FLOWS - 1)) {
      setCookie(request, reply, this.#cookie(request, name, flow), '', 0);
    }
  }

  #cookie(request: FastifyRequest, name: string, flow: OAuthFlow | undefined): Cookie {
    // The callback is a navigation from another site: browsers send lax cookies with a GET, and only `None` with a POST.
    return { name, path: publicPath(request, this.#path), sameSite: flow?.postsForm === true ? 'None' : 'Lax' };
  }

  #read(sealed: string): OAuthFlow | undefined {
    const text = this.#box.open(sealed, SUBJECT);
    return text === undefined ? undefined : (JSON.parse(text) as OAuthFlow);
  }
}

function nameOf(state: string): string {
  return COOKIE_PREFIX + state.slice(0, 8);
}

function keyOf({ state }: OAuthFlow): string {
  // The state has 256 random bits, so that its hash needs no key.
  return `auth:oauth:${hash('sha256', state, 'base64url')}`;
}

function randomText(): string {
  return randomBytes(32).toString('base64url');
}

function isOver(): Unauthorized {
  return new Unauthorized('The login has ended or was begun in another browser; begin it again', {
    event: 'auth.oauth_failed',
  });
}
