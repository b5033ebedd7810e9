import type { Fetch } from './fetch.ts';

const TIMEOUT_MS = 30_000;

/**
 * Makes the function `refresh` of a client whose refresh token is in a cookie, as `@viewset/auth` sets it. After a reload, the first
 * call of the page logs in again. If the API has another origin, give a `fetch` that includes credentials, and add the page's
 * origin to the option `origins` of the server's sessions.
 *
 * @param url the address of the route, `/api/auth/refresh`
 * @example
 * const api = createClient<Api>({ url: '/api', token: () => session.token, refresh: refreshByCookie('/api/auth/refresh') });
 */
export function refreshByCookie(url: string, options: { readonly fetch?: Fetch } = {}): () => Promise<string> {
  const { fetch = globalThis.fetch } = options;
  return async () => {
    const answer = await fetch(url, { method: 'POST', signal: AbortSignal.timeout(TIMEOUT_MS) });
    const body = answer.ok ? ((await answer.json()) as { access_token?: unknown }) : {};
    if (typeof body.access_token === 'string') return body.access_token;
    throw new Error(`POST ${url} answered ${answer.status} and no token`);
  };
}
