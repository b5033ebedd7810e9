/** A record by its key, by a statement that is made once: against what the query set itself answers. */
import { defineEntity, p, type EntityManager, type EntityName } from '@mikro-orm/core';
import t from 'tap';
import { fieldPath } from '../../src/fields/field-path.ts';
import { ofEntities, orderValues, type Projection } from '../../src/query/language/projection.ts';
import { QuerySet } from '../../src/query/queryset.ts';
import { RecordFinder } from '../../src/query/record-finder.ts';
import { many } from '../../src/shapes/read/many.ts';
import { type ReadShape, readShape } from '../../src/shapes/read/read-shape.ts';
import { forEachDatabase } from '../support/databases.ts';
import { recordQueries } from './record-queries.ts';

const Tree = defineEntity({
  name: 'Tree',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    isOld: p.boolean(),
    parent: () => p.manyToOne(Tree).nullable(),
  },
});

const Coin = defineEntity({ name: 'Coin', properties: { id: p.bigint('bigint').primary(), name: p.string() } });

const Bird = defineEntity({
  name: 'Bird',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    isGone: p.boolean().default(false),
    keeper: () => p.manyToOne(Keeper).nullable(),
    places: () => p.manyToMany(Place),
    songs: () => p.oneToMany(Song).mappedBy('bird'),
  },
});

const Place = defineEntity({
  name: 'Place',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    isFar: p.boolean().default(false),
    country: () => p.manyToOne(Country).nullable(),
    birds: () => p.manyToMany(Bird).mappedBy('places'),
  },
  filters: { near: { name: 'near', cond: { isFar: false }, default: false } },
});

const Country = defineEntity({ name: 'Country', properties: { id: p.integer().primary(), name: p.string() } });

const Keeper = defineEntity({
  name: 'Keeper',
  properties: { id: p.integer().primary(), name: p.string(), places: () => p.manyToMany(Place) },
});

const Song = defineEntity({
  name: 'Song',
  properties: { id: p.integer().primary(), text: p.json(), bird: () => p.manyToOne(Bird) },
});

forEachDatabase(t, { entities: [Bird, Place, Country, Keeper, Song] }, async (t, orm) => {
  const em = orm.em.fork();
  em.create(Country, { id: 1, name: 'Mali' });
  const names = ['Lake', 'Dune', 'Field'];
  for (const [index, name] of names.entries()) {
    em.create(Place, { id: index + 1, name, isFar: name === 'Dune', country: name === 'Dune' ? 1 : null });
  }
  em.create(Keeper, { id: 1, name: 'Ada', places: [3, 1] });
  em.create(Bird, { id: 1, name: 'Heron', keeper: 1, places: [2, 1, 3] });
  em.create(Bird, { id: 2, name: 'Swift', keeper: null });
  em.create(Bird, { id: 3, name: 'Dodo', isGone: true, places: [1] });
  em.create(Song, { id: 1, text: { a: [1] }, bird: 1 });
  em.create(Song, { id: 2, text: 'x', bird: 1 });
  await em.flush();

  const place = readShape(Place, ['id', 'name', 'isFar'], { country: 'country.name' });
  const shapes = {
    'many to many': readShape(Bird, ['name'], { places: many(place) }),
    'in an order across a relation': readShape(Bird, ['id'], {
      places: many(place, { orderBy: ['country__name', '-name'] }),
    }),
    'the other side of one': readShape(Place, ['name'], { birds: many(readShape(Bird, ['name', 'isGone'])) }),
    'one to many': readShape(Bird, ['name'], { songs: many(readShape(Song, ['id', 'text'])) }),
    'of a related record': readShape(Bird, ['name'], { keeper: readShape(Keeper, ['name'], { places: many(place) }) }),
    'with children of their own': readShape(Bird, [], {
      places: many(readShape(Place, ['name'], { birds: many(readShape(Bird, ['name'])) })),
    }),
    'of two relations': readShape(Bird, [], {
      songs: many(readShape(Song, ['id'])),
      places: many(place, { limit: 2 }),
    }),
  };
  const isOfPlace = (name: string): boolean => name === 'the other side of one';
  await QuerySet.of(orm.em, Bird).count();

  for (const [name, shape] of Object.entries(shapes)) {
    const entity = (isOfPlace(name) ? Place : Bird) as unknown as EntityName<{ id: number }>;
    const projection = (shape as unknown as ReadShape<object, object>).bind(
      orm.getMetadata().get(entity),
      orm.em.getPlatform(),
    );
    const all = QuerySet.of(orm.em, entity);
    const finder = new RecordFinder(all, projection);

    t.test(`it reads the record with children, ${name}`, async (t) => {
      for (const filters of [undefined, { near: true }]) {
        const records = filters === undefined ? all : all.withFilters(filters);
        const found = filters === undefined ? finder : new RecordFinder(records, projection);
        for (const id of [1, 2, 3, 4, 2, 1]) {
          const expected = await records.filter({ id }).first(projection);
          t.strictSame(await found.find(orm.em, id), expected, `${id} ${JSON.stringify(filters)}`);
          t.strictSame(await found.find(orm.em.fork(), id), expected);
        }
      }
    });

    t.test(`one statement reads children, ${name}`, async (t) => {
      const queries = recordQueries(orm);
      await finder.find(orm.em, 1);
      queries.stop();
      const further = name === 'with children of their own' || name === 'of two relations' ? 1 : 0;
      t.equal(queries.texts.length, 1 + further, queries.texts.join('\n'));
    });
  }
});

