import type { Page } from 'playwright-core';
import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { openTracker } from './support/tracker.ts';

t.setTimeout(110_000);

const TICKETS = '/api/projects/lighthouse/tickets';

const live = (page: Page) => page.locator('.pager .live');

/** Tells the page that nobody sees it, or that somebody does again. */
function setHidden(page: Page, isHidden: boolean): Promise<void> {
  return page.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, isHidden);
}

t.test('lists that are live, in a browser', { skip: skipWithoutBrowser() }, async (t) => {
  const { visit, send, app } = await openTracker(t);

  t.test('changes of other users appear automatically', async (t) => {
    const page = await visit('ada', `${TICKETS}?status=open&page_size=50`);
    await live(page).waitFor();
    t.equal(await live(page).getAttribute('title'), 'Changes show by themselves.');
    t.equal(await send('ben', 'POST', TICKETS, { title: 'Told by itself', due_on: null }), 201);
    const row = page.locator('tr:has-text("Told by itself")');
    await row.waitFor();
    const id = new URL(
      await row
        .getByRole('link')
        .first()
        .evaluate((link: HTMLAnchorElement) => link.href),
    ).pathname;
    t.equal(await send('ben', 'PATCH', id, { title: 'Renamed by itself' }), 200);
    await page.locator('tr:has-text("Renamed by itself")').waitFor();
    t.equal(await row.count(), 0);
    t.equal(await send('ben', 'PATCH', id, { status: 'done' }), 200);
    await page.locator('tr:has-text("Renamed by itself")').waitFor({ state: 'detached' });
  });

  t.test('a cell that is edited keeps the value that it had, and meets the other one', async (t) => {
    const page = await visit('ada', `${TICKETS}?page_size=50`);
    await live(page).waitFor();
    const cell = page.locator('tr:has-text("Dark mode") td[data-label="Priority"]');
    await cell.dblclick();
    await cell.getByRole('textbox').fill('1');
    const href = await page.getByRole('link', { name: 'Dark mode' }).getAttribute('href');
    t.equal(await send('ben', 'PATCH', href!, { priority: 5, title: 'Darker mode' }), 200);
    await page.getByRole('link', { name: 'Darker mode' }).waitFor();
    const renamed = page.locator('tr:has-text("Darker mode") td[data-label="Priority"]');
    t.equal(await renamed.getByRole('textbox').inputValue(), '1');
    await renamed.getByRole('textbox').press('Enter');
    const conflict = page.getByRole('dialog');
    await conflict.waitFor();
    t.match(await conflict.innerText(), /Changed in the meantime: Title, Priority\.\n/);
    t.match(await conflict.getByRole('group').innerText(), /Yours\s*1\s*Theirs\s*5/);
    await page.keyboard.press('Escape');
  });

  t.test('the list is not followed while the page is hidden', async () => {
    const page = await visit('ada', TICKETS);
    await live(page).waitFor();
    await setHidden(page, true);
    await live(page).waitFor({ state: 'detached' });
    await send('ben', 'POST', TICKETS, { title: 'Written meanwhile' });
    await setHidden(page, false);
    await live(page).waitFor();
    await page.goto(`${TICKETS}?search=meanwhile`);
    await page.locator('tr:has-text("Written meanwhile")').waitFor();
  });

  t.test('the next person sees nothing of the one before', async (t) => {
    const page = await visit('ada', TICKETS);
    await live(page).waitFor();
    await page.getByRole('button', { name: 'Log out' }).click();
    await live(page).waitFor({ state: 'detached' });
    await send('ben', 'POST', TICKETS, { title: 'Not for everybody' });
    t.equal(await page.locator('tr:has-text("Not for everybody")').count(), 0);
  });

  t.test('a list that is not live has no mark', async (t) => {
    const page = await visit('ada', '/api/people');
    await page.getByText('Ben Okafor').first().waitFor();
    t.equal(await live(page).count(), 0);
  });

  t.test('a page that is open does not hold up a server that ends', async () => {
    const page = await visit('ada', TICKETS);
    await live(page).waitFor();
    await app.close();
    await live(page).waitFor({ state: 'detached' });
  });
});
