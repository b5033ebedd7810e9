/** The changes of an entity manager are those that MikroORM would flush, and looking at them changes nothing. */
import { defineEntity, p, type EntityManager, Type } from '@mikro-orm/core';
import t from 'tap';
import { checkFlushed, QuerySet } from '../../src/index.ts';
import { unflushedEntities } from '../../src/mikro/unflushed-changes.ts';
import { fillEveryKind } from '../fields/every-kind.ts';
import { entities as catalog, Maker, Product, Tag } from '../query/catalog.ts';
import { forEachDatabase } from '../support/databases.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- the tests change whatever there is
type Loose = any;

let salt = 0;
/** A text that is stored in another form each time, as an encrypted one is. */
class Salted extends Type<string | null, string | null> {
  override convertToDatabaseValue(value: string | null): string | null {
    if (value === null) return null;
    salt += 1;
    return `${salt}:${value}`;
  }
  override convertToJSValue(value: string | null): string | null {
    return value && value.slice(value.indexOf(':') + 1);
  }
  override getColumnType(): string {
    return 'text';
  }
}

const Address = defineEntity({
  name: 'Address',
  embeddable: true,
  properties: { street: p.string(), secret: p.type(Salted).nullable(), since: p.datetime(3).nullable() },
});
const Shop = defineEntity({
  name: 'Shop',
  properties: {
    id: p.integer().primary(),
    secret: p.type(Salted),
    note: p.text().lazy().nullable(),
    address: () => p.embedded(Address),
    storage: () => p.embedded(Address).nullable(),
    billing: () => p.embedded(Address).object().nullable(),
    branches: () => p.embedded(Address).array().nullable(),
    version: p.integer().version(),
    changed_at: p
      .datetime(3)
      .onUpdate(() => new Date())
      .onCreate(() => new Date()),
    parent: () => p.manyToOne(Shop).nullable(),
  },
});

/** The names of the entities that MikroORM would write. It may write a salted text again that nobody has changed. */
function flushedByMikro(em: EntityManager): string[] {
  const work = em.getUnitOfWork();
  work.computeChangeSets();
  const owners = work.getCollectionUpdates().map(({ owner }) => owner.constructor.name);
  return [...new Set([...work.getChangeSets().map(({ meta }) => meta.className), ...owners])].toSorted();
}

