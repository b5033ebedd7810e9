import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, type CDPSession, chromium, type Page } from 'playwright-core';
import type { Test } from 'tap';

/** Debian's; `CHROMIUM` names another. */
export const EXECUTABLE = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

/** Returns the reason for which the tests in a browser are skipped; false if there is one. Under CI there has to be. */
export function skipWithoutBrowser(): string | false {
  if (existsSync(EXECUTABLE)) return false;
  if (process.env['CI'] !== undefined) throw new Error(`There is no Chromium at ${EXECUTABLE} (CHROMIUM)`);
  return 'there is no Chromium (CHROMIUM names one)';
}

export async function openBrowser(t: Test): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox'] });
  t.teardown(() => browser.close());
  return browser;
}

/** Opens a page in a profile of its own, in which any error of a script and any breach of the policy fails the test. */
export async function openPage(t: Test, browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  t.teardown(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  page.on('pageerror', (error) => t.fail(`an error on the page: ${error.stack ?? error.message}`));
  page.on('console', (message) => {
    // Chromium tells of every refused request too.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) t.fail(message.text());
  });
  return page;
}

/** Gives a page a phone that knows its owner by the finger. */
export async function addAuthenticator(page: Page): Promise<{ devTools: CDPSession; authenticatorId: string }> {
  const devTools = await page.context().newCDPSession(page);
  await devTools.send('WebAuthn.enable');
  const { authenticatorId } = await devTools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { devTools, authenticatorId };
}
