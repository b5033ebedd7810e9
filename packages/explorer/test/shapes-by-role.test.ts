/** Forms of views whose write shape depends on the person: they show what this person may send. */
import { ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import { openapi } from '@viewset/openapi';
import { fastify } from 'fastify';
import t from 'tap';
import { openSqlite } from '../../core/test/support/databases.ts';
import { explorer } from '../src/index.ts';
import { openBrowser, openPage, skipWithoutBrowser } from './support/browser.ts';
import { Author, Book } from './support/library.ts';

t.setTimeout(110_000);

/** The role of whoever is at the page. */
let role: 'staff' | undefined;

class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title', 'price', 'binding', 'pages']),
  write: {
    default: writeShape(Book, ['title', 'price', 'binding', 'author']),
    staff: writeShape(Book, ['title', 'price', 'binding', 'author', 'pages']),
  },
  bulk: 5,
}) {
  override writeShapeFor() {
    return role;
  }
}
class AuthorViewSet extends ModelViewSet(Author, {
  read: readShape(Author, ['id', 'name']),
  write: writeShape(Author, ['name']),
}) {}

t.test('forms have the fields of the shape that OPTIONS returns', { skip: skipWithoutBrowser() }, async (t) => {
  const orm = await openSqlite(t, { entities: [Author, Book] });
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(openapi, { info: { title: 'Library', version: '1.0.0' } });
  await app.register(viewset, { orm });
  await app.register(explorer);
  await app.register(
    new Router({ prefix: 'api' }).register('authors', AuthorViewSet).register('books', BookViewSet).plugin,
  );
  const baseURL = await app.listen({ port: 0, host: '127.0.0.1' });
  await app.inject({ method: 'POST', url: '/api/authors', payload: { name: 'Ada' } });
  const payload = { title: 'Emma', price: 5, binding: 'paper', author: 1 };
  await app.inject({ method: 'POST', url: '/api/books', payload });
  const page = await openPage(t, await openBrowser(t), { baseURL });
  const pagesIn = async (path: string): Promise<number> => {
    await page.goto('/api');
    await page.goto(path);
    await page.getByLabel('Title').waitFor();
    return page.getByLabel('Pages').count();
  };

  t.equal(await pagesIn('/api/books#new='), 0);
  t.equal(await pagesIn('/api/books/1'), 0);
  role = 'staff';
  t.equal(await pagesIn('/api/books#new='), 1);
  t.equal(await pagesIn('/api/books/1'), 1);
  await page.getByLabel('Pages').fill('77');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved').waitFor();
  t.match((await app.inject('/api/books/1')).json(), { title: 'Emma', pages: 77 });
});
