import t from 'tap';
import { fieldPath } from '../../src/fields/field-path.ts';
import { after, before } from '../../src/query/language/condition.ts';
import { reversed, type OrderKey } from '../../src/query/language/order.ts';
import { orderValues, type OrderValue } from '../../src/query/language/projection.ts';
import { QuerySet } from '../../src/query/queryset.ts';
import { forEachDatabase } from '../support/databases.ts';
import { entities, Maker, pick, Product } from './catalog.ts';

/** Orders with ties, with NULLs, in one direction and in several, of every kind of field that has an order. */
const ORDERS = [
  [],
  ['-id'],
  ['name'],
  ['-name'],
  ['stock', 'name'],
  ['-stock', '-name', '-id'],
  ['price', '-stock'],
  ['-price', 'stock'],
  ['price', 'weight'],
  ['-price', '-weight', 'sold'],
  ['-sold'],
  ['sold', 'name'],
  ['added'],
  ['-added', 'day', '-opens'],
  ['maker__name', '-stock'],
  ['-maker__name', '-price'],
  ['active', 'color'],
  ['-active', '-serial'],
  ['weight', 'height'],
  ['maker', '-shelf'],
] as const;

forEachDatabase(t, { entities, onLibSql: true }, async (t, orm, database) => {
  const em = orm.em.fork();
  const makers = ['one', 'two'].map((name) => em.create(Maker, { name }));
  const sold = [null, -5n, 0n, 9007199254740992n, 9007199254740993n];
  for (let index = 0; index < 60; index++) {
    em.create(Product, {
      name: `name ${index % 7}`,
      stock: index % 4,
      price: [null, 1.5, 10.1, 0.3][index % 4] ?? null,
      weight: [0.1, null, -2.25][index % 3] ?? null,
      height: [null, 0.1, 0.7][index % 3] ?? null,
      shelf: [null, 3][index % 2] ?? null,
      sold: sold[index % 5] ?? null,
      active: index % 2 === 0,
      color: (['red', 'blue', null] as const)[index % 3] ?? null,
      added: index % 6 === 0 ? null : new Date(1_700_000_000_000 + (index % 5)),
      day: index % 5 === 0 ? null : `2024-01-0${(index % 3) + 1}`,
      opens: index % 2 === 0 ? null : `0${index % 3}:00:00`,
      serial: index % 3 === 0 ? null : `00000000-0000-4000-8000-00000000000${index % 2}`,
      maker: [makers[0]!, makers[1]!, null][index % 3] ?? null,
    });
  }
  await em.flush();
  // Some rows are more exact than JavaScript can say.
  if (database === 'postgresql') {
    await em
      .getConnection()
      .execute(`update product set added = added + interval '1 microsecond' * (id % 3) where id % 2 = 0`);
  }
  const products = QuerySet.of(orm.em.fork(), Product);
  const ids = pick(orm, Product, 'id');

  for (const order of ORDERS) {
    t.test(`order ${order.join(', ') || 'of the primary key'}`, async (t) => {
      const ordered = products.orderBy(...order);
      const keys = ordered.totalOrder();
      const all = (await ordered.rows(ids)).flat();
      t.equal(new Set(all).size, 60);
      const pages: unknown[] = [];
      for (let offset = 0; offset < 60; offset += 7) pages.push(...(await ordered.slice(offset, 7).rows(ids)).flat());
      t.strictSame(pages, all, 'pages by offset neither overlap nor skip');
      t.strictSame((await products.orderByPaths(reversed(keys)).rows(ids)).flat(), all.toReversed(), 'reversed');
      t.strictSame(await walk(ordered, keys, 7), all, 'pages by keyset, forwards');
      t.strictSame(await walk(products.orderByPaths(reversed(keys)), reversed(keys), 7), all.toReversed(), 'backwards');
      const values = await ordered.rows(orderValues(keys));
      for (const place of [0, 1, 13, 30, 58, 59]) {
        const exact = JSON.parse(JSON.stringify(values[place])) as OrderValue[];
        t.strictSame(
          (await ordered.where(after(keys, exact)).rows(ids)).flat(),
          all.slice(place + 1),
          `after ${place}`,
        );
        t.strictSame(
          (await ordered.where(before(keys, exact)).rows(ids)).flat(),
          all.slice(0, place),
          `before ${place}`,
        );
      }
    });
  }

  /** As a client would: each page begins after the last record of the page before, by what JSON says of it. */
  async function walk(queryset: typeof products, keys: readonly OrderKey[], limit: number): Promise<unknown[]> {
    const found: unknown[] = [];
    let page = queryset;
    for (;;) {
      const rows = await page.slice(0, limit).rows(both(keys));
      found.push(...rows.map(([id]) => id));
      const last = rows.at(-1);
      if (last === undefined || rows.length < limit) return found;
      page = queryset.where(after(keys, JSON.parse(JSON.stringify(last[1])) as OrderValue[]));
    }
  }

  function both(keys: readonly OrderKey[]) {
    const values = orderValues(keys);
    return {
      paths: [...ids.paths, ...values.paths],
      readRow: (row: readonly unknown[]) => [row[0], values.readRow(row.slice(1))] as const,
      readEntity: () => [0, []] as const,
      populate: [],
    };
  }

  t.test('NULLs come last in ascending and first in descending order', async (t) => {
    const prices = async (order: 'price' | '-price'): Promise<unknown[]> =>
      (await products.orderBy(order).rows(pick(orm, Product, 'price'))).flat();
    t.strictSame(
      (await prices('price')).slice(-15),
      Array.from({ length: 15 }, () => null),
    );
    t.strictSame(
      (await prices('-price')).slice(0, 15),
      Array.from({ length: 15 }, () => null),
    );
  });

  t.test('an order is an order of single values', async (t) => {
    const meta = orm.getMetadata().get(Product);
    t.throws(() => products.orderByPaths([{ path: fieldPath(meta, 'tags.label', '.'), descending: false }]), {
      message: /several values/,
    });
    t.throws(() => products.orderByPaths([{ path: fieldPath(meta, 'image', '.'), descending: false }]), {
      message: /of type binary/,
    });
    t.throws(() => after(products.totalOrder(), []), RangeError);
  });
});
