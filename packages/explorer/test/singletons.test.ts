import { ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import { openapi } from '@viewset/openapi';
import { fastify } from 'fastify';
import t from 'tap';
import { openSqlite } from '../../core/test/support/databases.ts';
import { explorer } from '../src/index.ts';
import { openBrowser, openPage, skipWithoutBrowser } from './support/browser.ts';
import { Author, ENTITIES } from './support/library.ts';

t.setTimeout(110_000);

class AuthorViewSet extends ModelViewSet(Author, {
  read: readShape(Author, ['id', 'name']),
  write: writeShape(Author, ['name']),
  singleton: () => ({ id: 1 }),
}) {}

class NoteViewSet extends ModelViewSet(Author, {
  read: readShape(Author, ['name']),
  write: writeShape(Author, ['name']),
  singleton: () => ({ id: 2 }),
  operations: ['create', 'retrieve', 'update', 'destroy'],
  fill: { id: () => 2 },
  etags: true,
}) {}

t.test('a singleton opens as the page of a record', { skip: skipWithoutBrowser() }, async (t) => {
  const orm = await openSqlite(t, { entities: ENTITIES });
  await orm.em.fork().insert(Author, { id: 1, name: 'Ann' });
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(openapi, { info: { title: 'Library', version: '1.0.0' } });
  await app.register(viewset, { orm });
  await app.register(explorer);
  await app.register(
    new Router({ prefix: 'api' }).register('author', AuthorViewSet).register('note', NoteViewSet).plugin,
  );
  const page = await openPage(t, await openBrowser(t), { baseURL: await app.listen() });
  await page.goto('/api');
  await page.getByRole('main').getByRole('link', { name: 'Author' }).click();
  await page.waitForURL('**/api/author');
  await page.getByLabel('Name').fill('Bea');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Bea' }).waitFor();
  t.match(await orm.em.fork().findOneOrFail(Author, 1), { name: 'Bea' });

  await page.goto('/api');
  const note = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'Note' }) });
  t.match(await note.innerText(), 'One record');
  t.equal(await page.getByRole('main').getByText('Create the note').count(), 0, 'it is no action beside the pages');
  await note.getByRole('link', { name: 'Note' }).click();
  await page.getByText('There is none yet. Fill in the form to create it.').waitFor();
  await page.getByLabel('Name').fill('Cid');
  await page.getByRole('button', { name: 'New author' }).click();
  await page.getByText('The author is there now.').waitFor();
  await page.getByRole('heading', { name: 'Cid' }).waitFor();
  await page.getByLabel('Name').fill('Dot');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Dot' }).waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('There is none yet.').waitFor();
  t.equal(await orm.em.fork().count(Author), 1);
});
