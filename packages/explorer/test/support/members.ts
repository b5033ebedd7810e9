import type { EmailSender, OAuthOptions } from '@viewset/auth';
import { writeShape } from '@viewset/core';
import type { BrowserContext, BrowserContextOptions, Page, Request } from 'playwright-core';
import type { Test } from 'tap';
import { Account, ApiKey, Passkey, Session, TwoFactor } from '../../../auth/test/support/entities.ts';
import { openSqlite } from '../../../core/test/support/databases.ts';
import { openBrowser, openPage } from './browser.ts';
import { ENTITIES, startLibrary } from './library.ts';
import { fillLibrary, READER } from './shelves.ts';

/** Keeps the last code that each address was sent. */
class CodeBox implements EmailSender {
  readonly codes = new Map<string, string>();

  async send(recipient: string, _subject: string, content: string): Promise<void> {
    const code = /\b\d{6}\b/.exec(content)?.[0];
    if (code !== undefined) this.codes.set(recipient, code);
  }
}

/** A library whose members have sessions, and all that people do with their own accounts; a browser that visits it. */
export async function openMembers(
  t: Test,
  { tokenSeconds = 900, oauth }: { readonly tokenSeconds?: number; readonly oauth?: OAuthOptions } = {},
) {
  const mailer = new CodeBox();
  const orm = await openSqlite(t, { entities: ENTITIES });
  const app = await startLibrary(t, orm, {
    accounts: {
      sessions: Session,
      twoFactor: TwoFactor,
      apiKeys: ApiKey,
      passkeys: Passkey,
      ...(oauth && { oauth }),
      passwords: {},
      me: { write: writeShape(Account, ['name']) },
      mailer,
      expirationDelta: tokenSeconds,
      nonAuthEndpoints: [
        '/api/auth/login',
        '/api/auth/register',
        '/api/auth/send-verification-email',
        'GET /api/books*',
        'GET /api/authors*',
      ],
    },
  });
  const base = await app.listen();
  await fillLibrary(orm);
  const browser = await openBrowser(t);
  return {
    app,
    base,
    orm,
    /** The code that an address was sent last. */
    codeOf: async (address: string): Promise<string> => {
      for (let tries = 0; tries < 100 && !mailer.codes.has(address); tries++) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      const code = mailer.codes.get(address)!;
      mailer.codes.delete(address);
      return code;
    },
    /** Opens a page in a browser of its own. */
    visit: async (path: string, options: BrowserContextOptions = {}): Promise<Page> => {
      const page = await openPage(t, browser, { ...options, baseURL: base });
      await page.goto(path);
      return page;
    },
    logIn,
  };
}

/** Opens another tab of a browser. */
export async function openTab(context: BrowserContext, path: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(path);
  return page;
}

async function logIn(page: Page, { email, password } = READER): Promise<void> {
  await page.getByRole('button', { name: 'Log in' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Email').fill(email);
  await dialog.getByLabel('Password').fill(password);
  await dialog.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('banner').getByText(email).waitFor();
}

/** Notes the requests of a browser for new tokens. */
export function refreshesOf(context: BrowserContext): Request[] {
  const asked: Request[] = [];
  context.on('request', (request) => {
    if (new URL(request.url()).pathname === '/api/auth/refresh') asked.push(request);
  });
  return asked;
}

/** Goes to a page of one's own account. */
export async function goToAccount(page: Page, name: string): Promise<void> {
  await page.getByRole('banner').getByTitle('Your account').click();
  await page.getByRole('navigation', { name: 'Your account' }).getByRole('link', { name }).click();
  await page.getByRole('heading', { name, exact: true }).waitFor();
}
