/** Every lookup on every kind of field, on every database, against the same lookup written in JavaScript. */
import type { MikroORM } from '@mikro-orm/core';
import t from 'tap';
import { compare } from '../../src/query/language/compare.ts';
import { fieldPath } from '../../src/fields/field-path.ts';
import type { Lookup } from '../../src/query/language/lookup.ts';
import { QuerySet } from '../../src/query/queryset.ts';
import { forEachDatabase } from '../support/databases.ts';
import { entities, pick, Product } from './catalog.ts';

const U1 = '00000000-0000-4000-8000-000000000001';
const U2 = 'ffffffff-ffff-4fff-bfff-ffffffffffff';
const INT8 = { least: -(2n ** 63n), greatest: 2n ** 63n - 1n };

interface Case {
  readonly field: string;
  readonly stored: readonly unknown[];
  readonly asked: readonly unknown[];
  readonly ordered: boolean;
  /** What JavaScript compares. */
  readonly key?: (value: unknown) => number | bigint | string;
}

const CASES: readonly Case[] = [
  {
    field: 'stock',
    stored: [-2147483648, -1, 0, 7, 2147483647],
    asked: [
      -2147483648,
      -1,
      0,
      6.5,
      7,
      2147483647,
      2147483648,
      -2147483649,
      1e300,
      -1e300,
      Infinity,
      -Infinity,
      99999999999999999999n,
    ],
    ordered: true,
  },
  {
    field: 'shelf',
    stored: [-32768, 0, 32767, null],
    asked: [-32769, -32768, 0, 0.5, 32767, 32768, 2 ** 40],
    ordered: true,
  },
  {
    field: 'sold',
    stored: [INT8.least, -1n, 0n, 9007199254740992n, 9007199254740993n, INT8.greatest, null],
    asked: [
      INT8.least,
      INT8.least - 1n,
      -1n,
      0,
      0.5,
      9007199254740992n,
      9007199254740993n,
      '9007199254740993',
      INT8.greatest,
      INT8.greatest + 1n,
      1e30,
    ],
    ordered: true,
    key: (value) => (typeof value === 'string' ? BigInt(value) : (value as number)),
  },
  {
    field: 'price',
    stored: [-0.01, 0, 0.1, 0.2, 0.3, 10.1, 99999999.99, null],
    asked: [
      -1,
      0,
      0.1,
      '0.10',
      0.2,
      0.3,
      '0.3',
      10.1,
      '10.1',
      99999999.99,
      '99999999.990',
      1e21,
      '999999999999999999999999',
      0.005,
      `0.1${'0'.repeat(40)}`,
      `${'9'.repeat(40)}.5`,
    ],
    ordered: true,
    key: Number,
  },
  {
    field: 'weight',
    stored: [-1.5, 0, 0.1, 1e300, 5e-324, null],
    asked: [-1.5, '-1.5', 0, 0.1, 0.30000000000000004, 1e300, Infinity, -Infinity, 5e-324, 2n],
    ordered: true,
    key: Number,
  },
  {
    field: 'height',
    stored: [-1.5, 0, 0.1, 2.5, null],
    asked: [-1.5, 0, 0.1, 2.5, 1e300, -1e300, Infinity],
    ordered: true,
  },
  { field: 'active', stored: [true, false], asked: [true, false], ordered: false },
  { field: 'color', stored: ['red', 'green', 'blue', null], asked: ['red', 'green'], ordered: false },
  {
    field: 'added',
    stored: [
      new Date('0001-02-03T04:05:06Z'),
      new Date(0),
      new Date('2024-02-29T12:30:45.678Z'),
      new Date('2024-07-01T00:00:00Z'),
      new Date('9999-01-01T00:00:00Z'),
      null,
    ],
    asked: [
      new Date(0),
      new Date('2024-02-29T12:30:45.678Z'),
      new Date('2024-02-29T12:30:45.679Z'),
      '2024-07-01T02:00:00+02:00',
      new Date('9999-01-01T00:00:00Z'),
    ],
    ordered: true,
    key: (value) => new Date(value as string).getTime(),
  },
  {
    field: 'day',
    stored: ['0001-01-01', '2024-02-29', '9999-12-31', null],
    asked: ['0001-01-01', '2024-02-29', '2024-03-01'],
    ordered: true,
  },
  {
    field: 'opens',
    stored: ['00:00:00', '08:30:00', '23:59:59', null],
    asked: ['00:00:00', '08:30', '23:59:59'],
    ordered: true,
    key: (value) => `${String(value)}:00`.slice(0, 8),
  },
  {
    field: 'serial',
    stored: [U1, U2, null],
    asked: [U1, U2, U2.toUpperCase()],
    ordered: false,
    key: (value) => String(value).toLowerCase(),
  },
];

const HOLDS: Partial<Record<Lookup, (order: number) => boolean>> = {
  exact: (order) => order === 0,
  gt: (order) => order > 0,
  gte: (order) => order >= 0,
  lt: (order) => order < 0,
  lte: (order) => order <= 0,
};

