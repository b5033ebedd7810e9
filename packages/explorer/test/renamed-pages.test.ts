import {
  CursorPagination,
  LimitOffsetPagination,
  ModelViewSet,
  PageNumberPagination,
  readShape,
  Router,
  serverOptions,
  viewset,
} from '@viewset/core';
import { openapi } from '@viewset/openapi';
import { fastify } from 'fastify';
import t from 'tap';
import { openSqlite } from '../../core/test/support/databases.ts';
import { explorer } from '../src/index.ts';
import { openBrowser, openPage, skipWithoutBrowser } from './support/browser.ts';
import { Author, ENTITIES } from './support/library.ts';

t.setTimeout(110_000);

const read = readShape(Author, ['id', 'name']);

class NumberedViewSet extends ModelViewSet(Author, {
  read,
  orderingFields: { name: 'name' },
  pagination: PageNumberPagination.with({ names: { page: 'p', page_size: 'per' }, pageSize: 10 }),
}) {}

class OffsetViewSet extends ModelViewSet(Author, {
  read,
  pagination: LimitOffsetPagination.with({ names: { limit: 'take', offset: 'skip' }, pageSize: 10 }),
}) {}

class CursorViewSet extends ModelViewSet(Author, {
  read,
  pagination: CursorPagination.with({ names: { cursor: 'after', page_size: 'per' }, pageSize: 10 }),
}) {}

t.test('pages with renamed parameters', { skip: skipWithoutBrowser() }, async (t) => {
  const orm = await openSqlite(t, { entities: ENTITIES });
  const authors = Array.from({ length: 25 }, (_, index) => ({ id: index + 1, name: `Author ${index + 1}` }));
  await orm.em.fork().insertMany(Author, authors);
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(openapi, { info: { title: 'Library', version: '1.0.0' } });
  await app.register(viewset, { orm, secret: 'a secret of at least thirty-two bytes' });
  await app.register(explorer);
  const router = new Router({ prefix: 'api' })
    .register('numbered', NumberedViewSet)
    .register('offset', OffsetViewSet)
    .register('cursor', CursorViewSet);
  await app.register(router.plugin);
  const page = await openPage(t, await openBrowser(t), { baseURL: await app.listen() });
  const searchOf = () => new URL(page.url()).search;

  for (const [path, second, other] of [
    ['numbered', '?p=2', '?per=20'],
    ['offset', '?skip=10', '?take=20'],
    ['cursor', /^\?after=./, '?per=20'],
  ] as const) {
    t.test(path, async (t) => {
      await page.goto(`/api/${path}`);
      await page.getByRole('cell', { name: 'Author 1', exact: true }).waitFor();
      await page.getByRole('button', { name: 'Next' }).click();
      await page.getByRole('cell', { name: 'Author 11', exact: true }).waitFor();
      t.match(searchOf(), second);
      t.equal(await page.getByRole('button', { name: /Filter/ }).count(), 0, 'no parameter of pages is a filter');
      await page.getByRole('combobox', { name: 'Rows' }).selectOption('20');
      await page.getByRole('cell', { name: 'Author 20', exact: true }).waitFor();
      t.equal(searchOf(), other, 'back on the first page');
    });
  }

  t.test('another order begins at the first page', async (t) => {
    await page.goto('/api/numbered?p=2');
    await page.getByRole('cell', { name: 'Author 11', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Name' }).click();
    await page.getByRole('cell', { name: 'Author 1', exact: true }).waitFor();
    t.equal(searchOf(), '?sort=name');
  });
});
