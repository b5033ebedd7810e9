import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { look } from './support/look.ts';
import { openTracker } from './support/tracker.ts';

t.setTimeout(110_000);

/** A picture of one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

t.test('related records are shown together', { skip: skipWithoutBrowser() }, async (t) => {
  const { visit } = await openTracker(t);

  t.test('the first page shows the number of records', async (t) => {
    const page = await visit('ada', '/api');
    const row = page.getByRole('row', { name: /Tickets/ });
    await row.getByRole('cell', { name: '42', exact: true }).waitFor();
    t.equal(await page.getByRole('columnheader', { name: 'Records' }).count(), 1);
  });

  t.test('a record has the lists below it at its right', async (t) => {
    const page = await visit('ada', '/api/projects/lighthouse', {
      viewport: { width: 1440, height: 900 },
      bypassCSP: true,
    });
    const list = page.locator('.below > li', { hasText: 'Members' });
    await list.getByRole('listitem').first().waitFor();
    const [form, side] = [await page.locator('form').boundingBox(), await list.boundingBox()];
    t.ok(side!.x > form!.x + form!.width && side!.y < form!.y + 200, 'beside the form');
    await look(t, page, 'a record with its lists');
    await page.locator('.below > li', { hasText: 'Tickets' }).locator('li a').first().click();
    await page.waitForURL(/\/api\/projects\/lighthouse\/tickets\/\d+$/);
  });

  t.test('a list of files shows its pictures', async (t) => {
    const page = await visit('ada', '/api/projects/lighthouse/tickets/1/attachments#new=');
    const file = { name: 'pixel.png', mimeType: 'image/png', buffer: Buffer.from(PIXEL, 'base64') };
    await page.locator('input[type=file]').setInputFiles(file);
    await page.getByRole('button', { name: 'New attachment' }).click();
    await page.getByRole('heading', { name: /Attachment/ }).waitFor();
    await page.goto('/api/projects/lighthouse/tickets/1/attachments');
    const thumbnail = page.locator('td img.thumbnail');
    await thumbnail.first().waitFor();
    t.equal(await thumbnail.first().getAttribute('alt'), 'Preview of pixel.png');
  });

  t.test('column headers show the order of several columns', async (t) => {
    const page = await visit('ada', '/api/tickets?sort=-priority,due_on');
    await page.locator('th', { hasText: 'Priority' }).getByText('↓').waitFor();
    t.match(await page.locator('th', { hasText: 'Priority' }).innerText(), /↓\s*1/);
    t.match(await page.locator('th', { hasText: 'Due on' }).innerText(), /↑\s*2/);
  });
});
