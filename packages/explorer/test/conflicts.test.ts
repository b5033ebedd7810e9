import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { save } from './support/hold.ts';
import { openTracker } from './support/tracker.ts';

t.setTimeout(110_000);

const TICKETS = '/api/projects/lighthouse/tickets';

t.test('two users change a record', { skip: skipWithoutBrowser() }, async (t) => {
  const { visit, read, send } = await openTracker(t);

  t.test('for each field that both have changed the user selects one of both values', async (t) => {
    const page = await visit('ada', `${TICKETS}/1`);
    await page.getByLabel('Title').fill('Mine');
    await page.getByLabel('Minutes spent').fill('7');
    const theirs = { title: 'Theirs', minutes_spent: 9, priority: 5 };
    t.equal(await send('ben', 'PATCH', `${TICKETS}/1`, theirs), 200);
    await page.getByRole('button', { name: 'Save' }).click();
    const title = page.getByRole('group', { name: 'Title: both of you' });
    const minutes = page.getByRole('group', { name: 'Minutes spent: both of you' });
    await title.waitFor();
    t.match(await title.innerText(), /Yours\s*Mine\s*Theirs\s*Theirs/);
    t.match(await minutes.innerText(), /Yours\s*7\s*Theirs\s*9/);
    t.equal(
      await page.getByRole('group', { name: 'both of you' }).count(),
      2,
      'only where both have changed something',
    );
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('Choose between your value and theirs first').waitFor();
    t.match(await read('ada', `${TICKETS}/1`), theirs, 'nothing is overwritten unseen');
    await title.getByLabel('Theirs').check();
    t.equal(await page.getByLabel('Title').inputValue(), 'Theirs');
    await title.getByLabel('Yours').check();
    t.equal(await page.getByLabel('Title').inputValue(), 'Mine', 'what was entered comes back');
    await title.getByLabel('Theirs').check();
    await minutes.getByLabel('Yours').check();
    const sent = page.waitForRequest((request) => request.method() === 'PATCH');
    await save(page, 'Save');
    t.strictSame((await sent).postDataJSON(), { minutes_spent: 7 });
    t.match(await read('ada', `${TICKETS}/1`), { ...theirs, minutes_spent: 7 });
    t.equal(await page.getByRole('group', { name: 'both of you' }).count(), 0);
  });

  t.test('a choice that is still to be made is there after a look at another page', async (t) => {
    const page = await visit('ada', `${TICKETS}/3`);
    await page.getByLabel('Title').fill('Mine');
    t.equal(await send('ben', 'PATCH', `${TICKETS}/3`, { title: 'Theirs' }), 200);
    await page.getByRole('button', { name: 'Save' }).click();
    const title = page.getByRole('group', { name: 'Title: both of you' });
    await title.waitFor();
    await page.locator('.crumbs').getByRole('link', { name: 'Tickets' }).click();
    await page.getByRole('row').nth(1).waitFor();
    await page.goBack();
    await title.waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('Choose between your value and theirs first').waitFor();
    t.match(await read('ada', `${TICKETS}/3`), { title: 'Theirs' });
  });
});
