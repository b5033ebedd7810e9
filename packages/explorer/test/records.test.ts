import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { ADMIN } from './support/shelves.ts';
import { openLibrary } from './support/visitor.ts';

t.setTimeout(110_000);

t.test('records in a browser', { skip: skipWithoutBrowser() }, async (t) => {
  const { visit, logIn, isAt, app } = await openLibrary(t);

  t.test('a record is changed, and messages of the server are shown at their fields', async (t) => {
    const page = await visit('/api/books/4');
    await logIn(page);
    await page.getByLabel('Title').fill('');
    await page.getByLabel('Price').fill('much');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('2 things need another value').waitFor();
    const title = page.getByLabel('Title');
    t.equal(await title.getAttribute('aria-invalid'), 'true');
    t.equal(
      await title.evaluate((field) => document.activeElement === field),
      true,
      'the first wrong field has the focus',
    );
    t.match(await page.locator('#record-price-faults').innerText(), /must be/);
    await title.fill('The fourth book');
    await page.getByText('One thing needs another value').waitFor();
    t.equal(await title.getAttribute('aria-invalid'), null, 'a field with another value is no longer said to be wrong');
    t.equal(await page.locator('#record-title-faults').count(), 0);
    t.equal(await page.locator('#record-price-faults').count(), 1, 'the others are');
    await page.getByLabel('Price').fill('4.25');
    await page.getByLabel('Pages').fill('');
    await page.getByLabel('Is lent').check();
    await page.getByLabel('Printed on').fill('2020-02-29');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    await page.getByRole('heading', { name: 'The fourth book' }).waitFor();
    const stored = (await app.inject('/api/books/4')).json();
    t.match(stored, { title: 'The fourth book', price: 4.25, pages: null, is_lent: true, printed_on: '2020-02-29' });
    await page.getByRole('button', { name: 'Requests' }).click();
    const raw = await page.locator('.log-list').innerText();
    t.match(raw, /PATCH\s+\/api\/books\/4\s+400/);
    t.match(raw, /PATCH\s+\/api\/books\/4\s+200/);
    t.match(raw, /POST\s+\/api\/auth\/login\s+200/);
  });

  t.test('only changed fields are sent, and only if no other user has changed the record', async (t) => {
    const page = await visit('/api/books/5');
    await logIn(page);
    await page.getByLabel('Title').fill('Mine');
    const token = (await page.evaluate(() => sessionStorage.getItem('viewset.explorer.token')))!;
    const headers = { authorization: `Bearer ${token}` };
    await app.inject({ method: 'PATCH', url: '/api/books/5', headers, payload: { price: 77 } });
    const sent = page.waitForRequest((request) => request.method() === 'PATCH');
    await page.getByRole('button', { name: 'Save' }).click();
    const request = await sent;
    t.strictSame(request.postDataJSON(), { title: 'Mine' });
    t.match(request.headers()['if-match'], /^"/);
    await page.getByText('Reload the record to see it as it is now').waitFor();
    await page.getByRole('button', { name: 'Reload' }).click();
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>('#record-price')?.value === '77');
  });

  t.test('a JSON value shaped like a stored file is shown as text, and never fetched', async (t) => {
    const answer = await app.inject({ method: 'POST', url: '/api/auth/login', payload: ADMIN });
    const headers = { authorization: `Bearer ${answer.json<{ access_token: string }>().access_token}` };
    const notes = { url: '/api/authors/1', name: 'planted.png', size: 5, type: 'image/png' };
    t.equal((await app.inject({ method: 'PATCH', url: '/api/books/7', headers, payload: { notes } })).statusCode, 200);
    const asked: string[] = [];
    for (const path of ['/api/books/7', '/api/books#columns=title,notes']) {
      const page = await visit(path);
      page.on('request', (request) => asked.push(new URL(request.url()).pathname));
      await page.reload();
      await page.getByText('planted.png').first().waitFor();
      t.equal(await page.getByRole('button', { name: 'planted.png' }).count(), 0, path);
    }
    t.notOk(asked.includes('/api/authors/1'));
  });

  t.test('a related record is found by searching among ten thousand', async (t) => {
    const page = await visit('/api/books/6');
    await logIn(page);
    const box = page.getByRole('combobox', { name: 'Author' });
    await page.waitForFunction(() =>
      /Author \d+ · \d+/.test(document.querySelector<HTMLInputElement>('#record-author')?.value ?? ''),
    );
    await box.fill('09999');
    await page.getByRole('option', { name: 'Author 09999' }).waitFor();
    await box.press('Enter');
    t.match(await box.inputValue(), /Author 09999/);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    t.equal((await app.inject('/api/books/6')).json().author.name, 'Author 09999');
    await page.goto('/api/books');
    await page.getByRole('button', { name: 'Filters' }).click();
    const filter = page.getByRole('combobox', { name: 'Author' });
    await filter.fill('09999');
    await page.getByRole('option', { name: 'Author 09999' }).click();
    await page.getByText('1–1 of 1').waitFor();
  });

  t.test('a record is created, an action runs on it, and it is deleted after a confirmation', async (t) => {
    const page = await visit('/api/books');
    await logIn(page);
    await page.getByRole('link', { name: 'New book' }).click();
    await page.getByRole('button', { name: 'New book' }).click();
    await page.getByText(/things need another value/).waitFor();
    t.match(await page.locator('#new-title-faults').innerText(), /is required/);
    await page.getByLabel('Title').fill('Quite new');
    await page.getByLabel('Price').fill('10');
    await page.getByLabel('Binding').selectOption('leather');
    await page.getByRole('combobox', { name: 'Author' }).fill('Author 00002');
    await page.getByRole('option', { name: 'Author 00002' }).click();
    await page.getByLabel('Notes').fill('{"shelf": [1, 2]}');
    await page.getByRole('button', { name: 'New book' }).click();
    await page.getByRole('heading', { name: 'Quite new' }).waitFor();
    const path = new URL(page.url()).pathname;
    t.match((await app.inject(path)).json(), {
      title: 'Quite new',
      notes: { shelf: [1, 2] },
      author: { name: 'Author 00002' },
    });

    await page.getByRole('link', { name: 'Lend the book' }).click();
    await page.getByLabel('Days').fill('99');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.locator('#action-days-faults').waitFor();
    await page.getByLabel('Days').fill('9');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText('"lent_for": 9').waitFor();
    await page.getByLabel('Days').fill('99');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.locator('#action-days-faults').waitFor();
    t.equal(await page.getByText('Done: 200').count(), 0, 'an answer goes with the next request');
    await page.getByLabel('Days').fill('9');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText('"lent_for": 9').waitFor();
    await page.getByRole('button', { name: 'Edit as JSON' }).click();
    await page.getByLabel('JSON').fill('{');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText('This is no JSON').waitFor();
    t.equal(await page.getByText('Done: 200').count(), 0);
    await page.getByRole('link', { name: 'Back' }).click();

    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    t.equal((await app.inject(path)).statusCode, 200, 'not yet');
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('“Quite new” is deleted.').waitFor();
    await isAt(page, '/api/books');
    t.equal((await app.inject(path)).statusCode, 404);
  });

  t.test('a body can be written as JSON, and the form goes on from it', async (t) => {
    const page = await visit('/api/authors#new=');
    await logIn(page);
    await page.getByRole('button', { name: 'Edit as JSON' }).click();
    await page.getByLabel('JSON').fill('{"name": ');
    await page.getByRole('button', { name: 'New author' }).click();
    await page.getByText('This is no JSON').waitFor();
    await page.getByLabel('JSON').fill('{"name": "Of JSON"}');
    await page.getByRole('button', { name: 'Edit as a form' }).click();
    t.equal(await page.getByLabel('Name').inputValue(), 'Of JSON');
    await page.getByRole('button', { name: 'New author' }).click();
    await page.getByRole('heading', { name: 'Of JSON' }).waitFor();
    await page.goto('/api/authors#new=');
    await page.getByLabel('Name').fill('Of JSON');
    await page.getByRole('button', { name: 'New author' }).click();
    await page.locator('#new-name-faults').waitFor();
    t.match(await page.locator('#new-name-faults').innerText(), /is taken/);
  });
});