forEachDatabase(t, { entities: [Tree, Coin] }, async (t, orm, database) => {
  const em = orm.em.fork();
  em.create(Tree, { id: 1, name: 'Oak', isOld: true, parent: null });
  em.create(Tree, { id: 2, name: 'Elm', isOld: false, parent: 1 });
  em.create(Coin, { id: 2n ** 60n, name: 'Groat' });
  await em.flush();

  const meta = orm.getMetadata().get(Tree);
  const named = orderValues(
    ['name', 'parent.name'].map((path) => ({ path: fieldPath(meta, path, '.'), descending: false })),
  );
  const all = QuerySet.of(orm.em, Tree);
  const finderOf = <R>(records = all, projection = named as Projection<R>): RecordFinder<object, R> =>
    new RecordFinder(records as unknown as QuerySet<object>, projection);
  // Whether filters apply is found out at the first question about an entity.
  await all.count();
  await QuerySet.of(orm.em, Coin).count();

  t.test('it returns the same as the query set, for keys in any order', async (t) => {
    for (const first of [1, 2, 3, null, 2 ** 40, -1]) {
      const finder = finderOf();
      for (const key of [first, 1, 2, 3, null, 2 ** 40, -1, 1.5, 1]) {
        const expected = await all.filter({ id: key as number }).first(named);
        t.strictSame(await finder.find(orm.em, key), expected, `${String(key)} after ${String(first)}`);
      }
    }
  });

  t.test('one statement is used for every key', async (t) => {
    const finder = finderOf();
    await finder.find(orm.em, 1);
    const queries = recordQueries(orm);
    for (const key of [1, 2, 3]) await finder.find(orm.em, key);
    queries.stop();
    t.equal(queries.texts.length, 3);
    if (database !== 'mongodb') t.equal(new Set(queries.texts).size, 1);
  });

  t.test('it finds only records of the query set, with any order and slice', async (t) => {
    const old = finderOf(all.filter({ isOld: true }).orderBy('-name').slice(5, 0));
    t.strictSame(await old.find(orm.em, 1), ['Oak', null]);
    t.equal(await old.find(orm.em, 2), undefined);
    t.strictSame(await finderOf(all.exclude({ name__in: ['Oak', 'Ash'] })).find(orm.em, 2), ['Elm', 'Oak']);
    t.strictSame(await finderOf(all.matching({ parent: { name: 'Oak' } })).find(orm.em, 2), ['Elm', 'Oak']);
    for (const none of [all.none(), all.filter({ id__in: [] })]) {
      t.equal(await finderOf(none).find(orm.em, 1), undefined);
      t.equal(await finderOf(none).find(orm.em.fork(), 1), undefined);
    }
  });

  t.test('a key of another type is refused at once', async (t) => {
    t.throws(() => finderOf().find(orm.em, 'x'), { message: /must be a number/ });
    t.throws(() => finderOf().find(orm.em, undefined), { message: /compared with undefined/ });
  });

  t.test('a bigint is bound exactly', async (t) => {
    const coins = orm.getMetadata().get(Coin);
    const name = orderValues([{ path: fieldPath(coins, 'name', '.'), descending: false }]);
    const finder = new RecordFinder(QuerySet.of(orm.em, Coin) as unknown as QuerySet<object>, name);
    t.strictSame(await finder.find(orm.em, 2n ** 60n), ['Groat']);
    t.equal(await finder.find(orm.em, 2n ** 60n + 1n), undefined);
  });

  t.test('it reads in the transaction of the given entity manager', async (t) => {
    const finder = finderOf();
    const within = orm.em.fork();
    await within.begin();
    await within.insert(Tree, { id: 9, name: 'Yew', isOld: true, parent: null });
    t.strictSame(await finder.find(within, 9), ['Yew', null]);
    await within.rollback();
    t.equal(await finder.find(within, 9), undefined);
  });

  t.test('records may be made of entities', async (t) => {
    const shout = (entity: object): unknown => (entity as { name: string }).name.toUpperCase();
    const finder = finderOf(all, ofEntities(named as Projection<unknown>, shout));
    t.equal(await finder.find(orm.em.fork(), 1), 'OAK');
  });

  t.test('a filter that is added later applies from then on', async (t) => {
    const finder = finderOf();
    t.strictSame(await finder.find(orm.em, 1), ['Oak', null]);
    orm.em.addFilter({ name: 'young', entity: Tree, cond: { isOld: false } });
    t.equal(await finder.find(orm.em, 1), undefined);
    t.strictSame(await finder.find(orm.em, 2), await firstOf(orm.em, 2));
  });

  function firstOf(source: EntityManager, id: number): Promise<unknown> {
    return QuerySet.of(source, Tree).filter({ id }).first(named);
  }
});
