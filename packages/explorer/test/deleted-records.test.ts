/** A view that shows deleted records: they are listed by an action, and the page of one offers to restore it. */
import { defineEntity, p } from '@mikro-orm/core';
import { AllowAny, ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import { openapi } from '@viewset/openapi';
import { fastify } from 'fastify';
import t from 'tap';
import { openSqlite } from '../../core/test/support/databases.ts';
import { explorer } from '../src/index.ts';
import { openBrowser, openPage, skipWithoutBrowser } from './support/browser.ts';

t.setTimeout(110_000);

const Leaf = defineEntity({
  name: 'Leaf',
  properties: { id: p.integer().primary(), title: p.string().length(20), deleted_at: p.datetime().nullable() },
});
class LeafViewSet extends ModelViewSet(Leaf, {
  read: readShape(Leaf, ['id', 'title']),
  write: writeShape(Leaf, ['title']),
  softDelete: { property: 'deleted_at', visibleTo: [AllowAny] },
}) {}

t.test('a deleted record is found and restored', { skip: skipWithoutBrowser() }, async (t) => {
  const orm = await openSqlite(t, { entities: [Leaf] });
  await orm.em.fork().insert(Leaf, { id: 7, title: 'Oak', deleted_at: new Date() });
  await orm.em.fork().insert(Leaf, { id: 8, title: 'Elm', deleted_at: null });
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(openapi, { info: { title: 'Leafs', version: '1.0.0' } });
  await app.register(viewset, { orm });
  await app.register(explorer);
  await app.register(new Router({ prefix: 'api' }).register('leafs', LeafViewSet).plugin);
  const page = await openPage(t, await openBrowser(t), { baseURL: await app.listen() });
  await page.goto('/api/leafs/8');
  await page.getByRole('heading', { name: 'Elm' }).waitFor();
  t.equal(await page.getByRole('link', { name: 'Restore leaf' }).count(), 0, 'it is not deleted');
  await page.goto('/api/leafs');
  await page.getByRole('link', { name: 'Deleted leafs' }).click();
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByRole('link', { name: /Oak|7/ }).first().click();
  await page.waitForURL('**/api/leafs/7');
  await page.getByRole('link', { name: 'Restore leaf' }).click();
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('Oak').first().waitFor();
  t.match(await orm.em.fork().findOneOrFail(Leaf, 7), { deleted_at: null });
  await page.goto('/api/leafs/9');
  await page.getByText('Not found').first().waitFor();
  t.equal(await page.getByRole('link', { name: 'Restore leaf' }).count(), 0, 'there is no such record');
});
