import { action, ModelViewSet, readShape, Router, serverOptions, viewset, ViewSet } from '@viewset/core';
import { openapi } from '@viewset/openapi';
import { fastify } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import { openSqlite } from '../../core/test/support/databases.ts';
import { explorer } from '../src/index.ts';
import { openBrowser, openPage, skipWithoutBrowser } from './support/browser.ts';
import { Author, ENTITIES } from './support/library.ts';

t.setTimeout(110_000);

class AuthorViewSet extends ModelViewSet(Author, { read: readShape(Author, ['id', 'name']) }) {}

class DeskViewSet extends ViewSet {
  opening = action(
    {
      summary: 'List the opening hours',
      response: Type.Array(Type.Object({ day: Type.String(), hours: Type.String() })),
    },
    () => [{ day: 'Monday', hours: '9 to 5' }],
  );
}

t.test('actions of a view without a list are on the page of the root', { skip: skipWithoutBrowser() }, async (t) => {
  const orm = await openSqlite(t, { entities: ENTITIES });
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(openapi, { info: { title: 'Library', version: '1.0.0' } });
  await app.register(viewset, { orm });
  await app.register(explorer);
  await app.register(
    new Router({ prefix: 'api' }).register('authors', AuthorViewSet).register('desk', DeskViewSet).plugin,
  );
  const page = await openPage(t, await openBrowser(t), { baseURL: await app.listen() });
  await page.goto('/api');
  await page.getByRole('link', { name: 'List the opening hours' }).click();
  await page.getByRole('cell', { name: '9 to 5' }).waitFor();
  t.equal(await page.getByRole('button', { name: 'Run', exact: true }).count(), 0, 'there was nothing to ask');
  await page.getByRole('button', { name: 'Run again' }).click();
  await page.getByRole('cell', { name: 'Monday' }).waitFor();
  await page.goBack();
  await page.getByRole('link', { name: 'Authors' }).first().waitFor();
});
