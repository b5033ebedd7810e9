import t from 'tap';
import { Identity } from '../../auth/test/support/entities.ts';
import { CLIENT, TestGithub } from '../../auth/test/support/openid.ts';
import { skipWithoutBrowser } from './support/browser.ts';
import { goToAccount, openMembers } from './support/members.ts';
import { READER } from './support/shelves.ts';
import { totpCode } from './support/totp.ts';

t.setTimeout(110_000);

t.test('logins by another service, in a browser', { skip: skipWithoutBrowser() }, async (t) => {
  const github = await new TestGithub().start(t);
  github.emails = [{ email: READER.email, primary: true, verified: true }];
  const providers = { github: { issuer: github.issuer, ...CLIENT, kind: 'github' as const } };
  const { visit } = await openMembers(t, { oauth: { identity: Identity, providers } });

  t.test('a link opens the service, which returns to the page', async (t) => {
    const page = await visit('/api/books?search=a');
    await page.getByRole('button', { name: 'Log in' }).first().click();
    await page.getByRole('dialog').getByRole('link', { name: 'Log in with GitHub' }).click();
    await page.getByRole('banner').getByText(READER.email).waitFor();
    const { pathname, search, hash } = new URL(page.url());
    t.strictSame([pathname, search, hash], ['/api/books', '?search=a', '']);
  });

  t.test('an account with two factors must enter the second one', async (t) => {
    const page = await visit('/api/books');
    await page.getByRole('button', { name: 'Log in' }).first().click();
    await page.getByRole('link', { name: 'Log in with GitHub' }).click();
    await goToAccount(page, 'Two-step login');
    await page.getByRole('button', { name: 'Set up two-step login' }).click();
    const secret = await page.locator('.secret pre').innerText();
    await page.getByLabel('Code').fill(totpCode(secret));
    await page.getByRole('button', { name: 'Switch on' }).click();
    await page.getByText('Two-step login is on.').waitFor();
    const [code] = (await page.locator('.secret pre').innerText()).split('\n');

    const other = await visit('/api/books');
    await other.getByRole('button', { name: 'Log in' }).first().click();
    await other.getByRole('link', { name: 'Log in with GitHub' }).click();
    await other.getByRole('dialog').getByLabel('Code').fill(code!);
    t.equal(new URL(other.url()).hash, '', 'the token is out of the address');
    await other.getByRole('dialog').getByRole('button', { name: 'Log in' }).click();
    await other.getByRole('banner').getByText(READER.email).waitFor();
  });
});
