/** Unique values that pass between records of one operation of a batch, whose transaction is that of the batch. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { action, ModelViewSet, nested, readShape, Router, writeShape } from '@viewset/core';
import { Type } from 'typebox';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { testApp } from '../../core/test/support/library.ts';
import { BatchViewSet } from '../src/index.ts';

const ListSchema = defineEntity({
  name: 'List',
  properties: { id: p.integer().primary(), items: () => p.oneToMany(Item).mappedBy('list') },
});
class List extends ListSchema.class {}
ListSchema.setClass(List);
const ItemSchema = defineEntity({
  name: 'Item',
  uniques: [{ properties: ['list', 'position'] }],
  properties: { id: p.integer().primary(), position: p.integer(), list: () => p.manyToOne(List) },
});
class Item extends ItemSchema.class {}
ItemSchema.setClass(Item);

const write = writeShape(Item, ['position']);
class ListViewSet extends ModelViewSet(List, {
  read: readShape(List, ['id']),
  write: writeShape(List, [], { items: nested(write, { update: true }) }),
}) {}
class ItemViewSet extends ModelViewSet(Item, { read: readShape(Item, ['id', 'position']), write, bulk: 10 }) {
  several = action(
    { methods: ['post'], batchable: true, body: Type.Array(Type.Object({ position: Type.Integer() })) },
    async (request) => {
      for (const { position } of request.body) await this.performCreate(request, { position, list: 1 });
      return {};
    },
  );
}
class Batch extends BatchViewSet({ maxOperations: 10 }) {}

forEachDatabase(t, { entities: [List, Item] }, async (t, orm) => {
  const router = new Router({ prefix: 'api' })
    .register('lists', ListViewSet)
    .register('lists/:list/items', ItemViewSet)
    .register('batch', Batch);
  const app = await testApp(t, orm, [router]);
  const em = orm.em.fork();
  const list = em.create(List, { id: 1 });
  for (const position of [1, 2, 3]) em.create(Item, { id: position, position, list });
  await em.flush();
  const positions = async () => {
    const items = await orm.em.fork().findAll(Item, { orderBy: { id: 1 } });
    return items.map(({ position }) => position);
  };
  const send = async (operations: readonly object[]) => {
    const answer = await app.inject({ method: 'POST', url: '/api/batch', payload: { operations } });
    return { status: answer.statusCode, body: answer.json<{ details?: unknown }>() };
  };
  const bulk = (...body: object[]) => ({ method: 'PATCH', path: '/lists/1/items', body });

  await t.test('every operation may exchange values', async (t) => {
    const { status, body } = await send([
      bulk({ id: 1, position: 2 }, { id: 2, position: 1 }),
      {
        method: 'PATCH',
        path: '/lists/1',
        body: { items: [{ id: 1, position: 3 }, { id: 2 }, { id: 3, position: 2 }] },
      },
    ]);
    t.equal(status, 200, JSON.stringify(body));
    t.strictSame(await positions(), [3, 1, 2]);
  });

  await t.test('a value that another record has takes all of the batch back', async (t) => {
    const { status, body } = await send([
      bulk({ id: 1, position: 1 }, { id: 2, position: 3 }),
      bulk({ id: 3, position: 1 }, { id: 2, position: 2 }),
    ]);
    t.equal(status, 422, JSON.stringify(body));
    t.match(body.details, [{ in: 'body', path: '/operations/1/body/0/position', message: 'is taken' }]);
    t.strictSame(await positions(), [3, 1, 2]);
  });

  await t.test(
    'a conflict in an action of the batch is a 409, although the transaction has failed already',
    async (t) => {
      const several = { method: 'POST', path: '/lists/1/items/several', body: [{ position: 8 }, { position: 1 }] };
      const { status, body } = await send([several]);
      t.equal(status, 422, JSON.stringify(body));
      t.match(body, { operations: [{ status: 409, body: { code: 'conflict' } }] });
      t.strictSame(await positions(), [3, 1, 2]);
    },
  );
});
