import { defineEntity, type EntityManager, p, raw, Type } from '@mikro-orm/core';
import t from 'tap';
import { acrossRelations } from '../../src/query/language/across-relations.ts';
import { and, matching, nativeCondition, not, or } from '../../src/query/language/condition.ts';
import type { NativeTerm } from '../../src/query/language/native-term.ts';
import { QuerySet } from '../../src/query/queryset.ts';
import { forEachDatabase, SQL_DATABASES, openMongo, openSqlite, skipMongo } from '../support/databases.ts';
import { Book, Chapter, fillTags, Author as ShelfAuthor, SHELVES, Tag as ShelfTag } from '../support/shelves.ts';
import { Country, entities, Maker, pick, Product, Tag } from './catalog.ts';
import { recordQueries } from './record-queries.ts';

/** What can be asked through relations. */
const ACROSS: readonly object[] = [
  { tags: { label: 'hot', rank: 0 } },
  { tags: { label: 'hot', rank: 1 } },
  { tags: { $or: [{ label: 'hot' }, { rank: 1 }] } },
  { $and: [{ tags: { label: 'hot' } }, { tags: { label: 'cold' } }] },
  { $or: [{ tags: { label: 'cold' } }, { name: 'p4' }] },
  { tags: { $some: { label: 'hot' } } },
  { tags: { $none: { label: 'hot' } } },
  { tags: { $some: {} } },
  { tags: { $none: {} } },
  { tags: { label: { $ne: 'hot' } } },
  { tags: { $every: { label: 'hot' } } },
  { tags: { $every: { $or: [{ label: 'hot' }, { rank: 1 }] }, $some: {} } },
  { tags: { label: { $like: 'h%' } } },
  { tags: { label: null } },
  { children: { note: null } },
  { children: { note: null, stock: 3 } },
  { children: { note: null, stock: null } },
  { children: { $or: [{ note: null }, { stock: 3 }] } },
  { children: { $and: [{ note: null }, { name: { $in: ['p2', null] } }] } },
  { children: { $not: { stock: 3 } } },
  { children: { note: { $ne: null } } },
  { children: { note: { $in: ['n', null] } } },
  { children: { tags: { label: null } } },
  { children: { maker: { name: null } } },
  { children: { tags: { label: 'cold' } } },
  { children: { tags: { label: 'cold' }, stock: 3 } },
  { parent: { children: { note: null } } },
  { parent: { tags: { label: 'hot' } } },
  { parent: { origin: { name: 'Germany' } } },
  { parent: { note: null } },
  { maker: { country: 'de' } },
  { maker: { country: { name: { $like: 'Ger%' } } } },
  { $or: [{ maker: { country: { name: { $like: 'Ger%' } } } }, { stock: 3 }] },
  { maker: { name: null } },
  { children: { note: { $eq: null } } },
  { parent: { note: { $in: ['n', null] } } },
  { maker: { products: { stock: { $lt: 1 } } } },
  { $not: { maker: { country: { name: { $like: 'F%' } } } } },
  { maker: { $not: { name: 'N' } } },
  { maker: { $or: [{ name: 'M' }, { name: null }] } },
  { $not: { parent: { note: 'm' } } },
  { $not: { parent: { note: null } } },
  { $not: { children: { note: 'm' } } },
  { $not: { children: { stock: 3 } } },
  { children: { $every: { note: 'm' } } },
  { children: { $none: { note: { $ne: 'm' } } } },
  { children: { $every: { note: null } } },
  { tags: { label: 'hot' }, $or: [{ tags: { rank: 1 } }, { stock: 3 }] },
  { tags: null },
  { $not: { tags: null } },
  { children: null, stock: 3 },
  { tags: { $all: [{ label: 'hot' }, { label: 'cold' }] } },
];

/** What MikroORM asks of something else, or forgets, and what it means. */
const MISREAD_CONDITIONS: readonly (readonly [object, object])[] = [
  [{ tags: { $not: { $not: { label: 'hot' } } } }, { tags: { label: 'hot' } }],
  [{ tags: { $not: { label: 'hot' } } }, { tags: { label: { $ne: 'hot' } } }],
  [{ maker: { $not: { $in: [7, 8] } } }, { maker: { id: { $nin: [7, 8] } } }],
  [{ children: { $not: { $not: { stock: 3 } }, note: null } }, { children: { stock: 3, note: null } }],
  [{ parent: { name: { $not: { $like: 'p%' } } } }, { $not: { parent: { name: { $like: 'p%' } } } }],
  [{ parent: { tags: { $none: { label: 'cold' } } } }, { parent: { tags: { label: 'hot' } } }],
];

