import { raw } from '@mikro-orm/core';
import t from 'tap';
import { and, matching, not, or } from '../../src/language/condition.ts';
import { QuerySet } from '../../src/query/queryset.ts';
import { forEachDatabase } from '../support/databases.ts';
import { entities, Maker, pick, Product, Tag } from './catalog.ts';
import { recordQueries } from './record-queries.ts';

forEachDatabase(t, { entities }, async (t, orm, database) => {
  const em = orm.em.fork();
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
  const products = QuerySet.of(orm.em.fork(), Product);
  const names = pick(orm, Product, 'name');
  const ASKED = [
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

  t.test('means what em.find makes of it, with its values bound', async (t) => {
    for (const where of ASKED) {
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

  t.test('takes a text for a key, and never for SQL', async (t) => {
    const matched = async (where: unknown) => (await products.matching(where as never).rows(names)).length;
    t.equal(await matched('1'), 1);
    t.equal(await matched(['1', '2', '99']), 2);
    t.equal(await matched([]), 0);
    for (const sql of ['1 = 1', 'id = 1 or 1 = 1', "1' or '1' = '1", '']) {
      for (const where of [sql, [sql], ['1', sql]]) {
        const found = await matched(where).catch(() => 0);
        t.ok(found <= 1, `${JSON.stringify(where)} matched ${found}`);
      }
    }
  });

  t.test('refuses what is no condition: MikroORM would match all records', async (t) => {
    const lists = [[undefined], [null], [[undefined]], [{ id: 1 }, null]];
    for (const where of [undefined, null, true, false, () => ({}), Symbol('x'), ...lists]) {
      t.throws(() => products.matching(where as never), {
        name: 'ImproperlyConfigured',
        message: /^Product: matching\(\) takes a condition of MikroORM, but .* came$/,
      });
    }
  });

  t.test('is about one entity', async (t) => {
    await t.rejects(products.where(matching(orm.getMetadata().get(Maker), { name: 'x' })).count(), {
      name: 'ImproperlyConfigured',
      message: /a condition on Maker cannot be asked of Product/,
    });
  });
});
