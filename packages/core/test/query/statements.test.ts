import t from 'tap';
import { QuerySet } from '../../src/query/queryset.ts';
import { entityPlan } from '../../src/backends/sql/entity-plan.ts';
import { forEachDatabase } from '../support/databases.ts';
import { entities, Maker, pick, Product } from './catalog.ts';
import { recordQueries } from './record-queries.ts';

forEachDatabase(t, { entities }, async (t, orm, database) => {
  const em = orm.em.fork();
  em.create(Product, { name: 'only', maker: em.create(Maker, { name: 'm' }) });
  await em.flush();
  const products = QuerySet.of(orm.em.fork(), Product);
  const names = pick(orm, Product, 'name', 'maker.name');
  const { statements } = entityPlan(orm.em, orm.getMetadata().get(Product));

  t.test('no value is ever in the text', async (t) => {
    const queries = recordQueries(orm);
    const secret = "x'; drop table product; --";
    await products
      .filter({ name: secret, note__icontains: secret, stock__in: [424242], id__range: [424242, 424243] })
      .slice(424242, 424243)
      .page(names);
    await products.matching({ name: secret, stock: 424242 }).count();
    for (const text of queries.texts) t.notMatch(text, /drop table|4242/);
    t.ok(queries.texts.length >= 3);
    queries.stop();
    t.equal(await products.count(), 1, 'the table is still there');
  });

  t.test('the text is that of the form, and is made once', async (t) => {
    const queries = recordQueries(orm);
    const run = (name: string, stock: number, ids: number[]) =>
      products
        .filter({ name__icontains: name, stock__gte: stock, id__in: ids })
        .orderBy('-name')
        .slice(stock + 1, 5)
        .rows(names);
    await run('a', 1, [1]);
    const { size } = statements;
    await run('b', 2, [1, 2, 3]);
    await run(
      'c',
      3,
      Array.from({ length: 500 }, (_, index) => index),
    );
    t.equal(statements.size, size);
    t.equal(new Set(queries.texts).size, 1);
    await products.filter({ name__icontains: 'b' }).rows(names);
    t.equal(statements.size, size + 1, 'another form is another text');
    queries.stop();
  });

  t.test('what reads the same columns shares the text', async (t) => {
    await products.rows(names);
    const { size } = statements;
    await products.rows(pick(orm, Product, 'name', 'maker.name'));
    t.equal(statements.size, size);
  });

  t.test('the number of texts that are kept is bounded', async (t) => {
    for (let words = 1; words <= 600; words++) {
      await products
        .filter({ name__ne: 'x' })
        .filter({ stock__in: [0] })
        .where(manyWords(words))
        .count();
    }
    t.ok(statements.size <= 500, String(statements.size));
    t.equal(await products.filter({ name: 'only' }).count(), 1);
  });

  function manyWords(count: number) {
    const { path } = products.totalOrder()[0]!;
    return {
      kind: 'or',
      conditions: Array.from({ length: count }, () => ({ kind: 'compare', path, lookup: 'gte', value: 0 }) as const),
    } as const;
  }

  t.test(
    'a statement that comes again is prepared',
    { skip: database === 'postgresql' ? false : 'SQLite always prepares' },
    async (t) => {
      for (let time = 0; time < 3; time++) await products.filter({ name: 'only' }).count();
      const connection = orm.em.getConnection() as unknown as {
        getNativeClient(): Promise<{ query(sql: string): Promise<{ rows: { statement: string }[] }> }>;
      };
      const { rows } = await (await connection.getNativeClient()).query('select statement from pg_prepared_statements');
      t.ok(rows.some(({ statement }) => statement === 'select count(*) from "product" t0 where t0."name" = $1'));
      t.ok(rows.length <= 500, 'their number is bounded');
      await orm.em.getConnection().execute('alter table product alter column name type text');
      const found = await products.filter({ name: 'only' }).rows(names);
      t.strictSame(found, [['only', 'm']], 'a change of the schema does no harm');
      for (let time = 0; time < 3; time++) {
        t.strictSame(await products.filter({ name: 'only' }).rows(names), [['only', 'm']]);
      }
      await orm.em.getConnection().execute('alter table product alter column name type varchar(300)');
      t.strictSame(await products.filter({ name: 'only' }).rows(names), [['only', 'm']]);
    },
  );
});
