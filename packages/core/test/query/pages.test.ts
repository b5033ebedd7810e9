import t from 'tap';
import { compare } from '../../src/query/language/compare.ts';
import { and, never, or } from '../../src/query/language/condition.ts';
import { fieldPath } from '../../src/fields/field-path.ts';
import { QuerySet } from '../../src/query/queryset.ts';
import { forEachDatabase } from '../support/databases.ts';
import { entities, pick, Product } from './catalog.ts';
import { recordQueries } from './record-queries.ts';

forEachDatabase(t, { entities, onLibSql: true }, async (t, orm, database) => {
  const em = orm.em.fork();
  for (let index = 1; index <= 25; index++) em.create(Product, { name: `n${index}`, stock: index % 5 });
  await em.flush();
  const products = QuerySet.of(orm.em.fork(), Product);
  const ids = pick(orm, Product, 'id');

  t.test('a page is its rows and the exact number of all', async (t) => {
    const page = await products.filter({ stock__gte: 1 }).orderBy('-stock').slice(5, 10).page(ids);
    t.equal(page.count, 20);
    t.equal(page.rows.length, 10);
    t.ok(
      page.rows.every((row) => row.length === 1),
      'a row holds what was asked for and no more',
    );
  });

  t.test('at most two statements, and as few as show the number', async (t) => {
    const queries = recordQueries(orm);
    const statements = async (offset: number, limit: number): Promise<[number, number, number]> => {
      const before = queries.texts.length;
      const { rows, count } = await products.slice(offset, limit).page(ids);
      return [rows.length, count, queries.texts.length - before];
    };
    const inline = database === 'postgresql' ? 1 : 2;
    t.strictSame(await statements(0, 10), [10, 25, inline], 'the first page');
    t.strictSame(await statements(20, 10), [5, 25, 1], 'the last page shows it');
    t.strictSame(await statements(0, 100), [25, 25, 1], 'so does the only one');
    t.strictSame(await statements(25, 10), [0, 25, 2], 'a page beyond the end');
    t.strictSame(await statements(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER), [0, 25, 2], 'far beyond the end');
    t.strictSame(
      await products.filter({ id: -1 }).slice(0, 10).page(ids),
      { rows: [], count: 0, next: false },
      'nothing at all',
    );
    t.strictSame(await products.page(ids).then(({ rows, count }) => [rows.length, count]), [25, 25], 'without a slice');
    queries.stop();
  });

  t.test('count, exists and first', async (t) => {
    t.equal(await products.slice(3, 4).count(), 25, 'whatever the slice');
    t.equal(await products.filter({ stock: 1 }).exists(), true);
    t.equal(await products.filter({ stock: 9 }).exists(), false);
    t.strictSame(await products.orderBy('-id').slice(2, 5).first(ids), [23], 'the first of the slice');
    t.equal(await products.filter({ stock: 9 }).first(ids), undefined);
    t.strictSame(await products.slice(0, 0).rows(ids), []);
  });

  t.test('an empty query set runs no query', async (t) => {
    const queries = recordQueries(orm);
    t.strictSame(await products.none().rows(ids), []);
    t.strictSame(await products.none().page(ids), { rows: [], count: 0, next: false });
    t.equal(await products.none().count(), 0);
    t.equal(await products.where(never).exists(), false);
    t.equal(await products.filter({ id__in: [] }).first(ids), undefined);
    t.equal(await products.filter({ stock: 2 ** 31 }).count(), 0, 'beyond the range of the column');
    t.strictSame(await products.none().entities(), []);
    t.strictSame(queries.texts, []);
    queries.stop();
  });

  t.test('a query set is a value', async (t) => {
    const cheap = products.filter({ stock__lt: 2 });
    const narrowed = cheap.filter({ name: 'n5' }).orderBy('-name').slice(0, 1);
    t.not(narrowed, cheap);
    t.equal(await cheap.count(), 10);
    t.equal(await narrowed.count(), 1);
    t.strictSame(cheap.order, []);
    t.strictSame(
      cheap.totalOrder().map(({ path, descending }) => [path.key, descending]),
      [['id', false]],
    );
    t.strictSame(
      narrowed.totalOrder().map(({ path, descending }) => [path.key, descending]),
      [
        ['name', true],
        ['id', false],
      ],
    );
    t.strictSame(products.orderBy('-id', 'name').totalOrder().length, 2, 'the primary key is there already');
  });

  t.test('a slice consists of two integers', async (t) => {
    for (const [offset, limit] of [
      [-1, 1],
      [0, -1],
      [0.5, 1],
      [0, NaN],
      [0, Infinity],
      [2 ** 53, 1],
    ] as const) {
      t.throws(() => products.slice(offset, limit), { name: 'ImproperlyConfigured', message: /whole numbers/ });
    }
  });

  t.test('thousands of conditions are nested no deeper than a few', async (t) => {
    const path = fieldPath(orm.getMetadata().get(Product), 'name', '.');
    const many = Array.from({ length: 3000 }, (_, index) => compare(path, 'exact', `n${index + 1}`));
    t.equal(await products.where(or(...many)).count(), 25);
    t.equal(
      await products.where(and(...many.map((condition) => or(condition, compare(path, 'startswith', 'n'))))).count(),
      25,
    );
  });

  t.test('undefined and other values are rejected as lookups', async (t) => {
    for (const nothing of [undefined, null, [], () => ({}), 5, 'name']) {
      t.throws(() => products.filter(nothing as never), {
        name: 'ImproperlyConfigured',
        message: /^Product: lookups are values by name, got .*$/,
      });
    }
    t.throws(() => products.filter({ name: undefined } as object), {
      name: 'ImproperlyConfigured',
      message: /"name" is compared with undefined/,
    });
  });
});
