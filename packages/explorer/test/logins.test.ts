import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { openMembers, openTab, refreshesOf } from './support/members.ts';
import { READER } from './support/shelves.ts';

t.setTimeout(110_000);

t.test('logins that last, in a browser', { skip: skipWithoutBrowser() }, async (t) => {
  const { visit, logIn } = await openMembers(t, { tokenSeconds: 2 });

  t.test('a token is renewed before it ends, without a request that is refused', async (t) => {
    const page = await visit('/api/books/1');
    await logIn(page);
    await page.getByRole('button', { name: 'Save' }).waitFor();
    const refreshes = refreshesOf(page.context());
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() === 401) refused.push(response.url());
    });
    await sleep(2100);
    await page.getByLabel('Title').fill('Long after the login');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    t.strictSame(refused, []);
    t.equal(refreshes.length, 1);
    t.equal(refreshes[0]!.headers()['authorization'], undefined);
    t.notMatch(await page.evaluate(() => `${document.cookie} ${location.href}`), /eyJ|refresh/);
    await page.getByRole('button', { name: 'Requests' }).click();
    t.notMatch(await page.locator('.log').innerText(), /eyJ/);
  });

  t.test('a login is there in the next tab, and after a reload long after', async () => {
    const page = await visit('/api/books/1');
    await logIn(page);
    const other = await openTab(page.context(), '/api/books/1');
    await other.getByRole('button', { name: 'Save' }).waitFor();
    await sleep(2100);
    await page.reload();
    await page.getByRole('button', { name: 'Save' }).waitFor();
    await other.close();
    const stranger = await visit('/api/books/1');
    await stranger.getByText('Read only until you log in.').waitFor();
  });

  t.test('tabs that need a token at the same time request one together', async (t) => {
    const page = await visit('/api/books');
    await logIn(page);
    const other = await openTab(page.context(), '/api/authors');
    await other.getByRole('banner').getByText(READER.email).waitFor();
    await sleep(2100);
    const refreshes = refreshesOf(page.context());
    await page.context().route('**/api/auth/refresh', async (route) => {
      await sleep(500);
      await route.fallback();
    });
    await Promise.all(
      [page, other].map(async (each) => {
        await each.getByRole('button', { name: 'Next' }).click();
        await each.getByRole('button', { name: 'Previous' }).click({ trial: true });
        await each.waitForURL(/page=2|cursor=/);
        await each.locator('.waiting.on').waitFor({ state: 'detached' });
      }),
    );
    t.equal(refreshes.length, 1);
    for (const each of [page, other]) await each.getByRole('banner').getByText(READER.email).waitFor();
  });

  t.test('a login that somebody has ended elsewhere takes nothing with it', async (t) => {
    const page = await visit('/api/books/2');
    await logIn(page);
    await page.getByLabel('Title').fill('Half');
    await page.context().clearCookies({ name: 'refresh_token' });
    await sleep(2100);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('Your login has ended').waitFor();
    t.equal(await page.getByLabel('Title').inputValue(), 'Half');
  });

  t.test('a server that is silent while a token is renewed ends no login', async () => {
    const page = await visit('/api/books');
    await logIn(page);
    await sleep(2100);
    await page.route('**/api/auth/refresh', (route) => route.abort());
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('The server does not answer').waitFor();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('21–40').waitFor();
    await page.getByRole('banner').getByText(READER.email).waitFor();
  });
});
