import type { Page } from 'playwright-core';
import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { endLogin, hideClaims, hold, save } from './support/hold.ts';
import { openTracker, PASSWORD } from './support/tracker.ts';

t.setTimeout(110_000);

const TICKETS = '/api/projects/lighthouse/tickets';
const NOTES = { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Some notes.') };

const isOptions = (request: { method: () => string }): boolean => request.method() === 'OPTIONS';
const hasFocus = (page: Page, selector: string): Promise<boolean> =>
  page.evaluate((wanted) => document.activeElement?.matches(wanted) ?? false, selector);
const chosenFile = (page: Page): Promise<string | undefined> =>
  page.evaluate(() => document.querySelector<HTMLInputElement>('input[type=file]')?.files?.[0]?.name);

async function logInAs(page: Page, person: string): Promise<void> {
  await submitLogin(page, person);
  await page.getByRole('banner').getByText(`${person}@example.com`).waitFor();
}

async function submitLogin(page: Page, person: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Email').fill(`${person}@example.com`);
  await dialog.getByLabel('Password').fill(PASSWORD);
  await dialog.getByLabel('Password').press('Enter');
  await page.getByRole('button', { name: 'Log out' }).waitFor();
}

t.test("a user's input is not lost", { skip: skipWithoutBrowser() }, async (t) => {
  const { visit, read, send } = await openTracker(t);

  t.test('a form that the API has not permitted yet is waited for, with nothing in its place', async (t) => {
    const page = await visit('ada', '/api');
    const { asked, release } = await hold(page, isOptions);
    await page.goto(`${TICKETS}/2/attachments#new=`);
    await asked;
    await page.getByRole('heading', { name: 'New attachment' }).waitFor();
    t.equal(await page.locator('main').locator('input, select, table, summary').count(), 0);
    await release();
    await page.getByLabel('File').setInputFiles(NOTES);
    await page.getByRole('button', { name: 'New attachment' }).click();
    await page.getByRole('button', { name: 'notes.txt' }).waitFor();
    t.match(await read('ada', new URL(page.url()).pathname), { file: { name: 'notes.txt', size: 11 } });
  });

  t.test('a record is shown only after its permissions have loaded', async (t) => {
    const page = await visit('ada', '/api');
    const { asked, release } = await hold(page, isOptions);
    await page.goto(`${TICKETS}/2`);
    await asked;
    await page.locator('.waiting.on').waitFor({ state: 'attached' });
    t.equal(await page.locator('main').locator('input, select, textarea').count(), 0);
    await release();
    await page.getByLabel('Title').waitFor();
  });

  t.test('input during a save and a reload is kept', async (t) => {
    const page = await visit('ada', `${TICKETS}/2`);
    for (const held of ['PATCH', 'GET', 'OPTIONS']) {
      await page.getByLabel('Title').fill(`Before ${held}`);
      const { asked, release } = await hold(page, (request) => {
        const isOfRecord = new URL(request.url()).pathname === `${TICKETS}/2`;
        return isOfRecord && request.method() === held && request.resourceType() === 'fetch';
      });
      await page.getByRole('button', { name: /^Save|^Saving/ }).click();
      await asked;
      await page.getByLabel('Minutes spent').fill('');
      await page.getByLabel('Minutes spent').pressSequentially('41');
      await release();
      await page.getByText('Saved.').waitFor();
      await page.locator('.waiting.on').waitFor({ state: 'detached' });
      t.equal(await page.getByLabel('Title').inputValue(), `Before ${held}`);
      t.equal(await page.getByLabel('Minutes spent').inputValue(), '41', held);
      t.ok(await hasFocus(page, '#record-minutes_spent'), `${held}: whoever types goes on there`);
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      const sent = page.waitForRequest((request) => request.method() === 'PATCH');
      await page.getByRole('button', { name: 'Save' }).click();
      t.strictSame((await sent).postDataJSON(), { minutes_spent: 41 });
      await page.getByRole('button', { name: 'Reload', exact: true }).waitFor();
      t.equal(await send('ada', 'PATCH', `${TICKETS}/2`, { minutes_spent: 0 }), 200);
      await page.getByRole('button', { name: 'Reload', exact: true }).click();
      await page.waitForFunction(
        () => document.querySelector<HTMLInputElement>('#record-minutes_spent')?.value === '0',
      );
    }
  });

  t.test('adding relations keeps the input, and does not overwrite changes of others', async (t) => {
    const page = await visit('ada', `${TICKETS}/1`);
    await page.getByLabel('Title').fill('Entered before');
    t.equal(await send('ben', 'PATCH', `${TICKETS}/1`, { title: 'Of another' }), 200);
    const again = page.waitForResponse((response) => response.url().endsWith('?expand=comments'));
    await page.getByRole('checkbox', { name: 'Comments' }).check();
    await (await again).finished();
    await page.locator('.facts').getByText('Comments').waitFor();
    t.equal(await page.getByLabel('Title').inputValue(), 'Entered before');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Changed in the meantime').waitFor();
    t.match(await read('ada', `${TICKETS}/1`), { title: 'Of another' });
  });

  t.test('a login that ends in the middle of a form takes nothing with it', async (t) => {
    const page = await visit('ada', `${TICKETS}/4`);
    await page.getByLabel('Title').fill('Entered for long');
    await endLogin(page);
    await page.getByRole('button', { name: 'Save' }).click();
    const refusal = page.getByRole('alert').filter({ hasText: 'Your login has ended' });
    await refusal.waitFor();
    t.equal(await page.getByText('Your login has ended').count(), 1, 'which is said once');
    t.equal(await page.getByLabel('Title').inputValue(), 'Entered for long');
    t.equal(await page.evaluate(() => sessionStorage.length), 0, 'the token is forgotten');
    t.equal(await page.getByRole('combobox', { name: /Assignee|Add to labels/ }).count(), 2, 'no control is another');
    await refusal.getByRole('button', { name: 'Log in' }).click();
    await logInAs(page, 'ada');
    await page.getByText('What you had entered is still here.').waitFor();
    t.equal(await page.getByLabel('Title').inputValue(), 'Entered for long');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    t.match(await read('ada', `${TICKETS}/4`), { title: 'Entered for long' });

    await page.goto(`${TICKETS}/4/attachments#new=`);
    await page.getByLabel('File').setInputFiles(NOTES);
    await page.unrouteAll();
    await endLogin(page);
    await page.getByRole('button', { name: 'New attachment' }).click();
    await refusal.getByRole('button', { name: 'Log in' }).click();
    await logInAs(page, 'ada');
    await page.getByText('What you had entered is still here.').waitFor();
    t.equal(await chosenFile(page), 'notes.txt', 'not even a file');
    await page.getByRole('button', { name: 'New attachment' }).click();
    await page.getByRole('button', { name: 'notes.txt' }).waitFor();
  });

  t.test('input of one user is not shown to another', async (t) => {
    const page = await visit('ada', `${TICKETS}#new=`);
    await page.getByLabel('Title').fill('Of Ada alone');
    await endLogin(page);
    await page.getByRole('button', { name: 'New ticket' }).click();
    await page.getByRole('alert').getByRole('button', { name: 'Log in' }).click();
    await logInAs(page, 'ben');
    await page.getByLabel('Title').waitFor();
    t.equal(await page.getByLabel('Title').inputValue(), '');
    await page.getByLabel('Title').fill('Of Ben alone');
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('button', { name: 'Log in' }).first().click();
    await logInAs(page, 'ben');
    t.equal(await page.getByLabel('Title').inputValue(), '', 'nor is it there after a logout');
  });

  t.test('a user who cannot be identified is treated as a different one', async (t) => {
    const page = await visit(undefined, `${TICKETS}#new=`);
    await hideClaims(page);
    await page.getByRole('button', { name: 'Log in' }).first().click();
    await submitLogin(page, 'ada');
    await page.getByLabel('Title').fill('Of Ada alone');
    await endLogin(page);
    await page.getByRole('button', { name: 'New ticket' }).click();
    await page.getByRole('alert').getByRole('button', { name: 'Log in' }).click();
    await submitLogin(page, 'ben');
    await page.getByLabel('Title').waitFor();
    t.equal(await page.getByLabel('Title').inputValue(), '');
    await page.getByRole('button', { name: 'Requests' }).click();
    t.notMatch(await page.locator('.log').innerText(), /\b401\b/, 'nor what was asked');
  });

  t.test('data of one user is never shown to the next, even if the server is slow', async (t) => {
    const page = await visit('ada', `${TICKETS}/1`);
    await page.getByLabel('Title').waitFor();
    const { asked, release } = await hold(page, (request) => request.resourceType() === 'fetch');
    await page.getByRole('button', { name: 'Log out' }).click();
    await asked;
    await page.getByText('You are logged out.').waitFor();
    t.notMatch(await page.locator('main').innerText(), /Login fails/);
    t.equal(await page.locator('main').locator('input, textarea').count(), 0);
    await page.getByRole('button', { name: 'Requests' }).click();
    t.notMatch(await page.locator('.log').innerText(), /200/, 'nor are the answers');
    await release();
    await page.getByText('Log in to see this').waitFor();
  });

  t.test('a response that arrives after a logout is not kept for the next user', async (t) => {
    const page = await visit('ada', TICKETS);
    await page.locator(`table a[href^="${TICKETS}/"]`).first().click();
    await page.route(`**${TICKETS}/*`, (route) =>
      route.request().method() === 'PATCH'
        ? route.fulfill({ status: 403, json: { error: 'Not for Ada', code: 'forbidden' } })
        : route.fallback(),
    );
    const { asked, release } = await hold(page, (request) => request.method() === 'PATCH');
    await page.getByLabel('Title').fill('Of Ada alone');
    await page.getByRole('button', { name: 'Save' }).click();
    await asked;
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('button', { name: 'Log in' }).first().click();
    await logInAs(page, 'ada');
    await page.getByLabel('Title').waitFor();
    await page.getByRole('button', { name: 'Requests' }).click();
    const answered = page.waitForResponse((response) => response.request().method() === 'PATCH');
    await release();
    await (await answered).finished();
    await page.goBack();
    await page.locator('table').first().waitFor();
    t.notMatch(await page.locator('.log').innerText(), /PATCH/);
    await page.goForward();
    await t.resolves(page.getByLabel('Title').waitFor(), 'nor is what was refused');
  });

  t.test('the message about the last operation disappears at the next one', async (t) => {
    const page = await visit('ada', `${TICKETS}/16`);
    await page.getByLabel('Title').fill('Saved once');
    await save(page, 'Save');
    t.equal(await send('ada', 'DELETE', `${TICKETS}/16`), 204);
    await page.getByLabel('Title').fill('Saved twice');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('It may have been deleted in the meantime').waitFor();
    t.equal(await page.getByText('Saved.').count(), 0);
    t.equal(await page.getByLabel('Title').inputValue(), 'Saved twice');
  });

  t.test('after a reload the user edits the current record, not the old one', async (t) => {
    const page = await visit('ada', `${TICKETS}/14`);
    await page.getByLabel('Title').fill('Thrown away');
    t.equal(await send('ben', 'PATCH', `${TICKETS}/14`, { title: 'Of another' }), 200);
    const { asked, release } = await hold(page, (request) => new URL(request.url()).pathname === `${TICKETS}/14`);
    await page.getByRole('button', { name: 'Discard and reload' }).click();
    await asked;
    t.equal(await page.locator('.record').count(), 0);
    await release();
    t.equal(await page.getByLabel('Title').inputValue(), 'Of another');
    await page.getByLabel('Title').fill('The next');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
  });

  t.test('input is still there after a visit to another page', async (t) => {
    const page = await visit('ada', `${TICKETS}/15`);
    await page.getByLabel('Title').fill('Half');
    await page.locator('.crumbs').getByRole('link', { name: 'Tickets' }).click();
    await page.getByRole('link', { name: 'New ticket' }).click();
    await page.getByLabel('Title').fill('Another half');
    await page.goBack();
    await page.getByRole('row').nth(1).waitFor();
    await page.goBack();
    await page.getByText('What you had entered is still here.').waitFor();
    t.equal(await page.getByLabel('Title').inputValue(), 'Half');
    await page.getByRole('button', { name: 'Discard and reload' }).click();
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>('#record-title')?.value !== 'Half');
    await page.goForward();
    await page.getByRole('row').nth(1).waitFor();
    await page.goForward();
    await page.getByText('What you had entered is still here.').waitFor();
    t.equal(await page.getByLabel('Title').inputValue(), 'Another half');
    const leaving = page.waitForEvent('dialog');
    const reloaded = page.reload().catch(() => {});
    const question = await leaving;
    t.equal(question.type(), 'beforeunload', 'who leaves the page is asked first');
    await question.dismiss();
    await reloaded;
    await page.getByRole('button', { name: 'Start again' }).click();
    t.equal(await page.getByLabel('Title').inputValue(), '');
  });

  t.test('a file that was chosen goes with a body that is edited as JSON', async (t) => {
    const page = await visit('ada', `${TICKETS}/15/attachments#new=`);
    await page.getByLabel('File').setInputFiles(NOTES);
    await page.getByRole('button', { name: 'Edit as JSON' }).click();
    t.equal(await page.getByLabel('JSON').inputValue(), '{}');
    await page.getByRole('button', { name: 'Edit as a form' }).click();
    t.equal(await chosenFile(page), 'notes.txt');
    await page.getByRole('button', { name: 'Edit as JSON' }).click();
    await page.getByRole('button', { name: 'New attachment' }).click();
    await page.getByRole('button', { name: 'notes.txt' }).waitFor();
    t.match(await read('ada', new URL(page.url()).pathname), { file: { name: 'notes.txt' } });
  });

  t.test("a late response does not navigate away from the user's current page", async (t) => {
    const page = await visit('ada', `${TICKETS}#new=`);
    const { asked, release } = await hold(page, (request) => request.method() === 'POST');
    await page.getByLabel('Title').fill('Made slowly');
    await page.getByRole('button', { name: 'New ticket' }).click();
    await asked;
    await page.getByRole('navigation', { name: 'Contents' }).getByRole('link', { name: 'Labels' }).click();
    await page.getByRole('link', { name: 'docs' }).waitFor();
    await release();
    await page.getByText('The ticket is there now.').waitFor();
    t.equal(new URL(page.url()).pathname, '/api/labels');
  });

  t.test('cancelling a slow login leaves the user logged out', async (t) => {
    const page = await visit(undefined, '/api/labels');
    const { asked, release } = await hold(page, (request) => request.method() === 'POST');
    await page.getByRole('button', { name: 'Log in' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Email').fill('ada@example.com');
    await dialog.getByLabel('Password').fill(PASSWORD);
    await dialog.getByLabel('Password').press('Enter');
    await asked;
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    const answered = page.waitForResponse((response) => response.url().endsWith('/login'));
    await release();
    await (await answered).finished();
    await page
      .getByRole('contentinfo')
      .getByText(/login\s+200/)
      .waitFor();
    t.equal(await page.evaluate(() => sessionStorage.length), 0);
  });

  t.test('a search goes on where a server fails', async (t) => {
    const page = await visit('ada', TICKETS);
    await page.getByRole('row').nth(1).waitFor();
    await page.route(`**${TICKETS}?**`, (route) => route.fulfill({ status: 503, json: { error: 'Down', code: 'x' } }));
    const box = page.getByRole('searchbox');
    await box.pressSequentially('empty');
    await page.getByRole('alert').waitFor();
    await page.unrouteAll();
    await box.pressSequentially(' state');
    await page.getByRole('link', { name: 'Empty state of the dashboard' }).waitFor();
    t.equal(await box.inputValue(), 'empty state');
  });

  t.test('a long text does not lose the place where somebody types', async (t) => {
    const page = await visit('ada', `${TICKETS}#new=`);
    const title = page.getByLabel('Title');
    await title.fill('x'.repeat(199));
    await title.press('End');
    await page.keyboard.type('abc');
    t.equal(await title.inputValue(), `${'x'.repeat(199)}abc`);
  });
});
