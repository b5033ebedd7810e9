// Needs a process of its own: Playwright replaces `process.cwd`.
/** Login with Apple in a real browser, which decides what cookies the form of another site is sent with. */
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { openSqlite } from '../../../core/test/support/databases.ts';
import { openBrowser, openPage, skipWithoutBrowser } from '../../../explorer/test/support/browser.ts';
import { startApp } from '../support/app.ts';
import { Account, Identity, Role, Session } from '../support/entities.ts';
import { CLIENT } from '../support/openid.ts';
import { APPLE_KEY, TestApple } from '../support/services.ts';

t.test('in Chromium', { skip: skipWithoutBrowser() }, async (t) => {
  const orm = await openSqlite(t, { entities: [Account, Role, Identity, Session] });
  const apple = await new TestApple().start(t);
  const provider = { kind: 'apple', issuer: apple.url, clientId: CLIENT.clientId, clientSecret: APPLE_KEY } as const;
  const options = { oauth: { identity: Identity, providers: { apple: provider } }, sessions: Session, me: {} };
  const app = await startApp(t, orm, options, (scope) => {
    scope.get('/', { config: { public: true } }, (_request, reply) =>
      reply.type('text/html').send('<!doctype html><title>Library</title>'),
    );
  });
  const { port } = app.app.server.address() as AddressInfo;
  // Another site than Apple's, which is at 127.0.0.1.
  const root = `http://localhost:${port}`;
  const page = await openPage(t, await openBrowser(t), { baseURL: root });
  apple.person = { sub: '001.browser', email: 'browser@example.com', email_verified: 'true' };
  apple.user = JSON.stringify({ name: { firstName: 'Ann', lastName: 'B & "C"' } });

  t.test('the form of Apple’s page ends the login', async (t) => {
    await page.goto('/auth/oauth/apple?return_to=/');
    await page.waitForURL((url) => url.origin === root);
    t.equal(page.url(), `${root}/`);
    const cookies = await page.context().cookies(`${root}/auth/oauth/apple/callback`);
    const states = cookies.filter(({ name }) => name.startsWith('oauth_state_'));
    t.match(states, [{ sameSite: 'None', secure: true, httpOnly: true }]);
    const user = await page.evaluate<unknown>(async () => {
      const { access_token: token } = (await (await fetch('/auth/refresh', { method: 'POST' })).json()) as {
        access_token: string;
      };
      const answer = await fetch('/me', { headers: { authorization: `Bearer ${token}` } });
      return answer.json();
    });
    t.match(user, { user: { email: 'browser@example.com', name: 'Ann B & "C"' } });
  });

  t.test('a person who cancels comes back to the page', async (t) => {
    apple.cancels = true;
    await page.goto('/auth/oauth/apple?return_to=/');
    await page.waitForURL((url) => url.origin === root);
    t.equal(page.url(), `${root}/#error=unauthorized`);
  });
});
