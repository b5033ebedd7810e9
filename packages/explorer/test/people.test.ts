import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { hold } from './support/hold.ts';
import { openLibrary } from './support/visitor.ts';
import { ADMIN, READER } from './support/shelves.ts';

t.setTimeout(110_000);

t.test('logins, refusals and waiting in a browser', { skip: skipWithoutBrowser() }, async (t) => {
  const { visit, logIn, base, disturbance } = await openLibrary(t);

  t.test('a login lasts as long as the tab, and no longer', async (t) => {
    const page = await visit('/api/books/1');
    await page.getByRole('button', { name: 'Log in' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Email').fill(ADMIN.email);
    await dialog.getByLabel('Password').fill('wrong');
    await dialog.getByRole('button', { name: 'Log in' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Password').fill(ADMIN.password);
    await dialog.getByLabel('Password').press('Enter');
    await page.getByRole('button', { name: 'Save' }).waitFor();
    const kept = await page.evaluate(() => [sessionStorage.length, localStorage.length, document.cookie.length]);
    t.strictSame(kept, [1, 0, 0]);
    t.notMatch(page.url(), /token|eyJ/);
    await page.reload();
    await page.getByRole('button', { name: 'Save' }).waitFor();
    const other = await page.context().newPage();
    await other.goto('/api/books/1');
    await other.getByRole('button', { name: 'Log in' }).first().waitFor();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByText('Read only until you log in.').waitFor();
    t.equal(await page.evaluate(() => sessionStorage.length), 0);
  });

  t.test('forbidden operations are not offered, and a refusal is shown clearly', async (t) => {
    const page = await visit('/api/authors');
    await page.getByRole('link', { name: 'Author 00001' }).waitFor();
    t.equal(await page.getByRole('link', { name: 'New author' }).count(), 0);
    await logIn(page, READER);
    t.equal(await page.getByRole('link', { name: 'New author' }).count(), 0, 'for administrators alone');
    await page.getByRole('link', { name: 'Author 00001' }).click();
    await page.getByText('Read only.').waitFor();
    t.equal(await page.getByRole('button', { name: 'Delete' }).count(), 0);
    await page.goto('/api/accounts');
    await page.getByText('You may not see or do this').waitFor();
    await page.goto('/api/accounts/99');
    await page.getByText('You may not see or do this').waitFor();
    const nobody = await visit('/api/accounts');
    await nobody.getByText('Log in to see this').waitFor();
    await logIn(nobody);
    await nobody.getByText(READER.email).waitFor();
  });

  t.test('a missing record shows a message', async () => {
    const page = await visit('/api/books/4711');
    await page.getByText('There is nothing here').waitFor();
    const wrong = await visit('/api/books/none');
    await wrong.getByText('There is nothing here').waitFor();
  });

  t.test('a slow, failing or unreachable server shows a message, and the request is repeated', async (t) => {
    t.teardown(() => Object.assign(disturbance, { status: 0 }));
    const page = await visit('/api');
    const { release } = await hold(page, (request) => new URL(request.url()).pathname === '/api/books');
    await page.getByRole('navigation', { name: 'Contents' }).getByRole('link', { name: 'Books' }).click();
    await page.getByText('The server is taking long.').waitFor();
    await release();
    await page.getByText('1–20 of').waitFor();
    t.equal(await page.getByText('The server is taking long.').count(), 0);
    disturbance.status = 500;
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('The server could not do this').waitFor();
    disturbance.status = 0;
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('21–40 of').waitFor();
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('The server does not answer').waitFor();
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('41–').waitFor();
  });

  t.test('the raw request and response can be read, and copied as curl, without the token', async (t) => {
    const page = await visit('/api/books/7', { permissions: ['clipboard-read', 'clipboard-write'] });
    await logIn(page);
    await page.getByRole('button', { name: 'Save' }).waitFor();
    await page.getByRole('button', { name: 'Requests' }).click();
    await page.locator('.log-list button', { hasText: '/api/books/7' }).first().click();
    const raw = await page.locator('.raw').innerText();
    t.match(raw, /GET \/api\/books\/7/);
    t.match(raw, /authorization: Bearer …/);
    t.match(raw, /etag: "/);
    t.notMatch(raw, /eyJ/);
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    t.match(copied, `curl '${base}/api/books/7'`);
    t.match(copied, /authorization: Bearer \$TOKEN/);
    await page.locator('.log-list button', { hasText: 'login' }).click();
    t.notMatch(await page.locator('.raw').innerText(), new RegExp(`${ADMIN.password}|eyJ`));
  });
});
