import t from 'tap';
import { QuerySet } from '../../src/query/queryset.ts';
import { forEachDatabase } from '../support/databases.ts';
import { entities, pick, Product } from './catalog.ts';

forEachDatabase(t, { entities }, async (t, orm) => {
  const products = QuerySet.of(orm.em.fork(), Product);
  const names = pick(orm, Product, 'name');

  t.test('uncommitted changes are visible only in their transaction', async (t) => {
    const writer = orm.em.fork();
    await writer.begin();
    writer.create(Product, { name: 'uncommitted' });
    await writer.flush();
    const inside = products.using(writer);
    t.equal(await inside.count(), 1);
    t.strictSame(await inside.slice(0, 10).page(names), { rows: [['uncommitted']], count: 1, next: false });
    t.equal((await inside.entities()).length, 1);
    // On SQLite's one connection these wait, and are answered after the end of the transaction.
    const outside = [products.count(), products.page(names), products.entities()] as const;
    await new Promise((resolve) => setTimeout(resolve, 20));
    await writer.rollback();
    const [count, page, read] = await Promise.all(outside);
    t.equal(count, 0);
    t.match(page, { rows: [], count: 0 });
    t.strictSame(read, []);
  });

  t.test('a page and its count are of one moment', async (t) => {
    const written = { isOver: false };
    const write = async (): Promise<void> => {
      for (let round = 0; round < 20; round++) {
        const em = orm.em.fork();
        await em.transactional(async (inner) => {
          for (let index = 0; index < 10; index++) inner.create(Product, { name: `round ${round}` });
          await inner.flush();
        });
      }
      written.isOver = true;
    };
    const watch = async (): Promise<void> => {
      while (!written.isOver) {
        const { rows, count } = await products.slice(0, 1000).page(names);
        if (rows.length !== count || count % 10 !== 0) t.fail(`${rows.length} rows, but ${count} in all`);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await Promise.all([write(), watch(), watch()]);
    t.equal(await products.count(), 200);
  });

  t.test('many at once', async (t) => {
    const asked = Array.from({ length: 100 }, (_, index) =>
      products
        .filter({ name: `round ${index % 20}` })
        .orderBy('-id')
        .slice(index % 7, 3)
        .page(names),
    );
    for (const { rows, count } of await Promise.all(asked)) {
      t.match({ length: rows.length, count }, { length: 3, count: 10 });
    }
  });

  t.test('within transactional() and nested ones', async (t) => {
    await orm.em.fork().transactional(async (em) => {
      em.create(Product, { name: 'outer' });
      await em.flush();
      await em
        .transactional(async (inner) => {
          inner.create(Product, { name: 'inner' });
          await inner.flush();
          t.equal(
            await products
              .using(inner)
              .filter({ name__in: ['inner', 'outer'] })
              .count(),
            2,
          );
          throw new Error('undo the inner one');
        })
        .catch(() => undefined);
      t.equal(
        await products
          .using(em)
          .filter({ name__in: ['inner', 'outer'] })
          .count(),
        1,
      );
    });
    t.equal(await products.filter({ name: 'outer' }).exists(), true);
  });
});
