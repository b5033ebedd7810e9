import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { openTracker, reloadWithoutStreams } from './support/tracker.ts';

t.setTimeout(110_000);

const TICKETS = '/api/projects/lighthouse/tickets';

t.test('collections of the tracker in a browser', { skip: skipWithoutBrowser() }, async (t) => {
  const { visit, read, send } = await openTracker(t);

  t.test('a field of several records is changed in one request', async (t) => {
    const page = await visit('ada', TICKETS);
    for (const title of ['Dark mode', 'Empty state of the dashboard']) {
      await page.getByRole('checkbox', { name: `Select ${title}` }).check();
    }
    await page.getByRole('button', { name: 'Change…' }).click();
    await page.getByLabel('Field').selectOption('priority');
    await page.getByRole('textbox', { name: 'Priority' }).fill('9');
    await page.getByRole('button', { name: 'Change 2 records' }).click();
    await page.locator('.row-fault').nth(1).waitFor();
    t.match(await page.locator('tr:has-text("Dark mode") + .row-fault').innerText(), /must be at most 5/);
    await page.getByText('What is wrong stands at the rows.').waitFor();
    await page.getByRole('textbox', { name: 'Priority' }).fill('4');
    const sent = page.waitForRequest((request) => request.method() === 'PATCH');
    await page.getByRole('button', { name: 'Change 2 records' }).click();
    const request = await sent;
    t.equal(new URL(request.url()).pathname, TICKETS);
    t.strictSame(request.postDataJSON(), [
      { id: 4, priority: 4 },
      { id: 15, priority: 4 },
    ]);
    await page.getByText('2 records changed.').waitFor();
    await page.locator('.row-fault').first().waitFor({ state: 'detached' });
    t.match(await read('ada', `${TICKETS}/4`), { priority: 4 });
    t.match(await read('ada', `${TICKETS}/15`), { priority: 4 });
  });

  t.test('several records are deleted in one request after a confirmation', async (t) => {
    const page = await visit('ada', `${TICKETS}?page_size=50`);
    for (const id of ['Dark mode', 'Rename "Archive" to "Close" everywhere']) {
      await page.getByRole('checkbox', { name: `Select ${id}` }).check();
    }
    await page.getByRole('button', { name: 'Delete' }).click();
    const sent = page.waitForRequest((request) => request.method() === 'DELETE');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    t.match((await sent).url(), /tickets\?pk=4,\d+$/);
    await page.getByText('2 records deleted.').waitFor();
    await page.getByText('1–20 of 20').waitFor();
    t.match(await read('ada', TICKETS), { count: 20 });
  });

  t.test('a bulk deletion with a missing record deletes none, and names the missing one', async (t) => {
    const page = await visit('ada', TICKETS);
    await reloadWithoutStreams(page);
    for (const row of [0, 1]) await page.locator('tbody tr').nth(row).getByRole('checkbox').check();
    t.equal(await send('ada', 'DELETE', `${TICKETS}/2`), 204);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.locator('.row-fault').waitFor();
    t.match(await page.locator('.row-fault').innerText(), /names no record/);
    t.match(await read('ada', `${TICKETS}/1`), { id: 1 });
  });
});
