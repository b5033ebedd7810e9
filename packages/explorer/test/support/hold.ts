import type { Page, Request } from 'playwright-core';

/** Answers of the API that are on their way until somebody lets them through. */
export interface Held {
  /** Waits until the page has sent one of the requests. */
  readonly asked: Promise<void>;
  /** Lets all of them through, and every later one. */
  readonly release: () => Promise<void>;
}

/** Holds back the answers to the requests of a page that fit, so that whatever is to happen before them does. */
export async function hold(page: Page, fits: (request: Request) => boolean): Promise<Held> {
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  await page.route('**/*', async (route) => {
    if (!fits(route.request())) return route.fallback();
    asked.resolve();
    await released.promise;
    // The page may have given the request up meanwhile.
    await route.fallback().catch(() => {});
  });
  return {
    asked: asked.promise,
    release: async () => {
      released.resolve();
      await page.waitForLoadState();
    },
  };
}

/**
 * Presses a button that saves a record, and waits until the page has read the record again: what somebody else does next comes
 * after that.
 */
export async function save(page: Page, button: string): Promise<void> {
  const path = new URL(page.url()).pathname;
  const isReading = (request: Request): boolean =>
    request.method() === 'GET' && request.resourceType() === 'fetch' && new URL(request.url()).pathname === path;
  const again = page.waitForResponse((response) => isReading(response.request()));
  await page.getByRole('button', { name: button }).click();
  await page.getByText('Saved.').waitFor();
  await (await again).finished();
}

/** Has the API take the token of a page for one that has ended, until the page logs in again. */
export async function endLogin(page: Page): Promise<void> {
  let hasEnded = true;
  await page.route('**/api/**', (route) => {
    if (new URL(route.request().url()).pathname.endsWith('/login')) hasEnded = false;
    if (!hasEnded || route.request().headers()['authorization'] === undefined) return route.fallback();
    const headers = { 'www-authenticate': 'Bearer error="invalid_token"' };
    return route.fulfill({ status: 401, headers, json: { error: 'The token has expired', code: 'unauthorized' } });
  });
}

/** Has the API give out tokens that say nothing of whose they are, and take them. */
export async function hideClaims(page: Page): Promise<void> {
  const tokens = new Map<string, string>();
  await page.route('**/api/**', async (route) => {
    if (!new URL(route.request().url()).pathname.endsWith('/login')) {
      const { authorization, ...headers } = route.request().headers();
      const token = tokens.get(authorization?.slice('Bearer '.length) ?? '');
      return route.fallback(token === undefined ? {} : { headers: { ...headers, authorization: `Bearer ${token}` } });
    }
    const response = await route.fetch();
    const { access_token: token } = (await response.json()) as { access_token: string };
    const opaque = `opaque-${tokens.size}`;
    tokens.set(opaque, token);
    return route.fulfill({ response, json: { access_token: opaque } });
  });
}
