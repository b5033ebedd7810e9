/** The history in documents, and in the types of the client. */
import { defineEntity, p } from '@mikro-orm/core';
import { ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import { fastify } from 'fastify';
import t from 'tap';
import { createClient, type DataOf } from '../../client/src/index.ts';
import { openSqlite } from '../../core/test/support/databases.ts';
import { documentOf } from '../../openapi/test/support/app.ts';
import { isValidDocument } from '../../openapi/test/support/valid-document.ts';
import { openapi } from '../../openapi/src/index.ts';
import { history, HistoryEntry } from '../src/index.ts';

const Leaf = defineEntity({
  name: 'Leaf',
  properties: { id: p.integer().primary(), title: p.string().length(20), weight: p.integer().nullable() },
});
const shapes = { read: readShape(Leaf, ['id', 'title', 'weight']), write: writeShape(Leaf, ['title', 'weight']) };
class Leafs extends ModelViewSet(Leaf, { ...shapes, history: { at: true, revert: true } }) {}
class Listed extends ModelViewSet(Leaf, { ...shapes, history: true }) {}
class Plain extends ModelViewSet(Leaf, { ...shapes, history: false }) {}

const router = () =>
  new Router({ prefix: 'api' }).register('leafs', Leafs).register('listed', Listed).register('plain', Plain);
type Api = ReturnType<typeof router>;

t.test('documents and clients know the routes of a history', async (t) => {
  const orm = await openSqlite(t, { entities: [Leaf, HistoryEntry] });
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  await app.register(history);
  await app.register(openapi, { info: { title: 'Leafs', version: '1' } });
  await app.register(router().plugin);
  const api = createClient<Api>({ url: `${await app.listen({ port: 0, host: '127.0.0.1' })}/api` });

  const { id } = await api.leafs.create({ title: 'Oak' });
  await api.leafs.update(id, { title: 'Elm', weight: 3 });
  const page = await api.leafs.history(id, { page_size: 5 });
  const [entry, first] = page.results;
  const title: string | undefined = entry!.changes.title?.from;
  const weight: number | null | undefined = entry!.record.weight;
  t.strictSame([page.count, title, weight, entry!.kind, entry!.user], [2, 'Oak', 3, 'updated', null]);
  const action: string = entry!.action;
  t.equal(action, 'update');
  const now: DataOf<typeof api.leafs.retrieve> = await api.leafs.retrieve(id, { at: new Date() });
  t.equal(now.title, 'Elm');
  const back: DataOf<typeof api.leafs.retrieve> = await api.leafs.revert.post(id, { entry: first!.id });
  t.strictSame(back, { id, title: 'Oak', weight: null });
  t.equal((await api.listed.history(id)).count, 3, 'views of one entity share its entries');
  // @ts-expect-error the view does not say so
  await t.rejects(api.listed.revert.post(id, { entry: first!.id }), { status: 404 });
  // @ts-expect-error nor does it answer for the past
  await t.rejects(api.listed.retrieve(id, { at: '2026-01-01' }), { status: 400 });
  // @ts-expect-error and this one keeps none
  await t.rejects(api.plain.history(id), { status: 404 });

  const document = await documentOf(app);
  await isValidDocument(t, document);
  const path = document.paths['/api/leafs/{pk}/history']!.get!;
  t.match(path, { operationId: 'historyLeaf', 'x-viewset': { action: 'history' } });
  const names = ({ parameters }: typeof path) =>
    parameters.map((each) => {
      const { name, $ref } = each as { readonly name?: string; readonly $ref?: string };
      return (name ?? $ref!.split('/').at(-1)!).toLowerCase();
    });
  t.match(names(path), ['pk', /^page\d?$/, /^pagesize\d?$/]);
  t.ok(names(document.paths['/api/leafs/{pk}']!.get!).includes('at'));
  t.notOk(names(document.paths['/api/listed/{pk}']!.get!).includes('at'));
  t.match(document.paths['/api/leafs/{pk}/revert']!.post, { operationId: 'revertLeaf' });
  t.notOk(document.paths['/api/listed/{pk}/revert']);
  t.notOk(document.paths['/api/plain/{pk}/history']);
});
