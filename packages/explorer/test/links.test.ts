import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { openTracker } from './support/tracker.ts';

t.setTimeout(110_000);

t.test('references are links to their records', { skip: skipWithoutBrowser() }, async (t) => {
  const { visit } = await openTracker(t);

  t.test('references of a list and of a record, and back again', async (t) => {
    const page = await visit('ada', '/api/tickets?label=bug');
    await page.getByRole('cell').getByRole('link', { name: 'bug', exact: true }).first().click();
    await page.waitForURL('**/api/labels/bug');
    await page.getByRole('heading', { name: 'bug' }).waitFor();
    t.equal(await page.locator('.swatch').count(), 0, 'an administrator edits the colour');
    await page.goBack();
    await page.getByRole('columnheader', { name: 'Status' }).waitFor();
    t.equal(await page.getByRole('columnheader', { name: 'Id', exact: true }).count(), 0);
    t.ok((await page.locator('td .badge').count()) > 0, 'a status is a badge');
  });

  t.test('a record that is read-only here links to the page where it can be edited', async (t) => {
    const page = await visit('ada', '/api/tickets/1');
    await page.getByRole('link', { name: 'Edit it where it belongs' }).click();
    await page.getByRole('button', { name: 'Save' }).waitFor();
    t.match(new URL(page.url()).pathname, /^\/api\/projects\/[a-z]+\/tickets\/1$/);
    await page.goBack();
    await page.getByText('Read only.').waitFor();
  });

  t.test('a narrow screen has a card for each record, with the name of each value', async (t) => {
    const page = await visit('ada', '/api/tickets', { viewport: { width: 390, height: 844 } });
    const cell = page.locator('tbody td[data-label="Priority"]').first();
    await cell.waitFor();
    const [frame, box] = [await page.locator('.table-frame').boundingBox(), await cell.boundingBox()];
    t.ok(box!.x >= frame!.x && box!.x + box!.width <= frame!.x + frame!.width, 'within the screen');
  });
});
