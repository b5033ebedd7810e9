import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { openLibrary } from './support/visitor.ts';
import { isWithinScreen, look } from './support/look.ts';
import { HOSTILE } from './support/shelves.ts';

t.setTimeout(110_000);

t.test('looks in a browser', { skip: skipWithoutBrowser() }, async (t) => {
  const { visit, logIn, isAt } = await openLibrary(t);

  t.test('hostile texts are texts', async (t) => {
    const page = await visit('/api/books?search=window.hacked');
    await page
      .getByText(/<script>window\.hacked/)
      .first()
      .waitFor();
    await page.goto('/api/books?sort=-id');
    await page.getByRole('link', { name: 'xxxx' }).waitFor();
    t.ok(await isWithinScreen(page), 'nothing sticks out');
    await page.getByRole('link', { name: 'xxxx' }).click();
    await page.getByRole('heading', { name: 'xxxx' }).waitFor();
    t.ok(await isWithinScreen(page));
    await logIn(page);
    t.equal((await page.getByLabel('Summary').inputValue()).length, HOSTILE.long.length, 'whole where it is edited');
    await page.goto('/api/books?search=gnihtyreve');
    const link = page.locator('tbody a').first();
    await link.waitFor();
    t.equal(await link.locator('bdi').count(), 1, 'its direction ends where it does');
    t.notOk(await page.evaluate(() => 'hacked' in window));
  });

  t.test('the page can be used with the keyboard only', async (t) => {
    const page = await visit('/api/books#columns=id,title');
    await page.getByRole('link', { name: 'Book 01' }).waitFor();
    await page.keyboard.press('Tab');
    t.equal(await page.evaluate(() => document.activeElement?.textContent), 'Skip to the content');
    await page.keyboard.press('Enter');
    t.equal(await page.evaluate(() => document.activeElement?.tagName), 'MAIN');
    const tabTo = async (selector: string): Promise<void> => {
      for (let count = 0; count < 40; count++) {
        await page.keyboard.press('Tab');
        if (await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
      }
      t.fail(`nobody comes to ${selector} by Tab`);
    };
    await tabTo('th .sort');
    await page.keyboard.press('Enter');
    await isAt(page, '/api/books?sort=id');
    await tabTo('tbody a');
    await page.keyboard.press('Enter');
    await isAt(page, '/api/books/1');
    await page.getByRole('heading', { name: 'Book 01' }).waitFor();
    await page.waitForFunction(() => document.activeElement?.tagName === 'MAIN');
    await page.getByRole('button', { name: 'Log in' }).first().focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    t.equal(await page.evaluate(() => document.activeElement?.textContent), 'Log in', 'the focus is where it was');
  });

  for (const [name, colorScheme, viewport] of [
    ['wide, light', 'light', { width: 1280, height: 800 }],
    ['phone, dark', 'dark', { width: 390, height: 844 }],
  ] as const) {
    t.test(`axe finds nothing, and nothing sticks out: ${name}`, async (t) => {
      const page = await visit('/api', { colorScheme, viewport, bypassCSP: true });
      const seen = (place: string): Promise<void> => look(t, page, place);
      await page.getByRole('link', { name: 'Books' }).first().waitFor({ state: 'attached' });
      await seen('root');
      await page.goto('/api/books?min_price=2');
      await page.getByRole('link', { name: 'Book 02' }).waitFor();
      await page.getByRole('button', { name: 'Filters' }).click();
      await seen('collection with filters');
      if (viewport.width < 720) await page.getByRole('button', { name: 'Show the list' }).click();
      await page.getByRole('button', { name: 'Log in' }).first().click();
      await seen('login');
      await page.keyboard.press('Escape');
      await logIn(page);
      await page.getByRole('checkbox', { name: 'Select Book 02' }).check();
      await page.getByText('Columns', { exact: true }).first().click();
      await seen('selection and columns');
      await page.goto('/api/books/2');
      await page.getByRole('button', { name: 'Save' }).waitFor();
      await page.getByLabel('Title').fill('');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.locator('.fault').first().waitFor();
      await page.getByRole('combobox', { name: 'Author' }).fill('Author 0001');
      await page.locator('#record-author-list [role=option]').first().waitFor();
      await seen('form with a fault, and proposals');
      await page.getByRole('combobox', { name: 'Author' }).press('Escape');
      await page.getByRole('button', { name: 'Delete' }).click();
      await seen('question');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Requests' }).click();
      await seen('requests');
      await page.goto('/api/accounts/4711');
      await page.getByText('There is nothing here').waitFor();
      await seen('problem');
    });
  }

  t.test('the first paint is measured', async (t) => {
    const page = await visit('/api/books');
    await page.getByRole('link', { name: 'Book 01' }).waitFor();
    const times = [];
    for (let count = 0; count < 5; count++) {
      await page.reload();
      await page.getByRole('link', { name: 'Book 01' }).waitFor();
      const paint = () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN;
      times.push(Math.round(await page.evaluate(paint)));
    }
    t.comment(`first contentful paint of a list: ${times.join(', ')} ms`);
  });
});
