import { wrap } from '@mikro-orm/core';
import t from 'tap';
import { bsonVersionOf, Decimal128 } from '../../../mongodb/src/mikro/decimal128.ts';
import type { MongoConnection } from '../../../mongodb/src/mikro/mongo-driver.ts';
import { QuerySet } from '../../src/query/queryset.ts';
import { forEachDatabase } from '../support/databases.ts';
import { Country, entities, Maker, pick, Product } from './catalog.ts';
import { recordQueries } from './record-queries.ts';

forEachDatabase(t, { entities }, async (t, orm, database) => {
  const em = orm.em.fork();
  const germany = em.create(Country, { code: 'de', name: 'Germany' });
  const acme = em.create(Maker, { name: 'ACME', country: germany });
  const full = {
    name: 'cup',
    note: 'a "note"',
    price: 10.1,
    cost: '12.5000',
    sold: 12345678901n,
    weight: 0.1,
    height: 2.5,
    active: false,
    color: 'red' as const,
    added: new Date('2024-02-29T12:30:45.678Z'),
    day: '2024-02-29',
    opens: '08:30:00',
    serial: '00000000-0000-4000-8000-000000000001',
    data: { a: 1 },
    image: Buffer.from([0, 1, 255]),
    maker: acme,
    origin: germany,
  };
  em.create(Product, full);
  em.create(Product, { name: 'bag' });
  await em.flush();

  t.test('an entity is the same as from em.find', async (t) => {
    const [found, theirs] = [orm.em.fork(), orm.em.fork()];
    const ours = await QuerySet.of(found, Product)
      .orderBy('id')
      .entities({ populate: ['maker.country', 'origin'] });
    const expected = await theirs.find(Product, {}, { orderBy: { id: 1 }, populate: ['maker.country', 'origin'] });
    t.strictSame(
      ours.map((entity) => wrap(entity).toObject()),
      expected.map((entity) => wrap(entity).toObject()),
    );
    t.strictSame(
      ours.map((entity) => ({ ...wrap(entity).toPOJO() })),
      expected.map((entity) => ({ ...wrap(entity).toPOJO() })),
    );
    t.equal(ours[0]?.maker?.country?.name, 'Germany');
    t.ok(wrap(ours[0]!.maker!).isInitialized());
    t.ok(found.getUnitOfWork().getChangeSets().length === 0);
    const queries = recordQueries(orm);
    await found.flush();
    t.strictSame(queries.texts, [], 'nothing has changed by reading it');
    queries.stop();
  });

  t.test('rows and entities are the same records, read in one statement', async (t) => {
    const products = QuerySet.of(orm.em.fork(), Product).filter({ maker__name: 'ACME' }).orderBy('-name');
    const names = [
      'id',
      'name',
      'note',
      'price',
      'cost',
      'stock',
      'sold',
      'weight',
      'height',
      'active',
      'color',
      'added',
      'day',
      'opens',
      'serial',
      'data',
      'maker.name',
    ];
    const projection = pick(orm, Product, ...names);
    const queries = recordQueries(orm);
    const rows = await products.rows(projection);
    const read = await products.entities({ populate: projection.populate });
    t.equal(queries.texts.length, 2);
    queries.stop();
    t.strictSame(
      read.map((entity) => projection.readEntity(entity)),
      rows,
    );
    const decimal = database === 'postgresql' ? '12.5000' : '12.5';
    const { cost: _cost, image: _image, maker: _maker, origin: _origin, ...scalars } = full;
    const [row = []] = rows;
    const record = Object.fromEntries(names.map((name, index) => [name, row[index]]));
    t.match(record, { ...scalars, cost: decimal, 'maker.name': 'ACME' });
  });

  t.test('entities are managed: a change is stored', async (t) => {
    const fork = orm.em.fork();
    const bag = await QuerySet.of(fork, Product).filter({ name: 'bag' }).entity();
    bag!.stock = 12;
    await fork.flush();
    t.equal(await QuerySet.of(fork, Product).filter({ stock: 12 }).count(), 1);
    t.equal(
      await QuerySet.of(fork, Product).filter({ name: 'bag' }).entity(),
      bag,
      'the same record is the same object',
    );
    t.equal(await QuerySet.of(fork, Product).filter({ name: 'none' }).entity(), undefined);
  });

  t.test('reading again refreshes managed entities', async (t) => {
    const fork = orm.em.fork();
    const products = QuerySet.of(fork, Product).filter({ name: 'bag' });
    const bag = await products.entity();
    await orm.em.fork().nativeUpdate(Product, { name: 'bag' }, { stock: 99 });
    await products.entity();
    t.equal(bag?.stock, 99);
  });

  t.test('a relation that is not populated is a reference', async (t) => {
    const cup = await QuerySet.of(orm.em.fork(), Product).filter({ name: 'cup' }).entity();
    t.equal(cup?.maker?.id, acme.id);
    t.notOk(wrap(cup!.maker!).isInitialized());
  });

  t.test('populate takes to-one relations', async (t) => {
    const products = QuerySet.of(orm.em.fork(), Product);
    for (const name of ['tags', 'mkaer', 'name', 'maker.products', '__proto__']) {
      await t.rejects(
        products.entities({ populate: [name] }),
        { name: 'ImproperlyConfigured', message: /populate takes to-one relations/ },
        name,
      );
    }
    await t.rejects(products.entities({ populate: ['mkaer'] }), { message: /did you mean "maker"\?/ });
  });

  t.test('lock holds others off until the transaction ends', async (t) => {
    const all = QuerySet.of(orm.em.fork(), Product);
    const { id } = (await all.filter({ name: 'bag' }).entity())!;
    // A transaction of MongoDB waits for others in its first command alone, which locks the record if its key is known.
    const products = all.filter(database === 'mongodb' ? { id } : { name: 'bag' });
    await t.rejects(products.entity({ lock: true }), {
      name: 'ImproperlyConfigured',
      message: /lock needs a transaction/,
    });
    const add = () =>
      orm.em.fork().transactional(async (fork) => {
        const bag = await products.using(fork).entity({ lock: true, populate: ['maker'] });
        const { stock } = bag!;
        await new Promise((resolve) => setTimeout(resolve, 5));
        bag!.stock = stock + 1;
      });
    await orm.em.fork().nativeUpdate(Product, { name: 'bag' }, { stock: 0 });
    await Promise.all(Array.from({ length: 5 }, add));
    t.strictSame(await products.first(pick(orm, Product, 'stock')), [5]);
  });

  t.test('a decimal stored with an exponent is read without one', { skip: database !== 'mongodb' }, async (t) => {
    const connection = orm.em.getConnection() as unknown as MongoConnection;
    const key = orm.em.getPlatform().denormalizePrimaryKey('0'.repeat(24)) as unknown as object;
    const cost = Decimal128.of('12e3', undefined, bsonVersionOf(key));
    await connection.getCollection('product').updateMany({ name: 'bag' }, { $set: { cost } }, {});
    const bag = QuerySet.of(orm.em.fork(), Product).filter({ name: 'bag' });
    t.strictSame(await bag.first(pick(orm, Product, 'cost')), ['12000']);
    t.equal((await bag.entity())?.cost, '12000');
  });

  t.test('the global entity manager reads rows, and makes no entities', async (t) => {
    const products = QuerySet.of(orm.em, Product);
    t.equal((await products.rows(pick(orm, Product, 'id'))).length, 2);
    t.equal(await products.count(), 2);
    await t.rejects(products.entities(), { message: /global/ });
    t.equal((await QuerySet.of({ em: orm.em.fork() }, Product).entities()).length, 2, 'of something that has one');
  });
});
