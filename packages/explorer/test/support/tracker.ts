import type { MikroORM } from '@mikro-orm/core';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { Test } from 'tap';
import { openSqlite } from '../../../core/test/support/databases.ts';
import { buildApp } from '../../../../examples/tracker/src/app.ts';
import { ENTITIES } from '../../../../examples/tracker/src/entities.ts';
import { PASSWORD, seed } from '../../../../examples/tracker/src/seed.ts';
import { openBrowser, openPage } from './browser.ts';

export { PASSWORD } from '../../../../examples/tracker/src/seed.ts';

export type Person = 'ada' | 'ben' | 'chiara' | 'dov';

export interface VisitedTracker {
  readonly orm: MikroORM;
  readonly app: FastifyInstance;
  readonly base: string;
  /** Reads a URL of the API as somebody. */
  readonly read: (person: Person, url: string) => Promise<unknown>;
  /** Sends a request as somebody, and returns the status of the answer. */
  readonly send: (
    person: Person,
    method: 'POST' | 'PATCH' | 'DELETE',
    url: string,
    payload?: object,
  ) => Promise<number>;
  /** Opens a page of somebody who is logged in, or of nobody. */
  readonly visit: (person: Person | undefined, path: string, options?: BrowserContextOptions) => Promise<Page>;
}

/** Loads a page again that cannot follow its list, so that the list gets older than its records. */
export async function reloadWithoutStreams(page: Page): Promise<void> {
  await page.route('**/*', (route) =>
    route.request().headers()['accept'] === 'text/event-stream' ? route.abort() : route.fallback(),
  );
  await page.reload();
}

/** The tracker with its seed, and a browser that visits it. */
export async function openTracker(t: Test): Promise<VisitedTracker> {
  const uploads = mkdtempSync(join(tmpdir(), 'tracker-'));
  t.teardown(() => rmSync(uploads, { recursive: true, force: true }));
  const orm = await openSqlite(t, { entities: ENTITIES });
  await seed(orm, { bcryptRounds: 4 });
  const app = await buildApp({
    orm,
    uploads,
    secret: 'a secret of 32 bytes for the tests',
    bcryptRounds: 4,
    loginsPerMinute: 1_000,
  });
  t.teardown(() => app.close());
  const base = await app.listen();
  const browser = await openBrowser(t);
  const tokenOf = async (person: Person): Promise<string> => {
    const payload = { email: `${person}@example.com`, password: PASSWORD };
    const answer = await app.inject({ method: 'POST', url: '/api/auth/login', payload });
    return answer.json<{ access_token: string }>().access_token;
  };
  return {
    orm,
    app,
    base,
    read: async (person, url) =>
      (await app.inject({ url, headers: { authorization: `Bearer ${await tokenOf(person)}` } })).json(),
    send: async (person, method, url, payload) => {
      const headers = { authorization: `Bearer ${await tokenOf(person)}` };
      return (await app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) })).statusCode;
    },
    visit: async (person, path, options = {}) => {
      const page = await openPage(t, browser, { ...options, baseURL: base });
      if (person !== undefined) {
        await page.goto('/api');
        const kept = await tokenOf(person);
        await page.evaluate((token) => sessionStorage.setItem('viewset.explorer.token', token), kept);
      }
      await page.goto(path);
      return page;
    },
  };
}
