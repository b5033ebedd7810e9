import type { Page } from 'playwright-core';
import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { openTracker } from './support/tracker.ts';

t.setTimeout(110_000);

const TICKETS = '/api/projects/lighthouse/tickets';

t.test('the people of the tracker in a browser', { skip: skipWithoutBrowser() }, async (t) => {
  const { visit, read } = await openTracker(t);
  const offered = async (page: Page, name: string): Promise<number> =>
    (await page.getByRole('button', { name, exact: true }).count()) +
    (await page.getByRole('link', { name, exact: true }).count());

  t.test('an administrator is offered what a user is not', async (t) => {
    const admin = await visit('ada', '/api/labels/bug');
    await admin.getByRole('button', { name: 'Save' }).waitFor();
    t.equal(await offered(admin, 'Delete'), 1);
    await admin.getByRole('link', { name: 'Labels' }).first().click();
    await admin.getByRole('link', { name: 'New label' }).waitFor();
    const user = await visit('ben', '/api/labels/bug');
    await user.getByText('Read only.').waitFor();
    t.equal(await offered(user, 'Save'), 0);
    t.equal(await offered(user, 'Delete'), 0);
    await user.getByRole('link', { name: 'Labels' }).first().click();
    await user.getByRole('link', { name: 'docs' }).waitFor();
    t.equal(await offered(user, 'New label'), 0);
    const readers = await visit('ben', '/api/tickets');
    await readers.getByRole('checkbox', { name: 'Select all' }).check();
    await readers.getByRole('button', { name: 'Copy as JSON' }).waitFor();
    t.equal(await offered(readers, 'Delete'), 0, 'where nobody writes');
    t.equal(await offered(readers, 'Change…'), 0);
  });

  t.test(
    'what only the server knows to be forbidden is refused with what was entered, and not offered again',
    async (t) => {
      const page = await visit('chiara', `${TICKETS}/1`);
      await page.getByLabel('Title').fill('As a guest');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Your account has no permission for it').waitFor();
      t.equal(await page.getByLabel('Title').inputValue(), 'As a guest');
      await page.getByRole('button', { name: 'Reload' }).click();
      await page.getByText('Read only.').waitFor();
      t.equal(await offered(page, 'Save'), 0);
      await page.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.getByText('You may not see or do this').waitFor();
      t.equal(await offered(page, 'Delete'), 0);
      await page.goto(TICKETS);
      await page.getByRole('link', { name: 'New ticket' }).click();
      await page.getByLabel('Title').fill('As a guest');
      await page.getByRole('button', { name: 'New ticket' }).click();
      await page.getByText('Your account has no permission for it').waitFor();
      await page.getByRole('link', { name: 'Back' }).click();
      await page.getByRole('link', { name: 'Dark mode' }).waitFor();
      t.equal(await offered(page, 'New ticket'), 0);
      await page.getByRole('link', { name: 'Projects' }).first().click();
      await page.getByRole('link', { name: 'Compass' }).click();
      await page.getByRole('list').getByRole('link', { name: 'Tickets' }).last().click();
      await page.getByRole('link', { name: 'New ticket' }).waitFor({ timeout: 5000 });
      t.match(await read('chiara', `${TICKETS}/1`), { title: /^Login fails/ });
    },
  );

  t.test('what one does not see is nothing, and nobody is asked to log in', async (t) => {
    const page = await visit('dov', '/api/projects/lighthouse');
    await page.getByText('There is nothing here').waitFor();
    await page.goto(TICKETS);
    await page.getByText('There is nothing here').waitFor();
    t.equal(await offered(page, 'New ticket'), 0);
    const nobody = await visit(undefined, '/api/tickets');
    await nobody.getByText('Log in to see this').waitFor();
    await nobody.evaluate(() => sessionStorage.setItem('viewset.explorer.token', 'no.token.at-all'));
    await nobody.reload();
    await nobody.getByText('Log in to see this').waitFor();
    t.equal(await nobody.evaluate(() => sessionStorage.length), 0, 'a token that is none is forgotten');
  });

  t.test('every refusal is a sentence', async (t) => {
    const page = await visit('ada', `${TICKETS}/1`);
    await page.getByLabel('Title').fill('Refused');
    for (const [status, sentence] of [
      [401, /needs a login/],
      [409, /is taken/],
      [413, /too large/],
      [415, /not understood/],
      [428, /Reload the record to read it/],
      [429, /Try again in 7 seconds/],
      [503, /down for now/],
    ] as const) {
      const words = { 401: 'needs a login', 409: 'is taken', 413: 'too large', 415: 'not understood' };
      const error = (words as Record<number, string>)[status] ?? 'down for now';
      await page.route(`**${TICKETS}/1`, (route) => {
        if (route.request().method() !== 'PATCH') return route.continue();
        const headers = status === 429 ? { 'retry-after': '7' } : {};
        return route.fulfill({ status, headers, json: { error, code: 'test' } });
      });
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('alert').filter({ hasText: sentence }).waitFor();
      t.equal(await page.getByLabel('Title').inputValue(), 'Refused', `${status}: what was entered stays`);
      await page.unroute(`**${TICKETS}/1`);
    }
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').filter({ hasText: 'The server does not answer' }).waitFor();
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    t.match(await read('ada', `${TICKETS}/1`), { title: 'Refused' });
  });
});