forEachDatabase(t, { entities, onLibSql: true }, async (t, orm, database) => {
  for (const { field, stored, asked, ordered, key = asNumber } of CASES) {
    t.test(`${field}: comparisons find the same values as in JavaScript`, async (t) => {
      const ids = await store(orm, field, stored);
      const path = fieldPath(orm.getMetadata().get(Product), field, '.');
      const all = QuerySet.of(orm.em.fork(), Product).filter({ id__in: ids });
      const find = async (lookup: Lookup, value: unknown): Promise<unknown[]> => {
        const rows = await all.where(compare(path, lookup, value)).rows(pick(orm, Product, 'id'));
        return rows.map(([id]) => stored[ids.indexOf(id as number)]);
      };
      const order = (value: unknown, other: unknown): number =>
        key(value) < key(other) ? -1 : key(value) > key(other) ? 1 : 0;
      for (const value of asked) {
        for (const [lookup, holds] of Object.entries(HOLDS) as [Lookup, (order: number) => boolean][]) {
          if (lookup !== 'exact' && !ordered) continue;
          const wanted = stored.filter((item) => item !== null && holds(order(item, value)));
          t.strictSame(await find(lookup, value), wanted, `${lookup} ${String(value)}`);
        }
        const others = stored.filter((item) => item === null || order(item, value) !== 0);
        t.strictSame(await find('ne', value), others, `ne ${String(value)}, NULL among them`);
        if (!ordered) continue;
        const between = stored.filter((item) => item !== null && order(item, asked[0]) >= 0 && order(item, value) <= 0);
        t.strictSame(
          await find('range', [asked[0], value]),
          between,
          `range from ${String(asked[0])} to ${String(value)}`,
        );
      }
      const some = stored.filter((item) => item !== null && asked.some((value) => order(item, value) === 0));
      t.strictSame(await find('in', asked), some, 'in');
      t.strictSame(
        await find('in', [...asked, null]),
        stored.filter((item) => item === null || some.includes(item)),
        'in, with null',
      );
      t.strictSame(await find('in', []), [], 'in an empty list');
      t.strictSame(
        await find('isnull', true),
        stored.filter((item) => item === null),
        'isnull true',
      );
      t.strictSame(
        await find('isnull', false),
        stored.filter((item) => item !== null),
        'isnull false',
      );
      t.strictSame(
        await find('exact', null),
        stored.filter((item) => item === null),
        'exact null',
      );
      t.strictSame(
        await find('ne', null),
        stored.filter((item) => item !== null),
        'ne null',
      );
    });
  }

  t.test('decimals are compared by all their digits', async (t) => {
    await store(orm, 'cost', ['1234567890123456.0001', '1234567890123456.0002']);
    const products = QuerySet.of(orm.em.fork(), Product);
    // SQLite has rounded both to 1234567890123456.
    const isRounded = database === 'sqlite';
    t.equal(await products.filter({ cost: '1234567890123456.0001' }).count(), isRounded ? 0 : 1);
    t.equal(await products.filter({ cost: '1234567890123456' }).count(), isRounded ? 2 : 0);
    t.equal(await products.filter({ cost__lt: '1234567890123456.0002' }).count(), isRounded ? 2 : 1);
    t.equal(await products.filter({ cost__in: ['1234567890123456.0002'] }).count(), isRounded ? 0 : 1);
  });

  t.test('decimals of any length are compared with', async (t) => {
    const ids = await store(orm, 'cost', ['-1.5', '0.1', '1.5']);
    const found = (lookup: object) =>
      QuerySet.of(orm.em.fork(), Product)
        .filter({ id__in: ids, ...lookup })
        .count();
    const above = `0.1${'0'.repeat(40)}1`;
    const below = `-1.4${'9'.repeat(40)}`;
    const beyond = `-${'9'.repeat(40)}.9`;
    t.equal(await found({ cost: above }), 0);
    t.equal(await found({ cost__ne: above }), 3);
    t.equal(await found({ cost__in: [above, '1.5'] }), 1);
    t.strictSame([await found({ cost__gt: above }), await found({ cost__gte: above })], [1, 1]);
    t.strictSame([await found({ cost__lt: above }), await found({ cost__lte: above })], [2, 2]);
    t.strictSame([await found({ cost__gt: below }), await found({ cost__lt: below })], [2, 1]);
    t.strictSame([await found({ cost__gt: beyond }), await found({ cost__lt: beyond })], [3, 0]);
    t.equal(await found({ cost__range: [below, above] }), 1);
  });

  t.test('JSON and bytes can be compared with NULL', async (t) => {
    const [id] = await store(orm, 'data', [{ a: 1 }]);
    const products = QuerySet.of(orm.em.fork(), Product).filter({ id: id as number });
    t.equal(await products.filter({ data__isnull: false }).count(), 1);
    t.equal(await products.filter({ image__isnull: true }).count(), 1);
  });

  t.test('ten thousand values make one parameter', async (t) => {
    const [id] = await store(orm, 'note', ['one of many']);
    const products = QuerySet.of(orm.em.fork(), Product);
    const ids = Array.from({ length: 10_000 }, (_, index) => -index);
    t.equal(await products.filter({ id__in: [...ids, id as number] }).count(), 1);
    const names = Array.from({ length: 10_000 }, (_, index) => `"{},\\' ${index}`);
    t.equal(await products.filter({ note__in: [...names, 'one of many'] }).count(), 1);
  });
});

function asNumber(value: unknown): number {
  return value as number;
}

async function store(orm: MikroORM, field: string, values: readonly unknown[]): Promise<number[]> {
  const em = orm.em.fork();
  const products = values.map((value) => em.create(Product, { name: field, [field]: value }));
  await em.flush();
  return products.map(({ id }) => id);
}
