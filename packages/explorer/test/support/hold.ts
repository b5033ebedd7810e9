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
