import t from 'tap';
import { QuerySet } from '../../src/query/queryset.ts';
import { forEachDatabase, SQL_DATABASES } from '../support/databases.ts';
import { entities, Maker, pick, Product } from './catalog.ts';
import { recordQueries } from './record-queries.ts';

// A command of MongoDB has its values in it; it is no text that is prepared.
forEachDatabase(t, { entities, only: SQL_DATABASES }, async (t, orm, database) => {
  const em = orm.em.fork();
  em.create(Product, { name: 'only', maker: em.create(Maker, { name: 'm' }) });
  await em.flush();
  const products = QuerySet.of(orm.em.fork(), Product);
  const names = pick(orm, Product, 'name', 'maker.name');

  t.test('the text of a statement never contains values', async (t) => {
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

  t.test('queries of the same form share the text', async (t) => {
    const queries = recordQueries(orm);
    const run = (name: string, stock: number, ids: number[]) =>
      products
        .filter({ name__icontains: name, stock__gte: stock, id__in: ids })
        .orderBy('-name')
        .slice(stock + 1, 5)
        .rows(names);
    await run('a', 1, [1]);
    await run('b', 2, [1, 2, 3]);
    await run(
      'c',
      3,
      Array.from({ length: 500 }, (_, index) => index),
    );
    t.equal(new Set(queries.texts).size, 1);
    queries.stop();
  });

  function manyWords(count: number) {
    const { path } = products.totalOrder()[0]!;
    return {
      kind: 'or',
      conditions: Array.from({ length: count }, () => ({ kind: 'compare', path, lookup: 'gte', value: 0 }) as const),
    } as const;
  }

  t.test('queries of different forms never share the text', async (t) => {
    const by = (path: 'name' | 'maker__name') => products.filter({ [path]: 'm' });
    for (let time = 0; time < 2; time++) {
      t.equal(await by('name').count(), 0);
      t.equal(await by('maker__name').count(), 1);
      t.equal((await by('maker__name').rows(names)).length, 1);
      t.equal(await by('maker__name').exists(), true);
      t.equal((await by('maker__name').slice(1, 5).rows(names)).length, 0);
    }
  });

  t.test(
    'a statement that comes again is prepared',
    { skip: database === 'postgresql' ? false : 'SQLite always prepares' },
    async (t) => {
      for (let time = 0; time < 3; time++) await products.filter({ name: 'only' }).count();
      const connection = orm.em.getConnection() as unknown as {
        getNativeClient(): Promise<{ query(sql: string): Promise<{ rows: { statement: string }[] }> }>;
      };
      const client = await connection.getNativeClient();
      const { rows } = await client.query('select statement from pg_prepared_statements');
      t.ok(rows.some(({ statement }) => statement === 'select count(*) from "product" t0 where t0."name" = $1'));
      t.ok(rows.length <= 500, 'their number is bounded');
      const ofClient = products.filter({ name: 'of a client' }).by('client');
      for (let form = 1; form <= 200; form++) {
        for (let time = 0; time < 5; time++) await ofClient.where(manyWords(form)).exists();
      }
      for (let time = 0; time < 3; time++) await products.filter({ note: 'only' }).count();
      const { rows: after } = await client.query('select statement from pg_prepared_statements');
      t.ok(after.length > rows.length && after.length <= rows.length + 51, 'of what clients shape, few are');
      t.ok(
        after.some(({ statement }) => statement.endsWith('t0."remark" = $1')),
        'and of the views, all are still',
      );
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
