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

class ArrayViewSet extends ModelViewSet(Author, {
  read,
  pagination: LimitOffsetPagination.with({ totalHeader: 'X-Total-Count', pageSize: 10 }),
}) {}

class RangeViewSet extends ModelViewSet(Author, {
  read,
  pagination: PageNumberPagination.with({ totalHeader: 'Content-Range', pageSize: 10 }),
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
    .register('arrays', ArrayViewSet)
    .register('ranges', RangeViewSet)
    .register('cursor', CursorViewSet);
  await app.register(router.plugin);
  const page = await openPage(t, await openBrowser(t), { baseURL: await app.listen() });
  const searchOf = () => new URL(page.url()).search;

  for (const [path, second, other] of [
    ['numbered', '?p=2', '?per=20'],
    ['offset', '?skip=10', '?take=20'],
    ['arrays', '?offset=10', '?limit=20'],
    ['ranges', '?page=2', '?page_size=20'],
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

  t.test('the total of an array is shown', async (t) => {
    for (const path of ['arrays', 'ranges']) {
      await page.goto(`/api/${path}`);
      await page.getByText(/\b1\D+10\D+25\b/).waitFor();
    }
    t.pass('1 to 10 of 25');
  });

  t.test('another order begins at the first page', async (t) => {
    await page.goto('/api/numbered?p=2');
    await page.getByRole('cell', { name: 'Author 11', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Name' }).click();
    await page.getByRole('cell', { name: 'Author 1', exact: true }).waitFor();
    t.equal(searchOf(), '?sort=name');
  });
});
