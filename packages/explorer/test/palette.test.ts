import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { look } from './support/look.ts';
import { openTracker } from './support/tracker.ts';

t.setTimeout(110_000);

t.test('the palette opens every page by keyboard', { skip: skipWithoutBrowser() }, async (t) => {
  const { visit } = await openTracker(t);
  const page = await visit('ada', '/api', { bypassCSP: true });
  const palette = page.getByRole('dialog', { name: 'Go to…' });

  t.test('to a collection', async (t) => {
    await page.getByRole('heading', { name: 'Tracker' }).waitFor();
    await page.keyboard.press('Control+k');
    await palette.getByRole('option').first().waitFor();
    await page.keyboard.type('lab');
    await look(t, page, 'the palette');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/api/labels');
    await palette.waitFor({ state: 'hidden' });
  });

  t.test('to the form of a new record', async () => {
    await page.keyboard.press('Meta+k');
    await page.keyboard.type('new lab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'New label' }).waitFor();
  });

  t.test('to a record found by a search', async () => {
    await page.getByRole('button', { name: 'Go to…' }).click();
    await page.keyboard.type('berth 7');
    await palette.getByRole('option', { name: /Berth 7 is offered twice/ }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /Berth 7/ }).waitFor();
  });

  t.test('and nowhere, if somebody closes it', async (t) => {
    const before = page.url();
    await page.keyboard.press('Control+k');
    await page.keyboard.press('Escape');
    await palette.waitFor({ state: 'hidden' });
    t.equal(page.url(), before);
  });
});