forEachDatabase(t, { entities: [...catalog, Shop] }, async (t, orm) => {
  await fillEveryKind(orm);

  t.test('records of every kind are unchanged after they were read, however', async (t) => {
    const reads: Readonly<Record<string, (em: EntityManager) => Promise<unknown>>> = {
      find: (em) => em.find(Product, {}),
      joined: (em) => em.find(Product, {}, { populate: ['tags', 'maker.country', 'parent'], strategy: 'joined' }),
      selectIn: (em) =>
        em.find(Product, {}, { populate: ['tags', 'maker.country', 'children'], strategy: 'select-in' }),
      fields: (em) => em.find(Product, {}, { fields: ['name', 'maker.name'] }),
      querySet: (em) => QuerySet.of(em, Product).entities(),
      reference: async (em) => em.getReference(Product, 1),
      loadedReference: async (em) =>
        (await em.find(Product, { origin: { $ne: null } })).map(({ origin }) => origin!.load()),
      refreshed: async (em) => em.refresh(await em.findOneOrFail(Product, { name: 'Tea' })),
      fieldsThenAll: async (em) => {
        await em.find(Product, {}, { fields: ['name'] });
        await em.find(Product, {}, { populate: ['tags'] });
      },
      rows: (em) => QuerySet.of(em, Product).count(),
    };
    for (const [name, read] of Object.entries(reads)) {
      const em = orm.em.fork();
      await read(em);
      t.same(unflushedEntities(em), [], name);
      t.same(flushedByMikro(em), [], name);
    }
  });

  t.test('random changes are those that MikroORM would flush', async (t) => {
    type Change = readonly [name: string, change: (em: EntityManager, products: Loose[], makers: Loose[]) => unknown];
    const changes: readonly Change[] = [
      ['name', (_em, [product]) => (product.name += '!')],
      ['same name', (_em, [product]) => (product.name = `${product.name}`)],
      ['json', (_em, products) => products.find(({ data }) => data?.deep)!.data.deep.list.push(1)],
      ['same json', (_em, products) => products.map((each) => (each.data = structuredClone(each.data)))],
      ['date in place', (_em, products) => products.find(({ added }) => added)!.added.setFullYear(2001)],
      ['same date', (_em, products) => products.map((each) => (each.added &&= new Date(each.added)))],
      ['null', (_em, products) => (products.find(({ note }) => note).note = null)],
      ['decimal', (_em, products) => (products.find(({ cost }) => cost).cost = '3.2500')],
      ['bigint', (_em, products) => (products.find(({ sold }) => sold).sold += 1n)],
      ['maker', (_em, products, makers) => (products[0].maker = makers.find((each) => each !== products[0].maker))],
      ['same maker', (_em, products) => products.map((each) => Object.assign(each, { maker: each.maker }))],
      ['new maker', (em, products) => (products[1].maker = em.create(Maker, { name: 'New' }, { persist: false }))],
      ['tag', async (em, products) => products[0].tags.add(await em.findOneOrFail(Tag, { label: 'hot' }))],
      ['new tag', (em, products) => products[0].tags.add(em.create(Tag, { label: 'new' }, { persist: false }))],
      ['no tags', (_em, products) => products.find(({ tags }) => tags.length > 0).tags.removeAll()],
      ['remove', (em, products) => em.remove(products.at(-1))],
      ['create', (em) => em.create(Maker, { name: 'Created' })],
      ['persist unchanged', (em, products) => em.persist(products[2])],
      ['create and remove', (em) => em.remove(em.create(Maker, { name: 'Created' }))],
      ['child', (_em, products) => products[0].children.add(products[4])],
    ];
    for (let round = 0; round < 150; round++) {
      const em = orm.em.fork();
      const products = await em.find(Product, {}, { populate: ['tags', 'maker', 'children'], orderBy: { id: 1 } });
      const makers = await em.find(Maker, {});
      const chosen = changes.filter((_each, index) =>
        round < changes.length ? index === round : Math.random() < 0.15,
      );
      for (const [, change] of chosen) await change(em, products, makers);
      const label = chosen.map(([name]) => name).join(', ');
      const found = unflushedEntities(em).toSorted();
      t.same(unflushedEntities(em).toSorted(), found, `${label}: looking changes nothing`);
      const expected = flushedByMikro(em);
      // A child list belongs to both sides. New entities behind a relation are found by the entity that leads to them.
      t.equal(found.length > 0, expected.length > 0, `${label}: ${found.join()} ${expected.join()}`);
      t.same(
        found.filter((name) => !expected.includes(name)).filter((name) => name !== 'Product'),
        [],
        label,
      );
    }
  });

  t.test('a type that stores one value in several forms does not look changed, until it is', async (t) => {
    const setUp = orm.em.fork();
    const address = () => ({ street: 'A', secret: null, since: new Date(0) });
    setUp.create(Shop, {
      secret: 'x',
      address: { ...address(), secret: 'hidden' },
      billing: address(),
      branches: [address()],
      storage: null,
      note: 'n',
    });
    await setUp.flush();
    t.same(unflushedEntities(setUp), [], 'after a flush');
    const changes: Readonly<Record<string, (shop: Loose) => void>> = {
      secret: (shop) => (shop.secret = 'y'),
      street: (shop) => (shop.address.street = 'B'),
      inner: (shop) => (shop.address.secret = 'other'),
      object: (shop) => (shop.billing.street = 'B'),
      list: (shop) => shop.branches.push(address()),
      embedded: (shop) => (shop.storage = address()),
      lazy: (shop) => (shop.note = 'm'),
    };
    for (const [name, change] of Object.entries(changes)) {
      const em = orm.em.fork();
      const [shop] = await em.find(Shop, {});
      t.same(unflushedEntities(em), [], name);
      change(shop);
      t.same(unflushedEntities(em), ['Shop'], name);
      t.throws(() => checkFlushed(em, 'The job'), {
        code: 'improperly_configured',
        message: /^The job has changed Shop,/,
      });
    }
  });

  t.test('a flush that is under way stores its changes', async (t) => {
    const em = orm.em.fork();
    const [maker] = await em.find(Maker, {}, { orderBy: { id: 1 } });
    em.create(Maker, { name: 'Under way' });
    em.remove(em.create(Maker, { name: 'x' }));
    maker!.name += '!';
    const flushing = em.flush();
    const seen = new Set<string>();
    const state = { isDone: false };
    void flushing.finally(() => (state.isDone = true));
    while (!state.isDone) {
      await new Promise(setImmediate);
      for (const name of unflushedEntities(em)) seen.add(name);
    }
    await flushing;
    t.same([...seen], []);
    t.same(unflushedEntities(em), []);
    t.equal(await orm.em.fork().count(Maker, { name: 'Under way' }), 1);
  });
});
