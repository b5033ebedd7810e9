import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { openLibrary } from './support/visitor.ts';

t.setTimeout(110_000);

t.test('collections in a browser', { skip: skipWithoutBrowser() }, async (t) => {
  const { visit, logIn, isAt, app } = await openLibrary(t);

  t.test('the root links to the collections, which link to records and back', async (t) => {
    const page = await visit('/api');
    await page.getByRole('heading', { name: 'Library' }).waitFor();
    await page.getByRole('cell', { name: 'Books' }).getByRole('link').click();
    await isAt(page, '/api/books');
    await page.getByRole('link', { name: 'Book 03' }).waitFor();
    t.equal(await page.locator('tbody tr').count(), 20);
    await page.getByRole('link', { name: 'Book 03' }).click();
    await isAt(page, '/api/books/3');
    await page.getByRole('heading', { name: 'Book 03' }).waitFor();
    await page.getByText('Read only until you log in.').waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'Book 03' }).waitFor();
    t.equal(await page.title(), 'Books · Library');
  });

  t.test('a list is searched, filtered, ordered and paged, all by the URL', async (t) => {
    const page = await visit('/api/books');
    await page.getByText('1–20 of 48').waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await isAt(page, '/api/books?page=2');
    await page.getByText('21–40 of 48').waitFor();
    await page.getByRole('searchbox').fill('book 1');
    await isAt(page, '/api/books?search=book+1');
    await page.getByText('of 14').waitFor();
    await page.getByRole('button', { name: 'Price', exact: true }).click();
    await isAt(page, '/api/books?search=book+1&sort=price');
    await page.getByRole('button', { name: 'Price', exact: true }).click();
    await isAt(page, '/api/books?search=book+1&sort=-price');
    await page.getByRole('link', { name: 'Book 41' }).waitFor();
    await page.waitForFunction(() => document.querySelector('tbody a')?.textContent === 'Book 41');
    t.match(await page.locator('th[aria-sort=descending]').innerText(), /^Price\s*↓$/);
    await page.getByRole('button', { name: 'Filters' }).click();
    await page.getByLabel('Min price').fill('15');
    await page.getByLabel('Min price').press('Enter');
    await page.getByText('of 8').waitFor();
    await page.getByRole('combobox', { name: 'Binding' }).selectOption('cloth');
    await page.getByText('of 2').waitFor();
    await page.getByRole('button', { name: /Remove the filter Binding/ }).click();
    await page.getByText('of 8').waitFor();
    await page.getByRole('button', { name: 'Clear all' }).click();
    await page.getByText('of 14').waitFor();
    await page.reload();
    await page.getByText('of 14').waitFor();
    t.equal(await page.getByRole('searchbox').inputValue(), 'book 1');
  });

  t.test('an invalid filter is reported at its control', async (t) => {
    const page = await visit('/api/books?min_price=cheap');
    await page.getByText('The server does not understand this').waitFor();
    const field = page.getByLabel('Min price', { exact: true });
    t.equal(await field.getAttribute('aria-invalid'), 'true');
    const faults = (await field.getAttribute('aria-describedby'))!.split(' ').at(-1)!;
    t.match(await page.locator(`[id="${faults}"]`).innerText(), /must be a/);
  });

  t.test('a list by cursors is paged too', async (t) => {
    const page = await visit('/api/authors?sort=name');
    await page.getByRole('link', { name: 'Author 00001' }).waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('link', { name: 'Author 00011' }).waitFor();
    t.match(page.url(), /cursor=/);
    await page.getByText('10 records on this page').waitFor();
    t.notMatch(
      await page.getByRole('navigation', { name: 'Pages' }).innerText(),
      /1–10/,
      'nobody knows which they are',
    );
    await page.getByRole('button', { name: 'Previous' }).click();
    await page.getByRole('link', { name: 'Author 00001' }).waitFor();
    await page.getByText('1–10').waitFor();
  });

  t.test('columns are chosen, and the URL keeps them', async (t) => {
    const page = await visit('/api/books');
    await page.getByText('Columns', { exact: true }).first().click();
    await page.getByRole('checkbox', { name: 'Price' }).uncheck();
    await page.getByRole('columnheader', { name: 'Price' }).waitFor({ state: 'detached' });
    t.match(page.url(), /#columns=title/);
    await page.reload();
    await page.getByRole('columnheader', { name: 'Title' }).waitFor();
    t.equal(await page.getByRole('columnheader', { name: 'Price' }).count(), 0);
    t.equal(await page.getByRole('columnheader', { name: 'Author' }).count(), 0, 'as many as fit at first');
    t.equal(await page.getByRole('columnheader', { name: 'Id', exact: true }).count(), 0, 'it says nothing to people');
  });

  t.test('an action of the collection has a form of its parameters', async (t) => {
    const page = await visit('/api/books');
    await page.getByRole('link', { name: 'List the newest books' }).click();
    t.equal(await page.getByLabel('Count').inputValue(), '3', 'the default');
    await page.getByLabel('Count').fill('2');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('region', { name: 'Answer' }).locator('tbody tr').nth(1).waitFor();
    t.equal(await page.locator('tbody tr').count(), 2);
  });

  t.test('rows are selected, and deleted together after a question', async (t) => {
    const page = await visit('/api/books?sort=-id&page_size=10');
    await logIn(page);
    const titles = ['Book 44', 'Book 45'];
    for (const title of titles) await page.getByRole('checkbox', { name: `Select ${title}` }).check();
    await page.getByText('2 records selected').waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('2 records deleted.').waitFor();
    t.equal((await app.inject('/api/books?search=Book')).json().count, 43);
  });

  t.test('a field of several records is changed one after the other where the API has no way for all', async (t) => {
    const page = await visit('/api/books?sort=id&page_size=10');
    await logIn(page);
    for (const title of ['Book 01', 'Book 02']) await page.getByRole('checkbox', { name: `Select ${title}` }).check();
    await page.getByRole('button', { name: 'Change…' }).click();
    await page.getByLabel('Field').selectOption('price');
    await page.getByRole('textbox', { name: 'Price' }).fill('much');
    await page.getByRole('button', { name: 'Change 2 records' }).click();
    await page.locator('.row-fault').nth(1).waitFor();
    await page.getByLabel('Field').selectOption('binding');
    await page.locator('#change-binding').selectOption('leather');
    await page.getByRole('button', { name: 'Change 2 records' }).click();
    await page.getByText('2 records changed.').waitFor();
    const changed = (await app.inject('/api/books?sort=id&binding=leather')).json();
    t.match(changed.results, [{ title: 'Book 01' }, { title: 'Book 02' }]);
  });
});