/** Products with parents, children, tags and makers, some of them with none. */
async function fillFamily(em: EntityManager): Promise<void> {
  const germany = em.create(Country, { code: 'de', name: 'Germany' });
  const [hot, cold] = ['hot', 'cold'].map((label, rank) => em.create(Tag, { label, rank }));
  const parent = em.create(Product, { name: 'p1', note: 'n', origin: germany, tags: [hot!] });
  em.create(Product, {
    name: 'p2',
    parent,
    maker: em.create(Maker, { name: 'M', country: germany }),
    tags: [hot!, cold!],
  });
  em.create(Product, { name: 'p3', parent, stock: 3, tags: [cold!] });
  em.create(Product, { name: 'p4', note: 'n' });
  await em.flush();
}

async function fillMakers(em: EntityManager): Promise<{ readonly id: number }> {
  const maker = em.create(Maker, { name: 'ACME' });
  em.create(Product, {
    name: 'what? "is" it\'s \\ name',
    sold: 9007199254740993n,
    price: 1.5,
    active: true,
    added: new Date('2024-02-29T12:30:45.678Z'),
    serial: '00000000-0000-4000-8000-000000000001',
    data: { a: 1 },
    maker,
    tags: [em.create(Tag, { label: 'x' })],
  });
  em.create(Product, { name: 'other', stock: 5, active: false });
  await em.flush();
  return maker;
}

