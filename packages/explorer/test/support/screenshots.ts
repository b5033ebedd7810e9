/** Takes the pictures of `docs/explorer`: the main pages of the tracker, wide and narrow, light and dark. Needs Chromium, as the tests do. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MikroORM } from '@mikro-orm/sqlite';
import { chromium, type Page } from 'playwright-core';
import { buildApp } from '../../../../examples/tracker/src/app.ts';
import { ENTITIES } from '../../../../examples/tracker/src/entities.ts';
import { PASSWORD, seed } from '../../../../examples/tracker/src/seed.ts';
import { EXECUTABLE } from './browser.ts';

/** The quality of the pictures, in percent. */
const QUALITY = 70;

const PAGES: Readonly<Record<string, { readonly path: string; readonly prepare?: (page: Page) => Promise<void> }>> = {
  root: { path: '/api' },
  list: {
    path: '/api/projects/lighthouse/tickets?status=open&status=doing&sort=-priority,due_on',
    prepare: async (page) => {
      for (const row of [1, 2]) await page.locator('tbody tr').nth(row).getByRole('checkbox').check();
    },
  },
  record: { path: '/api/projects/lighthouse' },
  filters: {
    path: `/api/tickets?filter=${encodeURIComponent('{"or":[{"==":[{"var":"status"},"doing"]},{"<":[{"var":"due_on"},"2026-12-01"]}]}')}`,
    prepare: (page) => page.getByRole('button', { name: /^Filters/ }).click(),
  },
  palette: {
    path: '/api/labels',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Go to…' }).click();
      await page.keyboard.type('la');
      await page.getByRole('option').nth(4).waitFor();
    },
  },
};

/** Waits until everything is shown. A page that follows a list has an open request for good. */
async function settled(page: Page): Promise<void> {
  await page.locator('main h1').waitFor();
  await page.waitForTimeout(1500);
}

const folder = new URL('../../../../docs/explorer/', import.meta.url);
mkdirSync(folder, { recursive: true });
const orm = (await MikroORM.init({ dbName: ':memory:', entities: ENTITIES })) as unknown as Parameters<typeof seed>[0];
await orm.schema.create();
await seed(orm, { bcryptRounds: 4 });
const uploads = mkdtempSync(join(tmpdir(), 'tracker-'));
const app = await buildApp({ orm, uploads, secret: 'a secret of 32 bytes for pictures', bcryptRounds: 4 });
const baseURL = await app.listen();
const payload = { email: 'ada@example.com', password: PASSWORD };
const { access_token: token } = (await app.inject({ method: 'POST', url: '/api/auth/login', payload })).json<{
  access_token: string;
}>();
const browser = await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox'] });
for (const colorScheme of ['light', 'dark'] as const) {
  for (const [width, height] of [
    [1440, 900],
    [390, 844],
  ] as const) {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme, baseURL });
    const page = await context.newPage();
    const tools = await context.newCDPSession(page);
    await page.goto('/api');
    await page.evaluate((kept) => sessionStorage.setItem('viewset.explorer.token', kept), token);
    for (const [name, { path, prepare }] of Object.entries(PAGES)) {
      await page.goto('about:blank');
      await page.goto(path);
      await settled(page);
      await prepare?.(page);
      await settled(page);
      const { data } = await tools.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
      writeFileSync(new URL(`${name}-${width}-${colorScheme}.webp`, folder), Buffer.from(data, 'base64'));
    }
    await context.close();
  }
}
await browser.close();
await app.close();
await orm.close();
