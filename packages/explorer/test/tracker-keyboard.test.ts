import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { hold } from './support/hold.ts';
import { openTracker, PASSWORD } from './support/tracker.ts';

t.setTimeout(110_000);

/** Goes on by Tab until an element has the focus, and fails if nobody comes there. */
async function tabTo(page: Page, selector: string, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  for (let count = 0; count < 80; count++) {
    await page.keyboard.press(key);
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
  }
  throw new Error(`nobody comes to ${selector} by ${key}`);
}

const isFocused = (page: Page, selector: string) =>
  page.evaluate((wanted) => document.activeElement?.matches(wanted), selector);

const hasFocus = (page: Page, selector: string) =>
  page.waitForFunction((wanted) => document.activeElement?.matches(wanted), selector);

t.test('the tracker by keyboard only', { skip: skipWithoutBrowser() }, async (t) => {
  const { visit, read } = await openTracker(t);
  const page = await visit(undefined, '/api');
  const { keyboard } = page;
  // The browser's tools are slow to switch these on: a key that is pressed meanwhile is not seen.
  page.on('filechooser', () => {});
  await page.route('**/*', (route) => route.fallback());
  await page.getByRole('heading', { name: 'Tracker' }).waitFor();

  await t.test('a user logs in', async (t) => {
    await tabTo(page, '.account button');
    await keyboard.press('Enter');
    await hasFocus(page, '#login-email');
    await keyboard.press('Escape');
    await hasFocus(page, '.account button');
    await keyboard.press('Enter');
    await hasFocus(page, '#login-email');
    // Whoever is quick asks again before the browser tells that the question was closed.
    await page.evaluate(() => {
      document.querySelector<HTMLDialogElement>('dialog.login')?.close();
      document.querySelector<HTMLButtonElement>('.account button')?.click();
    });
    await hasFocus(page, '#login-email');
    await keyboard.type('ada@example.com');
    await keyboard.press('Tab');
    await keyboard.type(`${PASSWORD}\n`);
    await page.getByRole('banner').getByText('ada@example.com').waitFor();
    t.ok(await page.evaluate(() => document.activeElement !== document.body), 'the focus is somewhere');
  });

  await t.test('a user opens a list, orders it, and selects rows', async (t) => {
    await tabTo(page, 'nav a[href="/api/projects"]');
    await keyboard.press('Enter');
    await page.getByRole('link', { name: 'Lighthouse' }).waitFor();
    await hasFocus(page, 'main');
    await tabTo(page, 'a[href="/api/projects/lighthouse"]');
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Lighthouse' }).waitFor();
    await tabTo(page, 'a[href="/api/projects/lighthouse/tickets"]');
    await keyboard.press('Enter');
    await page.getByRole('link', { name: 'Dark mode' }).waitFor();
    await tabTo(page, 'th .sort');
    await keyboard.press('Enter');
    await page.waitForURL('**/tickets?sort=priority');
    await hasFocus(page, 'th .sort');
    await tabTo(page, 'tbody input[type=checkbox]');
    await keyboard.press('Space');
    await page.getByText('One record selected').waitFor();
    await keyboard.press('Space');
    await page.getByText('One record selected').waitFor({ state: 'detached' });
    await tabTo(page, '.menu summary', 'Shift+Tab');
    await keyboard.press('Enter');
    await page.getByRole('button', { name: 'CSV', exact: true }).waitFor();
    await keyboard.press('Escape');
    await page.getByRole('button', { name: 'CSV', exact: true }).waitFor({ state: 'hidden' });
    await hasFocus(page, '.menu summary');
    t.pass();
  });

  await t.test('a user creates a record with children and a label', async (t) => {
    await page.getByRole('link', { name: 'New ticket' }).waitFor();
    await tabTo(page, '.heading a.primary', 'Shift+Tab');
    await keyboard.press('Enter');
    await page.locator('#new-title').waitFor();
    await hasFocus(page, '#new-title');
    await keyboard.type('By keyboard');
    await tabTo(page, '#new-labels-more');
    await keyboard.type('secur');
    await page.getByRole('option', { name: 'security' }).waitFor();
    await keyboard.press('Enter');
    await page.getByRole('button', { name: 'Remove security' }).waitFor();
    await hasFocus(page, '#new-labels-more');
    await tabTo(page, '.children > button');
    await keyboard.press('Enter');
    await hasFocus(page, '#new-steps-0-text');
    await keyboard.type('One');
    await tabTo(page, '.children > button');
    await keyboard.press('Enter');
    await hasFocus(page, '#new-steps-1-text');
    await keyboard.type('Two');
    await keyboard.press('Tab');
    await keyboard.press('Space');
    await tabTo(page, '.remove button', 'Shift+Tab');
    await keyboard.press('Enter');
    await hasFocus(page, '.children > button');
    await tabTo(page, '.form button.primary');
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'By keyboard' }).waitFor();
    await hasFocus(page, 'main');
    t.match(await read('ada', new URL(page.url()).pathname), {
      labels: [{ name: 'security' }],
      steps: [{ text: 'Two', is_done: true }],
    });
  });

  await t.test('a user edits it', async (t) => {
    await tabTo(page, '#record-status');
    await keyboard.type('done');
    await tabTo(page, '#record-priority');
    await keyboard.type('9');
    await keyboard.press('Enter');
    await page.locator('#record-priority-faults').waitFor();
    await hasFocus(page, '#record-priority');
    await keyboard.press('ControlOrMeta+a');
    await keyboard.type('2');
    await tabTo(page, '.form button.primary');
    const { asked, release } = await hold(page, (request) => request.method() === 'PATCH');
    await keyboard.press('Enter');
    await asked;
    await page.getByRole('button', { name: 'Saving…' }).waitFor();
    t.ok(await isFocused(page, '.form button.primary'), 'the keyboard stays where it was');
    await keyboard.press('Enter');
    await release();
    await page.getByText('Saved.').waitFor();
    t.ok(await isFocused(page, '.form button.primary'));
    t.match(await read('ada', new URL(page.url()).pathname), { status: 'done', priority: 2 });
  });

  await t.test('a user uploads a file', async (t) => {
    const path = join(t.testdir(), 'notes.txt');
    await writeFile(path, 'Some notes.');
    await tabTo(page, '.below a[href$="/attachments"]');
    await keyboard.press('Enter');
    await page.getByText('No attachments yet.').waitFor();
    await hasFocus(page, 'main');
    await page.getByRole('link', { name: 'New attachment' }).waitFor();
    await tabTo(page, '.heading a.primary');
    await keyboard.press('Enter');
    await hasFocus(page, '#new-file');
    const choosing = page.waitForEvent('filechooser');
    await keyboard.press('Space');
    await (await choosing).setFiles(path);
    await tabTo(page, '.form button.primary');
    await keyboard.press('Enter');
    await page.getByRole('button', { name: 'notes.txt' }).waitFor();
    t.match(await read('ada', new URL(page.url()).pathname), { file: { name: 'notes.txt', size: 11 } });
  });

  await t.test('a user deletes it', async (t) => {
    await tabTo(page, '.end button.danger');
    await keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    // Whoever is quick asks again before the browser tells that the question was closed.
    await page.evaluate(() =>
      document.querySelector('dialog')?.addEventListener('close', (event) => event.stopImmediatePropagation(), true),
    );
    await keyboard.press('Escape');
    await page.locator('[aria-labelledby=question-title]').waitFor({ state: 'detached' });
    await hasFocus(page, '.end button.danger');
    await keyboard.press('Enter');
    await tabTo(page, 'dialog button:not(.danger)');
    await keyboard.press('Enter');
    await hasFocus(page, '.end button.danger');
    await keyboard.press('Enter');
    await tabTo(page, 'dialog button.danger');
    await keyboard.press('Enter');
    await page.waitForURL('**/attachments');
    await page.getByText('No attachments yet.').waitFor();
    await hasFocus(page, 'main');
    t.match(await read('ada', new URL(page.url()).pathname), { count: 0 });
  });
});
