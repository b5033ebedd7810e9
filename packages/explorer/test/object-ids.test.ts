/** Keys that MongoDB makes, on pages: what a link leads to, and what a field of another record's key is given by. */
import { serverOptions, viewset } from '@viewset/core';
import { openapi } from '@viewset/openapi';
import { fastify } from 'fastify';
import t from 'tap';
import { openMongo, skipMongo } from '../../core/test/support/databases.ts';
import { NOTES, notesRouter } from '../../core/test/support/notes.ts';
import { explorer } from '../src/index.ts';
import { openBrowser, openPage, skipWithoutBrowser } from './support/browser.ts';
import { hold } from './support/hold.ts';

t.setTimeout(110_000);

t.test('ObjectIds in a browser', { skip: skipMongo() || skipWithoutBrowser() }, async (t) => {
  const orm = await openMongo(t, { entities: NOTES });
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(openapi, { info: { title: 'Notes', version: '1.0.0' } });
  await app.register(viewset, { orm });
  await app.register(explorer);
  await app.register(notesRouter().plugin);
  const baseURL = await app.listen({ port: 0, host: '127.0.0.1' });
  const make = async (url: string, payload: object) => (await app.inject({ method: 'POST', url, payload })).json();
  const ada = await make('/api/authors', { name: 'Ada' });
  const ben = await make('/api/authors', { name: 'Ben' });
  const note = await make('/api/notes', { text: 'First', author: ada.id, tags: [] });
  const page = await openPage(t, await openBrowser(t), { baseURL });

  await page.goto('/api/authors');
  await page.getByRole('link', { name: 'Ada' }).click();
  await page.getByRole('heading', { name: 'Ada' }).waitFor();
  t.equal(new URL(page.url()).pathname, `/api/authors/${ada.id}`);

  await page.goto('/api/notes');
  const title = await hold(page, (request) => new URL(request.url()).pathname === `/api/authors/${ada.id}`);
  await page.getByRole('link', { name: note.id }).click();
  await page.getByLabel('Text').waitFor();
  t.equal(new URL(page.url()).pathname, `/api/notes/${note.id}`);
  const author = page.getByRole('combobox', { name: 'Author' });
  await title.asked;
  await author.focus();
  await title.release();
  const isShown = (text: string) =>
    page.waitForFunction(
      (wanted) => document.querySelector<HTMLInputElement>('#record-author')?.value === wanted,
      text,
    );
  await isShown(`Ada · ${ada.id}`);
  await page.keyboard.type('Be');
  t.equal(await author.inputValue(), 'Be', 'whoever is in the field types over a title that comes late');
  await author.press('Escape');
  await isShown(`Ada · ${ada.id}`);
  await page.keyboard.type('Ben');
  t.equal(await author.inputValue(), 'Ben', 'and over what is there again');
  await page.getByRole('option', { name: 'Ben' }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  t.equal((await app.inject(`/api/notes/${note.id}`)).json().author, ben.id);
  await page.getByRole('main').getByRole('link', { name: 'Scans' }).click();
  await page.getByRole('heading', { name: 'Scans' }).waitFor();
  t.equal(new URL(page.url()).pathname, `/api/notes/${note.id}/scans`);

  await page.goto('/api/notes');
  await page.getByRole('button', { name: 'Filters' }).click();
  const filter = page.getByRole('textbox', { name: 'Id' });
  await filter.fill(note.id);
  await filter.press('Enter');
  await page.waitForURL((url) => url.searchParams.get('id') === note.id);
  await page.getByText('1–1 of 1').waitFor();
});
