/** Looks at the built site in a browser, wide and on a phone, light and dark. */
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { EXECUTABLE } from '../../packages/explorer/test/support/browser.ts';
import { isWithinScreen, violationsOf } from '../../packages/explorer/test/support/look.ts';

const WIDTHS = [1440, 390] as const;
const THEMES = ['light', 'dark'] as const;

/** The places that are looked at: by their names, how to come there. */
const PLACES: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  home: (page) => page.goto('/'),
  guide: (page) => page.goto('/pagination'),
  search: async (page) => {
    await page.goto('/pagination');
    await page.getByRole('button', { name: 'Search' }).first().click();
    await page.getByRole('searchbox').fill('page size', { timeout: 60_000 });
    await page.locator('.result').first().waitFor();
  },
};

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
};

/** Returns the faults that axe finds, errors of scripts, and pages that are wider than the screen. */
export async function faultsOfLooks(dist: string): Promise<string[]> {
  const server = await serve(dist);
  const browser = await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox'] });
  try {
    const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const faults: string[] = [];
    for (const width of WIDTHS) {
      for (const theme of THEMES) faults.push(...(await lookAt(browser, { baseURL, width, theme })));
    }
    return faults;
  } finally {
    await browser.close();
    server.close();
  }
}

interface Look {
  readonly baseURL: string;
  readonly width: number;
  readonly theme: (typeof THEMES)[number];
}

async function lookAt(browser: Browser, { baseURL, width, theme }: Look): Promise<string[]> {
  const height = width > 640 ? 900 : 844;
  const context = await browser.newContext({ baseURL, viewport: { width, height }, colorScheme: theme });
  const page = await context.newPage();
  const faults: string[] = [];
  for (const [place, open] of Object.entries(PLACES)) {
    const name = `${place}, ${width} pixels, ${theme}`;
    page.removeAllListeners('pageerror').on('pageerror', ({ message }) => faults.push(`${name}: ${message}`));
    await open(page);
    await page.waitForLoadState('networkidle');
    faults.push(...(await faultsOf(page)).map((fault) => `${name}: ${fault}`));
  }
  await context.close();
  return faults;
}

async function faultsOf(page: Page): Promise<string[]> {
  const violations = (await violationsOf(page)).map((violation) => violation.join(' '));
  return (await isWithinScreen(page)) ? violations : [...violations, 'wider than the screen'];
}

/** Serves files as a host of static sites does: `/guide` is `guide.html`. */
async function serve(folder: string): Promise<Server> {
  const server = createServer(({ url = '/' }, response) => {
    const { pathname } = new URL(url, 'http://site');
    const path = join(folder, decodeURIComponent(pathname), pathname.endsWith('/') ? 'index.html' : '');
    const file = extname(path) === '' ? `${path}.html` : path;
    if (!existsSync(file) || !statSync(file).isFile()) return void response.writeHead(404).end();
    response.setHeader('content-type', MEDIA_TYPES[extname(file)] ?? 'application/octet-stream');
    createReadStream(file).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}
