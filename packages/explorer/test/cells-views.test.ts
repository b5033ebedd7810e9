import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { look } from './support/look.ts';
import { openTracker, reloadWithoutStreams } from './support/tracker.ts';

t.setTimeout(110_000);

const TICKETS = '/api/projects/lighthouse/tickets';

t.test('the speed of hands', { skip: skipWithoutBrowser() }, async (t) => {
  const { visit, read, send } = await openTracker(t);

  t.test('a value is edited in its cell', async (t) => {
    const page = await visit('ada', TICKETS, { bypassCSP: true });
    const row = page.locator('tr:has-text("Dark mode")').first();
    await row.hover();
    await page.getByRole('button', { name: 'Edit Priority of Dark mode' }).click();
    await page.getByLabel('Dark mode: Priority').fill('9');
    await look(t, page, 'a cell that is edited');
    await page.getByLabel('Dark mode: Priority').press('Enter');
    await page.locator('.row-fault').getByText('must be at most 5').waitFor();
    await row.locator('td[data-label=Priority]').dblclick();
    await page.getByLabel('Dark mode: Priority').fill('4');
    await page.getByLabel('Dark mode: Priority').press('Enter');
    await page.getByText('Saved.').waitFor();
    t.match(await read('ada', `${TICKETS}/4`), { priority: 4 });
    await row.locator('td[data-label=Status]').dblclick();
    await page.getByLabel('Dark mode: Status').selectOption('doing');
    await row.locator('.badge', { hasText: 'doing' }).waitFor();
    await row.locator('td[data-label=Priority]').dblclick();
    await page.getByLabel('Dark mode: Priority').fill('1');
    await page.getByLabel('Dark mode: Priority').press('Escape');
    await row.locator('td[data-label=Priority]', { hasText: '4' }).waitFor();
    t.match(await read('ada', `${TICKETS}/4`), { priority: 4, status: 'doing' });
  });

  t.test('cells are focused and edited by keyboard', async (t) => {
    const page = await visit('ada', `${TICKETS}?sort=id`);
    const { keyboard } = page;
    const focused = () =>
      page.evaluate(() => document.activeElement?.getAttribute('data-label') ?? document.activeElement?.id);
    await page.locator('tbody tr').nth(3).waitFor();
    const editable = page.locator('td.editable-cell[tabindex="0"]');
    t.equal(await editable.count(), 1, 'Tab leads to one cell');
    await page.locator('tbody input[type=checkbox]').first().focus();
    for (let count = 0; count < 10 && (await focused()) !== 'Title'; count++) await keyboard.press('Tab');
    t.equal(await focused(), 'Title');
    for (let count = 0; count < 10 && (await focused()) !== 'Priority'; count++) await keyboard.press('ArrowRight');
    t.equal(await focused(), 'Priority');
    await keyboard.press('ArrowDown');
    await keyboard.press('F2');
    await page.waitForFunction(() => document.activeElement?.id === 'cell-input');
    await keyboard.press('ControlOrMeta+a');
    await keyboard.type('1');
    await keyboard.press('Escape');
    t.equal(await focused(), 'Priority', 'Escape leads back to the cell');
    const before = (await read('ada', `${TICKETS}/2`)) as { priority: number };
    await keyboard.press('Enter');
    await page.waitForFunction(() => document.activeElement?.id === 'cell-input');
    await keyboard.press('ControlOrMeta+a');
    await keyboard.type(String(before.priority === 5 ? 4 : 5));
    await keyboard.press('Enter');
    await page.getByText('Saved.').waitFor();
    await page.waitForFunction(() => document.activeElement?.matches('td.editable-cell'));
    t.equal(await focused(), 'Priority');
    t.not(((await read('ada', `${TICKETS}/2`)) as typeof before).priority, before.priority);
    await keyboard.press('Enter');
    await page.waitForFunction(() => document.activeElement?.id === 'cell-input');
    await keyboard.press('Shift+Tab');
    t.notMatch(await focused(), /Priority|cell-input/, 'Tab leaves to the next cell');
    t.ok(await page.evaluate(() => document.activeElement?.matches('td.editable-cell')));
  });

  t.test('a value edited in a cell does not overwrite a change of another user', async (t) => {
    const page = await visit('ada', `${TICKETS}?sort=id`, { bypassCSP: true });
    await reloadWithoutStreams(page);
    const url = `${TICKETS}/1`;
    const row = page.locator('tbody tr').first();
    const title = row.locator('td[data-label=Title]');
    const edit = async (value: string): Promise<void> => {
      const isRead = page.waitForResponse((response) => response.url().endsWith(url) && response.status() === 200);
      await row.locator('td[data-label=Priority]').dblclick();
      await isRead;
      await page.locator('#cell-input').fill(value);
    };
    await title.waitFor();
    t.equal(await send('ben', 'PATCH', url, { priority: 5, title: 'Theirs' }), 200);
    await edit('2');
    await page.locator('#cell-input').press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Somebody has changed this record' });
    await dialog.waitFor();
    await look(t, page, 'a conflict in a cell');
    t.match(await dialog.getByRole('group').innerText(), /Yours\s*2\s*Theirs\s*5/, 'the table was read before');
    t.ok(await dialog.getByRole('button', { name: 'Save' }).isDisabled(), 'one of them is chosen first');
    await dialog.getByLabel('Theirs').check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await title.getByText('Theirs').waitFor();
    t.match(await read('ada', url), { priority: 5 });

    await edit('3');
    t.equal(await send('ben', 'PATCH', url, { priority: 4 }), 200);
    const sent = page.waitForRequest((request) => request.method() === 'PATCH');
    await page.locator('#cell-input').press('Enter');
    t.match((await sent).headers()['if-match'], /^"/);
    await dialog.waitFor();
    t.match(await dialog.getByRole('group').innerText(), /Yours\s*3\s*Theirs\s*4/);
    t.match(await read('ada', url), { priority: 4 }, 'nothing is overwritten unseen');
    await dialog.getByLabel('Yours').check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    t.match(await read('ada', url), { priority: 3 });

    await edit('1');
    t.equal(await send('ben', 'PATCH', url, { title: 'Theirs again' }), 200);
    await page.locator('#cell-input').press('Enter');
    await dialog.waitFor();
    t.equal(await dialog.getByRole('group').count(), 0, 'only one of them has changed the priority');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await title.getByText('Theirs again').waitFor();
    t.match(await read('ada', url), { priority: 3 });
  });

  t.test('the id and the version of a record are shown with its form, and can be copied', async (t) => {
    const page = await visit('ada', `${TICKETS}/4`);
    const facts = page.getByRole('region', { name: 'Set by the server' });
    await facts.getByRole('button', { name: /^Version \d+ Copy$/ }).waitFor();
    t.equal(
      await facts
        .getByRole('term')
        .filter({ hasText: /^(Id|Version)$/ })
        .count(),
      0,
      'they are no facts for people',
    );
    await facts.getByRole('button', { name: 'Id 4 Copy' }).click();
    await page.getByText('Copied.').waitFor();
  });

  t.test('a user who may not write is not offered to edit values', async (t) => {
    const page = await visit('dov', '/api/tickets');
    await page.locator('tbody tr').first().waitFor();
    t.equal(await page.locator('.edit').count(), 0);
  });

  t.test('a view has a name in the address', async (t) => {
    const page = await visit('ada', '/api/tickets?status=open&sort=-priority#columns=title,priority');
    await page.getByText('Name this view', { exact: true }).click();
    await page.getByLabel('Name of the view').fill('Urgent');
    await page.getByRole('button', { name: 'Name it' }).click();
    await page.getByRole('heading', { name: 'Tickets: Urgent' }).waitFor();
    t.equal(await page.title(), 'Tickets: Urgent · Tracker');
    const other = await visit(
      'ada',
      new URL(page.url()).pathname + new URL(page.url()).search + new URL(page.url()).hash,
    );
    await other.getByRole('heading', { name: 'Tickets: Urgent' }).waitFor();
    await other.getByRole('button', { name: 'Remove the filter Status open' }).waitFor();
    t.strictSame(await other.locator('thead th:not(.check)').count(), 2);
  });
});
