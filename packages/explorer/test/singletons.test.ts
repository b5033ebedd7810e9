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

t.test('a singleton opens as the page of a record', { skip: skipWithoutBrowser() }, async (t) => {
  const orm = await openSqlite(t, { entities: ENTITIES });
  await orm.em.fork().insert(Author, { id: 1, name: 'Ann' });
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(openapi, { info: { title: 'Library', version: '1.0.0' } });
  await app.register(viewset, { orm });
  await app.register(explorer);
  await app.register(new Router({ prefix: 'api' }).register('author', AuthorViewSet).plugin);
  const page = await openPage(t, await openBrowser(t), { baseURL: await app.listen() });
  await page.goto('/api');
  await page.getByRole('main').getByRole('link', { name: 'Author' }).click();
  await page.waitForURL('**/api/author');
  await page.getByLabel('Name').fill('Bea');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Bea' }).waitFor();
  t.match(await orm.em.fork().findOneOrFail(Author, 1), { name: 'Bea' });
});
