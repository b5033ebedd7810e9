import type { FastifyInstance } from 'fastify';
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { Test } from 'tap';
import { openSqlite } from '../../../core/test/support/databases.ts';
import { openBrowser, openPage } from './browser.ts';
import { ENTITIES, startLibrary } from './library.ts';
import { ADMIN, fillLibrary } from './shelves.ts';

/** A library with ten thousand authors, and a browser that visits it. */
export async function openLibrary(t: Test) {
  /** Refuses the requests of the page while a test wants it. */
  const disturbance = { status: 0 };
  const orm = await openSqlite(t, { entities: ENTITIES });
  const app = await startLibrary(t, orm, { within: (scope) => disturb(scope, disturbance) });
  const base = await app.listen();
  await fillLibrary(orm, 10_000);
  const browser = await openBrowser(t);
  return {
    app,
    base,
    disturbance,
    visit: async (path: string, options: BrowserContextOptions = {}): Promise<Page> => {
      const page = await openPage(t, browser, { ...options, baseURL: base });
      await page.goto(path);
      return page;
    },
    logIn,
    isAt,
  };
}

function disturb(app: FastifyInstance, disturbance: { readonly status: number }): void {
  app.addHook('onRequest', async (request, reply) => {
    if (!request.url.startsWith('/api/')) return;
    if (disturbance.status > 0) await reply.code(disturbance.status).send({ error: 'On purpose', code: 'test' });
  });
}

async function logIn(page: Page, { email, password } = ADMIN): Promise<void> {
  await page.getByRole('button', { name: 'Log in' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Email').fill(email);
  await dialog.getByLabel('Password').fill(password);
  await dialog.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('banner').getByText(email).waitFor();
}

/** Waits until the page has a path with a query. */
function isAt(page: Page, path: string): Promise<void> {
  return page.waitForURL((url) => url.pathname + url.search === path);
}