// MikroORM asks nothing across relations of MongoDB, and nothing in fragments of SQL.
forEachDatabase(t, { entities, only: SQL_DATABASES }, async (t, orm, database) => {
  const maker = await fillMakers(orm.em.fork());
  const products = QuerySet.of(orm.em.fork(), Product);
  const names = pick(orm, Product, 'name');
  const CONDITIONS = [
    { name: 'what? "is" it\'s \\ name' },
    { name: { $like: 'what%' } },
    { sold: 9007199254740993n },
    { price: { $gt: 1, $lte: 1.5 } },
    { active: true },
    { added: new Date('2024-02-29T12:30:45.678Z') },
    { added: { $gte: new Date('2024-02-29T00:00:00Z') } },
    { serial: '00000000-0000-4000-8000-000000000001' },
    { maker: { name: 'ACME' } },
    { maker: { name: { $in: ['ACME', 'x'] } } },
    { tags: { label: 'x' } },
    { tags: { $some: { label: 'x' } } },
    { $not: { name: 'other' } },
    { $or: [{ stock: 99 }, { maker: maker.id }] },
    { data: { a: 1 } },
    { [raw('length(name)')]: { $gt: 10 } },
    1,
    [1, 99],
  ];

  t.test('matches the same records as em.find, with bound values', async (t) => {
    for (const where of CONDITIONS) {
      const queries = recordQueries(orm);
      const found = (await products.matching(where as object).rows(names)).flat();
      t.equal(queries.texts.length, 1);
      t.notMatch(queries.texts[0], /ACME|9007199|2024|other/);
      queries.stop();
      const expected = (await orm.em.fork().find(Product, where as object)).map(({ name }) => name);
      t.equal(expected.length, 1);
      t.strictSame(
        found,
        expected,
        `${database} ${JSON.stringify(where, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value))}`,
      );
    }
  });

  t.test('matches through relations like em.find', async (t) => {
    const em = orm.em.fork();
    await fillFamily(em);
    const ofColumn = matching(products.meta, { maker: null });
    t.equal(ofColumn.kind === 'matching' && acrossRelations(ofColumn), undefined, 'a column of its own');
    for (const where of ACROSS) {
      const queries = recordQueries(orm);
      const found = (await products.matching(where).orderBy('name').rows(names)).flat();
      t.notMatch(queries.texts.join(), / in \(select .* join /i, `${JSON.stringify(where)} is said in lookups`);
      queries.stop();
      const expected = await orm.em.fork().find(Product, where, { orderBy: { name: 1 } });
      t.strictSame(found, [...new Set(expected.map(({ name }) => name))], `${database} ${JSON.stringify(where)}`);
    }
    for (const [where, meant] of MISREAD_CONDITIONS) {
      const found = await products.matching(where).orderBy('name').rows(names);
      t.strictSame(found, await products.matching(meant).orderBy('name').rows(names), JSON.stringify(where));
    }
    t.equal(
      await products.matching({ maker: { $not: { [raw('length(name)')]: 4 } } }).count(),
      1,
      'so does one that is negated',
    );
    t.equal(
      await products.matching({ maker: { [raw('length(name)')]: 1 } }).count(),
      1,
      'a fragment of SQL names its own columns',
    );
    await t.rejects(products.matching({ tags: { $size: 2 } }).count(), {
      name: 'ImproperlyConfigured',
      message:
        'Product: what matching() asks of "tags" cannot be asked across relations; say it by filter(), or by keys',
    });
    await orm.em.fork().nativeDelete(Product, { parent: { $ne: null } });
    await orm.em.fork().nativeDelete(Product, { name: ['p1', 'p4'] });
  });
});

forEachDatabase(t, { entities }, async (t, orm, database) => {
  await fillMakers(orm.em.fork());
  const products = QuerySet.of(orm.em.fork(), Product);
  const names = pick(orm, Product, 'name');

  t.test('joins other conditions, in any place', async (t) => {
    const meta = orm.getMetadata().get(Product);
    const acme = matching(meta, { maker: { name: 'ACME' } });
    const other = matching(meta, { name: 'other' });
    t.equal(await products.where(or(acme, other)).count(), 2);
    t.equal(await products.where(and(acme, other)).count(), 0);
    t.equal(await products.where(not(acme)).count(), 1);
    t.equal(
      await products
        .filter({ stock__gte: 5 })
        .where(or(not(acme), other))
        .filter({ name__startswith: 'o' })
        .count(),
      1,
    );
    t.equal(
      await products
        .matching({ tags: { label: { $in: ['x', 'y'] } } })
        .slice(0, 10)
        .page(names)
        .then(({ count }) => count),
      1,
      'repeats nothing',
    );
  });

  t.test('uses the state of its object at the call', async (t) => {
    const where = { maker: { name: 'ACME' } };
    t.equal(await products.matching(where).count(), 1);
    where.maker.name = 'nobody';
    t.equal(await products.matching(where).count(), 0);
  });

  t.test('takes a text for a key, and never for SQL', async (t) => {
    const matched = async (where: unknown) => (await products.matching(where as never).rows(names)).length;
    // To MongoDB no text is equal to a number.
    t.equal(await matched('1'), database === 'mongodb' ? 0 : 1);
    t.equal(await matched(['1', '2', '99']), database === 'mongodb' ? 0 : 2);
    t.equal(await matched([]), 0);
    for (const sql of ['1 = 1', 'id = 1 or 1 = 1', "1' or '1' = '1", '']) {
      for (const where of [sql, [sql], ['1', sql]]) {
        const found = await matched(where).catch(() => 0);
        t.ok(found <= 1, `${JSON.stringify(where)} matched ${found}`);
      }
    }
  });

  t.test('rejects values that are not conditions, for which MikroORM would match all records', async (t) => {
    const lists = [[undefined], [null], [[undefined]], [{ id: 1 }, null]];
    for (const where of [undefined, null, true, false, () => ({}), Symbol('x'), ...lists]) {
      t.throws(() => products.matching(where as never), {
        name: 'ImproperlyConfigured',
        message: /^Product: matching\(\) takes a condition of MikroORM, got .*$/,
      });
    }
  });

  t.test('is about one entity', async (t) => {
    await t.rejects(products.where(matching(orm.getMetadata().get(Maker), { name: 'x' })).count(), {
      name: 'ImproperlyConfigured',
      message: /a condition on Maker cannot be asked of Product/,
    });
    const named: NativeTerm = {
      name: 'named',
      sql: ({ alias, value }) => `${alias}."name" = ${value}`,
      document: (name) => ({ name }),
    };
    const asked = (entity: typeof Maker | typeof Product) =>
      products.where(nativeCondition(orm.getMetadata().get<object>(entity as never), named, ['other'])).count();
    t.equal(await asked(Product), 1, 'its statement is known from now on');
    await t.rejects(asked(Maker), {
      name: 'ImproperlyConfigured',
      message: /a condition on Maker cannot be asked of Product/,
    });
  });
});

forEachDatabase(t, { entities: SHELVES }, async (t, orm) => {
  await fillTags(orm);
  const em = orm.em.fork();
  await em.insertMany(ShelfAuthor, [{ id: 1, name: 'Ada' }]);
  em.create(Book, { id: 1, title: 'Seen', author: 1, tags: [101, 104] });
  em.create(Book, { id: 2, title: 'Hidden', hidden: true, author: 1, tags: [101] });
  em.create(Chapter, { id: 1, heading: 'One', book: 1 });
  em.create(Chapter, { id: 2, heading: 'Two', book: 2 });
  await em.flush();

  t.test('records hidden by a MikroORM filter do not match, as in em.find and lookups', async (t) => {
    const authors = QuerySet.of(orm.em.fork(), ShelfAuthor);
    const books = QuerySet.of(orm.em.fork(), Book);
    const tags = QuerySet.of(orm.em.fork(), ShelfTag);
    t.equal(await authors.matching({ books: { title: 'Hidden' } }).count(), 0);
    t.equal(await authors.matching({ books: { title: 'Seen' } }).count(), 1);
    t.equal(await authors.matching({ books: { $some: { title: 'Hidden' } } }).count(), 0);
    t.equal(await authors.matching({ books: { tags: { name: 'black' } } }).count(), 0);
    t.equal(await authors.matching({ books: { tags: { name: 'red' } } }).count(), 1);
    t.equal(await books.matching({ tags: { name: 'black' } }).count(), 0);
    t.equal(
      await books
        .withFilters(false)
        .matching({ tags: { name: 'black' } })
        .count(),
      1,
    );
    t.equal(await tags.matching({ books: { title: 'Hidden' } }).count(), 0);
    t.equal(await authors.matching({ $not: { books: { title: 'Seen' } } }).count(), 0);
    const chapters = QuerySet.of(orm.em.fork(), Chapter);
    t.equal(await chapters.matching({ book: { $not: { title: 'Other' } } }).count(), 1);
    t.equal(await chapters.matching({ book: { $or: [{ title: 'Seen' }, { title: 'Hidden' }] } }).count(), 1);
    t.equal(await chapters.matching({ $not: { book: { title: 'Other' } } }).count(), 1);
  });
});

t.test('relations on MongoDB match like on SQL', { skip: skipMongo() }, async (t) => {
  // One after the other: MikroORM writes what it discovers of a class to its prototype.
  const sql = await openSqlite(t, { entities });
  await fillFamily(sql.em.fork());
  const expected: string[][] = [];
  for (const where of ACROSS) {
    const found = await sql.em.fork().find(Product, where, { orderBy: { name: 1 } });
    expected.push([...new Set(found.map(({ name }) => name))]);
  }
  const mongo = await openMongo(t, { entities });
  await fillFamily(mongo.em.fork());
  const names = pick(mongo, Product, 'name');
  for (const [index, where] of ACROSS.entries()) {
    const found = await QuerySet.of(mongo.em.fork(), Product).matching(where).orderBy('name').rows(names);
    t.strictSame(found.flat(), expected[index], JSON.stringify(where));
  }
  const products = QuerySet.of(mongo.em.fork(), Product).orderBy('name');
  for (const [where, meant] of MISREAD_CONDITIONS) {
    t.strictSame(
      await products.matching(where).rows(names),
      await products.matching(meant).rows(names),
      JSON.stringify(where),
    );
  }
});

/** Is stored with a mark, which a value must get once. */
class Marked extends Type<string, string> {
  override convertToDatabaseValue(value: string): string {
    return `db:${value}`;
  }
  override convertToJSValue(value: string): string {
    return value.slice(3);
  }
}
const Writer = defineEntity({
  name: 'Writer',
  properties: { id: p.integer().primary(), level: p.type(Marked) },
});
const Paper = defineEntity({
  name: 'Paper',
  properties: { id: p.integer().primary(), writer: () => p.manyToOne(Writer) },
  filters: { open: { name: 'open', cond: { writer: { level: { $ne: 'secret' } } }, default: true } },
});

forEachDatabase(t, { entities: [Writer, Paper] }, async (t, orm) => {
  const em = orm.em.fork();
  for (const [id, level] of [
    [1, 'open'],
    [2, 'secret'],
  ] as const) {
    em.create(Paper, { id, writer: em.create(Writer, { id, level }) });
  }
  await em.flush();
  const papers = QuerySet.of(orm.em.fork(), Paper);
  t.equal(await papers.count(), 1, 'a filter across a relation hides by a type of its own');
  t.equal(
    await papers
      .withFilters(false)
      .matching({ writer: { level: 'secret' } })
      .count(),
    1,
  );
});
