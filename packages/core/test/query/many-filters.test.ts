/** MikroORM's filters in relations to many, against what `em.find` populates under them. */
import { defineEntity, type EntityManager, p } from '@mikro-orm/core';
import t from 'tap';
import { QuerySet } from '../../src/query/queryset.ts';
import { many } from '../../src/shapes/read/many.ts';
import { readShape } from '../../src/shapes/read/read-shape.ts';
import { forEachDatabase } from '../support/databases.ts';
import { recordQueries } from './record-queries.ts';

const Shop = defineEntity({
  name: 'Shop',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    chain: () => p.manyToOne(Chain).nullable(),
    items: () => p.oneToMany(Item).mappedBy('shop'),
    all: () => p.oneToMany(Item).mappedBy('shop').filters(false),
    dear: () =>
      p
        .oneToMany(Item)
        .mappedBy('shop')
        .where({ price: { $gt: 5 } })
        .filters({ tenant: { id: 1 } }),
  },
  filters: { open: { name: 'open', cond: { name: { $ne: 'closed' } }, default: false } },
});

const Chain = defineEntity({
  name: 'Chain',
  properties: { id: p.integer().primary(), gone: p.boolean(), shops: () => p.oneToMany(Shop).mappedBy('chain') },
  filters: { live: { name: 'live', cond: { gone: false }, default: true } },
});

const Maker = defineEntity({
  name: 'Maker',
  properties: { id: p.integer().primary(), name: p.string(), gone: p.boolean() },
  filters: { live: { name: 'live', cond: { gone: false }, default: true } },
});

const Item = defineEntity({
  name: 'Item',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    price: p.integer(),
    tenant: p.integer().default(1),
    gone: p.boolean().default(false),
    shop: () => p.manyToOne(Shop),
    maybe: () => p.manyToOne(Maker).nullable(),
    must: () => p.manyToOne(Maker),
    labels: () => p.manyToMany(Label),
  },
  filters: {
    live: { name: 'live', cond: { gone: false }, default: true },
    tenant: { name: 'tenant', cond: (args: { id: number }) => ({ tenant: args.id }), default: false },
  },
});

const Label = defineEntity({
  name: 'Label',
  properties: {
    id: p.integer().primary(),
    text: p.string(),
    gone: p.boolean(),
    items: () => p.manyToMany(Item).mappedBy('labels'),
  },
  filters: { live: { name: 'live', cond: { gone: false }, default: true } },
});

