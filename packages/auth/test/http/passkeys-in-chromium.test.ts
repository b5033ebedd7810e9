// Needs a process of its own: Playwright replaces `process.cwd`.
/** Passkeys in a real browser, with its virtual authenticator: by the API of WebAuthn itself, as docs/passkeys.md has it. */
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { forEachDatabase } from '../../../core/test/support/databases.ts';
import { addAuthenticator, openBrowser, openPage, skipWithoutBrowser } from '../../../explorer/test/support/browser.ts';
import { PASSWORD, startApp } from '../support/app.ts';
import { Account, Passkey, Role, Session, TwoFactor } from '../support/entities.ts';

/** What the page on passkeys shows. */
const PAGE = readFileSync(new URL('../../../../docs/passkeys.md', import.meta.url), 'utf8');
const SCRIPT = [...PAGE.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code).join('\n');

/** Runs JavaScript with the functions of the page on passkeys at hand. */
async function run(page: Page, expression: string): Promise<unknown> {
  return page.evaluate<unknown>(expression);
}

t.test('in Chromium', { skip: skipWithoutBrowser() }, async (t) => {
  const browser = await openBrowser(t);
  forEachDatabase(t, { entities: [Account, Role, Session, Passkey, TwoFactor] }, async (t, orm) => {
    const app = await startApp(t, orm, { sessions: Session, passkeys: Passkey, twoFactor: TwoFactor }, (scope) => {
      scope.get('/', { config: { public: true } }, (_request, reply) =>
        reply.type('text/html').send(`<!doctype html><title>Library</title><script>${SCRIPT}</script>`),
      );
    });
    const { port } = app.app.server.address() as AddressInfo;
    const open = async (t: Test): Promise<Page> => {
      const page = await openPage(t, browser, { baseURL: `http://localhost:${port}` });
      await page.goto('/');
      return page;
    };
    const login = (email: string) => `send('POST', 'login', ${JSON.stringify({ email, password: PASSWORD })})`;
    const add = (name: string) => `addPasskey('${name}', ${JSON.stringify({ password: PASSWORD })})`;

    t.test('a person adds a passkey, logs in with it without an address, and deletes it', async (t) => {
      await app.addAccount('ann@example.com');
      const page = await open(t);
      const { devTools, authenticatorId } = await addAuthenticator(page);
      await run(page, login('ann@example.com'));
      await t.rejects(run(page, `addPasskey('Phone', {})`), /400/);
      const added = (await run(page, add('Phone'))) as { id: string };
      t.match(added, { name: 'Phone', last_used_at: null });
      const { credentials } = await devTools.send('WebAuthn.getCredentials', { authenticatorId });
      t.match(credentials, [{ isResidentCredential: true, rpId: 'localhost', userName: 'ann@example.com' }]);
      await t.rejects(run(page, add('Again')), /InvalidStateError/, 'the same phone');

      await page.reload();
      await t.rejects(run(page, `send('GET', 'passkeys')`), /401/);
      t.match(await run(page, 'logIn()'), { access_token: /\./ });
      t.match(await run(page, 'logIn()'), { access_token: /\./ }, 'and again');
      t.match(await run(page, `send('GET', 'passkeys')`), [{ name: 'Phone', last_used_at: /Z$/ }]);
      await run(page, `deletePasskey('${added.id}')`);
      await t.rejects(run(page, 'logIn()'), /401/);
    });

    t.test('an authenticator that does not verify its user cannot log in', async (t) => {
      await app.addAccount('bob@example.com');
      const page = await open(t);
      const { devTools, authenticatorId } = await addAuthenticator(page);
      await run(page, login('bob@example.com'));
      await run(page, add('Phone'));
      await devTools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
      await t.rejects(run(page, 'logIn()'), /NotAllowedError/, 'the browser refuses');
      const unverified = `send('POST', 'login/passkey/options').then(async (options) =>
        send('POST', 'login/passkey', { passkey: await ask({ ...options, userVerification: 'discouraged' }) }))`;
      await t.rejects(run(page, unverified), /401/, 'and the server, if a page asks for less');
      await devTools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });
      t.match(await run(page, 'logIn()'), { access_token: /\./ });
    });

    t.test('a copy of an authenticator is noticed by its counter', async (t) => {
      await app.addAccount('eve@example.com');
      const page = await open(t);
      const { devTools, authenticatorId } = await addAuthenticator(page);
      await run(page, login('eve@example.com'));
      await run(page, add('Phone'));
      const [copy] = (await devTools.send('WebAuthn.getCredentials', { authenticatorId })).credentials;
      await run(page, 'logIn()');
      await devTools.send('WebAuthn.clearCredentials', { authenticatorId });
      await devTools.send('WebAuthn.addCredential', { authenticatorId, credential: copy! });
      await t.rejects(run(page, 'logIn()'), /401/);
    });

    t.test('with two factors, a passkey ends a login that began with the password', async (t) => {
      const email = 'tom@example.com';
      await app.addAccount(email);
      const page = await open(t);
      await addAuthenticator(page);
      await run(page, login(email));
      await run(page, add('Phone'));
      const { secret } = (await run(page, `send('POST', 'two-factor')`)) as { secret: string };
      await run(page, `send('POST', 'two-factor/confirm', { code: '${new TOTP({ secret }).generate()}' })`);
      const { two_factor_token: token } = (await run(page, login(email))) as { two_factor_token: string };
      t.match(await run(page, `endLogin('${token}')`), { access_token: /\./ });
      t.match(await run(page, 'logIn()'), { access_token: /\./ }, 'it is enough by itself');
    });
  });
});
