/** An API that nobody can log in to: every control is there at once. */
import { ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import { openapi } from '@viewset/openapi';
import { fastify } from 'fastify';
import t from 'tap';
import { openSqlite } from '../../core/test/support/databases.ts';
import { explorer } from '../src/index.ts';
import { openBrowser, openPage, skipWithoutBrowser } from './support/browser.ts';
import { Author, Book } from './support/library.ts';

t.setTimeout(110_000);

class AuthorViewSet extends ModelViewSet(Author, {
  read: readShape(Author, ['id', 'name']),
  write: writeShape(Author, ['name']),
  searchFields: ['name'],
}) {}
class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title', 'price', 'binding', 'author']),
  write: writeShape(Book, ['title', 'price', 'binding', 'author']),
}) {}

for (const listsPermitted of [true, false]) {
  const name = listsPermitted ? 'whose OPTIONS tell what is permitted' : 'whose OPTIONS tell nothing';
  t.test(`an API without a login, ${name}`, { skip: skipWithoutBrowser() }, async (t) => {
    const orm = await openSqlite(t, { entities: [Author, Book] });
    const app = fastify(serverOptions());
    t.teardown(() => app.close());
    await app.register(openapi, { info: { title: 'Library', version: '1.0.0' } });
    await app.register(viewset, { orm });
    await app.register(explorer);
    if (!listsPermitted) {
      app.addHook('onRequest', async (request, reply) =>
        request.method === 'OPTIONS' ? reply.code(204).send() : undefined,
      );
    }
    await app.register(
      new Router({ prefix: 'api' }).register('authors', AuthorViewSet).register('books', BookViewSet).plugin,
    );
    const baseURL = await app.listen({ port: 0, host: '127.0.0.1' });
    for (const name of ['Ada', 'Ben']) await app.inject({ method: 'POST', url: '/api/authors', payload: { name } });
    const page = await openPage(t, await openBrowser(t), { baseURL });

    await page.goto('/api/books#new=');
    await page.getByLabel('Title').fill('Emma');
    await page.getByLabel('Price').fill('4.5');
    await page.getByLabel('Binding').selectOption('paper');
    await page.getByRole('combobox', { name: 'Author' }).fill('Ben');
    await page.getByRole('option', { name: 'Ben' }).click();
    await page.getByRole('button', { name: 'New book' }).click();
    await page.waitForURL('**/api/books/1');
    t.match((await app.inject('/api/books/1')).json(), { title: 'Emma', author: 2 });
    t.equal(await page.getByRole('main').getByText('log in', { exact: false }).count(), 0, 'nobody is asked to log in');
  });
}