forEachDatabase(t, { entities: [Shop, Chain, Maker, Item, Label] }, async (t, orm, database) => {
  const setUp = orm.em.fork();
  const shop = setUp.create(Shop, { name: 'open', chain: setUp.create(Chain, { gone: true }) });
  setUp.create(Shop, { name: 'closed' });
  const here = setUp.create(Maker, { name: 'here', gone: false });
  const gone = setUp.create(Maker, { name: 'gone', gone: true });
  const [red, old] = [false, true].map((isGone) => setUp.create(Label, { text: isGone ? 'old' : 'red', gone: isGone }));
  const labels = [red, old] as never;
  setUp.create(Item, { name: 'plain', price: 1, shop, must: here, maybe: here, labels });
  setUp.create(Item, { name: 'dropped', price: 9, shop, must: here, gone: true, labels });
  setUp.create(Item, { name: 'of a maker that is gone', price: 9, shop, must: gone });
  setUp.create(Item, { name: 'perhaps of one', price: 9, shop, must: here, maybe: gone });
  setUp.create(Item, { name: 'of another tenant', price: 9, tenant: 2, shop, must: here });
  await setUp.flush();

  const shape = readShape(Shop, ['name'], {
    items: many(readShape(Item, ['name'], { maker: 'maybe.name', labels: many('labels.text') })),
    all: many('all.name'),
    dear: many('dear.name'),
  });
  const projection = shape.bind(orm.getMetadata().get(Shop), orm.em.getPlatform());
  const read = (em: EntityManager) => QuerySet.of(em, Shop).orderBy('id').rows(projection);
  const found = async (em: EntityManager, filters?: Record<string, boolean>) => {
    const shops = await em.find(
      Shop,
      {},
      {
        orderBy: { id: 1 },
        populate: ['items.maybe', 'items.labels', 'all', 'dear'],
        strategy: 'select-in',
        ...(filters && { filters }),
      },
    );
    return shops.map(({ name, items, all, dear }) => ({
      name,
      items: inOrder(items).map((item) => ({
        name: item.name,
        maker: item.maybe?.name ?? null,
        labels: inOrder(item.labels).map(({ text }) => text),
      })),
      all: inOrder(all).map((item) => item.name),
      dear: inOrder(dear).map((item) => item.name),
    }));
  };

  t.test('a related record that a filter hides is not there', async (t) => {
    const rows = await read(orm.em.fork());
    // MikroORM itself reads no relation to apply a filter on MongoDB.
    if (database !== 'mongodb') t.strictSame(rows, await found(orm.em.fork()));
    t.strictSame(rows[0]?.items, [
      { name: 'plain', maker: 'here', labels: ['red'] },
      { name: 'perhaps of one', maker: null, labels: [] },
      { name: 'of another tenant', maker: null, labels: [] },
    ]);
    t.strictSame(rows[0]?.dear, ['perhaps of one'], 'the relation has a condition and filters of its own');
    t.ok(rows[0]?.all.includes('dropped'), 'or none');
  });

  t.test('filters with parameters', async (t) => {
    const em = orm.em.fork();
    em.setFilterParams('tenant', { id: 2 });
    em.addFilter({ name: 'some', cond: { name: { $ne: 'plain' } }, entity: Item, default: true });
    em.addFilter({ name: 'tenants', cond: { tenant: 2 }, entity: [Item], default: true });
    const rows = await read(em);
    t.strictSame(rows, await found(em.fork()));
    t.strictSame(
      rows[0]?.items.map(({ name }) => name),
      ['of another tenant'],
    );
  });

  t.test('a query set that disables a filter disables it for related records too', async (t) => {
    const filters = { live: false } as const;
    const rows = await QuerySet.of(orm.em.fork(), Shop).withFilters(filters).orderBy('id').rows(projection);
    t.strictSame(rows, await found(orm.em.fork(), filters));
    t.match(rows[0]?.items[1], { name: 'dropped', labels: ['red', 'old'] });
  });

  t.test('a limit counts only records that the filters show', async (t) => {
    const em = orm.em.fork();
    em.setFilterParams('tenant', { id: 1 });
    em.addFilter({ name: 'some', cond: { name: { $ne: 'plain' } }, entity: Item, default: true });
    const last = readShape(Shop, ['name'], {
      items: many('items.name', { orderBy: ['maybe__name', '-id'], limit: 1 }),
    });
    const bound = last.bind(orm.getMetadata().get(Shop), orm.em.getPlatform());
    const [row] = await QuerySet.of(em, Shop).orderBy('id').rows(bound);
    t.strictSame(row?.items, ['of another tenant']);
  });

  t.test('below a record that a filter hides there is nothing to read', async (t) => {
    const below = readShape(Shop, ['name'], { chain: readShape(Chain, ['id'], { shops: many('shops.name') }) });
    const bound = below.bind(orm.getMetadata().get(Shop), orm.em.getPlatform());
    const queries = recordQueries(orm);
    t.strictSame(await QuerySet.of(orm.em.fork(), Shop).orderBy('id').rows(bound), [
      { name: 'open', chain: null },
      { name: 'closed', chain: null },
    ]);
    queries.stop();
    t.equal(queries.texts.length, 1);
  });

  t.test('within a transaction it reads in that transaction', async (t) => {
    await orm.em
      .fork()
      .transactional(async (em) => {
        em.create(Item, {
          name: 'uncommitted',
          price: 1,
          shop: em.getReference(Shop, shop.id),
          must: here.id,
        } as never);
        await em.flush();
        const [row] = await read(em);
        t.ok(row?.items.some(({ name }) => name === 'uncommitted'));
        await em.rollback();
      })
      .catch(() => undefined);
    const [row] = await read(orm.em.fork());
    t.notOk(row?.items.some(({ name }) => name === 'uncommitted'));
  });
});

/** The items of a collection by their keys. */
function inOrder<Item extends { readonly id: number }>(collection: { getItems(): Item[] }): Item[] {
  return collection.getItems().toSorted((a, b) => a.id - b.id);
}
