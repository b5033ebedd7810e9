/** Lists within a transaction, where MongoDB has no `$unionWith`. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { action, inTransaction, ModelViewSet, readShape, Router } from '@viewset/core';
import { openMongo, skipMongo } from '../../core/test/support/databases.ts';
import { testApp } from '../../core/test/support/library.ts';
import { MIN_DOCUMENTS } from '../src/backend/related-keys.ts';

const Maker = defineEntity({
  name: 'Maker',
  properties: { id: p.integer().primary(), name: p.string().length(20) },
});
const Item = defineEntity({
  name: 'Item',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20),
    maker: () => p.manyToOne(Maker),
    seller: () => p.manyToOne(Maker),
  },
});

t.test('a list in a transaction returns the same as outside of one', { skip: skipMongo() }, async (t) => {
  const orm = await openMongo(t, { entities: [Maker, Item] });
  const em = orm.em.fork();
  const makers = ['one', 'two'].map((name) => em.create(Maker, { name }));
  await em.flush();
  const of = (index: number) => makers[index % 2]!.id;
  const items = Array.from({ length: MIN_DOCUMENTS }, (_, index) => ({
    id: index + 1,
    name: 'item',
    maker: of(index),
    seller: of(index + 1),
  }));
  await em.insertMany(Item, items);
  class ItemViewSet extends ModelViewSet(Item, {
    read: readShape(Item, ['id', 'name']),
    filterFields: { maker: 'maker__name', seller: 'seller__name' },
  }) {
    within = action({ listParameters: true }, (request, reply) =>
      inTransaction(request, () => Promise.resolve(this.list(request, reply))),
    );
  }
  const app = await testApp(t, orm, [new Router().register('items', ItemViewSet)]);
  for (const query of ['', '?maker=one&seller=two', '?maker=one']) {
    const outside = await app.inject(`/items${query}`);
    const within = await app.inject(`/items/within${query}`);
    t.equal(within.statusCode, 200, within.body);
    t.strictSame(within.json(), outside.json());
    t.ok(within.json<{ count: number }>().count > 0);
  }
});
