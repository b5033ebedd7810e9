import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { look } from './support/look.ts';
import { openTracker } from './support/tracker.ts';

t.setTimeout(110_000);

const TICKETS = '/api/projects/lighthouse/tickets';

t.test('the speed of hands', { skip: skipWithoutBrowser() }, async (t) => {
  const { visit, read } = await openTracker(t);

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

  t.test('no value is edited by who may not', async (t) => {
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
