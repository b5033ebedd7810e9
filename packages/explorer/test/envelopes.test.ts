import t from 'tap';
import { openSqlite } from '../../core/test/support/databases.ts';
import { buildApp } from '../../../examples/conduit/src/app.ts';
import { ENTITIES } from '../../../examples/conduit/src/entities.ts';
import { openBrowser, openPage, skipWithoutBrowser } from './support/browser.ts';

t.setTimeout(110_000);

t.test('Conduit, whose records are in envelopes', { skip: skipWithoutBrowser() }, async (t) => {
  const orm = await openSqlite(t, { entities: ENTITIES });
  const app = await buildApp({ orm, secret: 'a secret of 32 bytes for the tests', bcryptRounds: 4 });
  t.teardown(() => app.close());
  const baseURL = await app.listen();
  const ann = { username: 'ann', email: 'ann@example.com', password: 'ann-password' };
  const { user } = (await app.inject({ method: 'POST', url: '/api/users', payload: { user: ann } })).json<{
    user: { token: string };
  }>();
  const headers = { authorization: `Token ${user.token}` };
  for (let count = 1; count <= 25; count++) {
    const article = {
      title: `Dragon ${count}`,
      description: 'How to train it',
      body: 'With patience',
      tagList: ['dragons'],
    };
    await app.inject({ method: 'POST', url: '/api/articles', headers, payload: { article } });
  }
  const page = await openPage(t, await openBrowser(t), { baseURL });

  t.test('a list has pages, their end and the count', async (t) => {
    await page.goto('/api/articles');
    await page.getByText('1–20 of 25').waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('21–25 of 25').waitFor();
    t.equal(await page.getByRole('button', { name: 'Next' }).getAttribute('aria-disabled'), 'true');
    await page.getByRole('button', { name: 'Previous' }).click();
    await page.getByText('1–20 of 25').waitFor();
  });

  t.test('a custom login of the API', async () => {
    await page.getByRole('button', { name: 'Log in' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Email').fill(ann.email);
    await dialog.getByLabel('Password').fill(ann.password);
    await dialog.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('banner').getByText('ann').first().waitFor();
  });

  t.test('a record is created, with errors at their fields, and changed', async (t) => {
    await page.getByRole('link', { name: 'New article' }).click();
    await page.getByLabel('Title').fill('How to ride');
    await page.getByRole('button', { name: 'New article' }).click();
    await page.locator('#new-description-faults').waitFor();
    await page.getByLabel('Description').fill('A saddle helps');
    await page.getByLabel('Body').fill('Hold on');
    await page.getByRole('button', { name: 'New article' }).click();
    await page.getByRole('heading', { name: 'How to ride' }).waitFor();
    t.match(new URL(page.url()).pathname, /^\/api\/articles\/how-to-ride-/);
    await page.getByLabel('Title').fill('How to fly');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    await page.getByRole('heading', { name: 'How to fly' }).waitFor();
  });

  t.test('a list without pages, and an action that returns a page', async () => {
    const comments = page.getByRole('link', { name: 'Comments', exact: true });
    await comments.click();
    await page.getByText('No comments yet.').waitFor();
    await page.getByRole('link', { name: 'New comment' }).click();
    await page.getByLabel('Body').fill('It works');
    await page.getByRole('button', { name: 'New comment' }).click();
    await page.getByRole('cell', { name: 'It works' }).waitFor();
    await page.goto('/api/articles?tag=dragons');
    await page.getByText('of 25').waitFor();
  });

  t.test('a view that only creates is on the page of the root', async () => {
    await page.goto('/api');
    await page.getByRole('link', { name: /^Create an? user$/ }).click();
    await page.getByLabel('Username').fill('bob');
    await page.getByLabel('Email').fill('bob@example.com');
    await page.getByLabel('Password').fill('bob-password');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('Done: 201 Created').waitFor();
  });
});
