/** The actions of a view that shows deleted records: typed as those that a view declares. */
import { defineEntity, p } from '@mikro-orm/core';
import { AllowAny, ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import { fastify } from 'fastify';
import t from 'tap';
import { openSqlite } from '../../core/test/support/databases.ts';
import { createClient, type DataOf } from '../src/index.ts';

const Leaf = defineEntity({
  name: 'Leaf',
  properties: { id: p.integer().primary(), title: p.string().length(20), deleted_at: p.datetime().nullable() },
});
const declared = {
  read: readShape(Leaf, ['id', 'title', 'deleted_at']),
  write: writeShape(Leaf, ['title']),
  orderingFields: { title: 'title' },
} as const;
class Leaves extends ModelViewSet(Leaf, {
  ...declared,
  softDelete: { property: 'deleted_at', visibleTo: [AllowAny] },
}) {}
class Hidden extends ModelViewSet(Leaf, { ...declared, softDelete: 'deleted_at' }) {}

const router = () => new Router({ prefix: 'api' }).register('leaves', Leaves).register('hidden', Hidden);
type Api = ReturnType<typeof router>;

t.test('deleted records are listed and restored by typed calls', async (t) => {
  const orm = await openSqlite(t, { entities: [Leaf] });
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  await app.register(router().plugin);
  const api = createClient<Api>({ url: `${await app.listen({ port: 0, host: '127.0.0.1' })}/api` });
  const { id } = await api.leaves.create({ title: 'Oak' });
  await api.leaves.destroy(id);
  const page: DataOf<typeof api.leaves.list> = await api.leaves.deleted({ sort: '-title', page: 1 });
  t.equal(page.count, 1);
  const leaf: DataOf<typeof api.leaves.retrieve> = await api.leaves.restore.post(id);
  t.strictSame(leaf, { id, title: 'Oak', deleted_at: null });
  t.match(await api.leaves.restore.post.safe(id), { ok: false, status: 404 });
  // @ts-expect-error nobody sees the deleted records of this view
  await t.rejects(api.hidden.restore.post(id), { status: 404 });
  // @ts-expect-error nor lists them
  await t.rejects(api.hidden.deleted(), { status: 404 });
});
