import type { MikroORM } from '@mikro-orm/core';
import t from 'tap';
import { QuerySet } from '../../src/query/queryset.ts';
import { forEachDatabase } from '../support/databases.ts';
import { entities, pick, Product } from './catalog.ts';
import { recordQueries } from './record-queries.ts';

const LARGE = 100_000;

forEachDatabase(t, { entities }, async (t, orm, database) => {
  const em = orm.em.fork();
  for (let index = 1; index <= 25; index++) em.create(Product, { name: `n${index}`, stock: index % 5 });
  await em.flush();
  const products = QuerySet.of(orm.em.fork(), Product);
  const ids = pick(orm, Product, 'id');
  const counter = (queryset = products) => {
    const queries = recordQueries(orm);
    t.teardown(() => queries.stop());
    return async (count: 'exact' | 'estimated' | 'none', offset: number, limit: number) => {
      const before = queries.texts.length;
      const page = await queryset.slice(offset, limit).page(ids, { count });
      return [page.rows.length, page.count, page.next, queries.texts.length - before];
    };
  };

  t.test('a page that is not counted is one statement and knows whether another follows', async (t) => {
    const page = counter();
    t.strictSame(await page('none', 0, 10), [10, null, true, 1], 'the first');
    t.strictSame(await page('none', 15, 10), [10, null, false, 1], 'the last, and full');
    t.strictSame(await page('none', 14, 10), [10, null, true, 1], 'one record follows');
    t.strictSame(await page('none', 20, 10), [5, null, false, 1], 'the last');
    t.strictSame(await page('none', 25, 10), [0, null, false, 1], 'beyond the end');
    t.strictSame(await page('none', 0, Number.MAX_SAFE_INTEGER), [25, null, false, 1], 'all');
    t.strictSame(await products.none().page(ids, { count: 'none' }), { rows: [], count: null, next: false });
    t.strictSame((await products.page(ids, { count: 'none' })).next, false, 'without a slice');
  });

  t.test('a count that follows from the page is not queried, and small counts are exact', async (t) => {
    const page = counter();
    // MongoDB keeps a number of documents, which is no query.
    const asked = { sqlite: 2, postgresql: 3, mongodb: 1 }[database];
    t.strictSame(await page('estimated', 0, 10), [10, 25, true, asked], 'the first');
    t.strictSame(await page('estimated', 15, 10), [10, 25, false, 1], 'the last, and full');
    t.strictSame(await page('estimated', 20, 10), [5, 25, false, 1], 'the last');
    t.strictSame(await page('estimated', 30, 10), [0, 25, false, asked], 'beyond the end');
    t.strictSame(await page('estimated', 0, 100), [25, 25, false, 1], 'the only one');
    t.strictSame(await products.none().page(ids, { count: 'estimated' }), { rows: [], count: 0, next: false });
    t.strictSame((await products.page(ids, { count: 'estimated' })).count, 25, 'without a slice');
  });

  t.test('next is the same however it is counted', async (t) => {
    const page = counter(products.filter({ stock__gte: 2 }).orderBy('-stock'));
    for (const [offset, limit] of [
      [0, 1],
      [0, 15],
      [0, 14],
      [14, 1],
      [5, 9],
      [5, 10],
      [15, 1],
      [40, 7],
    ] as const) {
      const [rows, , next] = await page('exact', offset, limit);
      for (const count of ['estimated', 'none'] as const) {
        const open = await page(count, offset, limit);
        t.strictSame([open[0], open[2]], [rows, next], `${count} from ${offset}, ${limit} records`);
      }
    }
  });

  t.test('an invalid count is rejected', async (t) => {
    const page = products.slice(0, 10).page(ids, { count: 'guess' as never });
    await t.rejects(page, {
      name: 'ImproperlyConfigured',
      message: /"count" must be one of exact, estimated, none, got "guess"/,
    });
  });

  if (database !== 'postgresql') return;

  t.test('on a large table the estimate of PostgreSQL is used', async (t) => {
    await fill(orm);
    const page = async (queryset: typeof products, offset: number) =>
      queryset.slice(offset, 10).page(ids, { count: 'estimated' });
    const queries = recordQueries(orm);
    t.teardown(() => queries.stop());
    const { count } = await page(products, 0);
    t.ok(Math.abs(count - LARGE) < LARGE / 20, `${count} of ${LARGE}`);
    t.equal(queries.texts.length, 2, 'the page and the question');
    t.match(queries.texts[1], /^explain \(format json\) select 1 from/);

    // Twice each, for the second time it is a prepared statement: it has to know the values all the same.
    for (const most of [100, 700, 100, 700]) {
      const { count: few } = await page(products.filter({ stock__lt: most }), 0);
      const real = (LARGE / 1000) * most;
      t.ok(Math.abs(few - real) < real / 5, `${few} of ${real}`);
    }

    const correlated = products.filter({ stock__lt: 100, shelf__lt: 100 });
    t.ok((await page(correlated, 0)).count < 5000, 'the planner takes the two for independent');
    t.equal((await page(correlated, 5000)).count, 5011, 'but not fewer than the page proves');
    t.match(await page(correlated, 9_990), { count: 10_000, next: false }, 'the last page is exact');

    await em.transactional(async (inner) => {
      const inside = await page(QuerySet.of(inner, Product), 0);
      t.ok(Math.abs(inside.count - LARGE) < LARGE / 20, 'in a transaction');
    });

    const impossible = products.filter({ stock__lt: 100, shelf__gte: 100 });
    t.strictSame(await page(impossible, 500), { rows: [], count: 500, next: false }, 'no more than were skipped');
    t.strictSame(await page(impossible, 0), { rows: [], count: 0, next: false }, 'none');
  });
});

/** Two columns that say the same, and statistics of this moment. */
async function fill(orm: MikroORM): Promise<void> {
  const connection = orm.em.getConnection();
  await connection.execute('delete from product');
  await connection.execute(
    `insert into product (id, name, stock, shelf, active)
     select n, 'a name of some length', n % 1000, n % 1000, true from generate_series(1, ${LARGE}) n`,
  );
  await connection.execute('analyze product');
}
