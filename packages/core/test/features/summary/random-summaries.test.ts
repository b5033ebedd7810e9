/** Summaries at random, filtered and grouped in every way, over HTTP on every database, against a model that adds record by record. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { ModelViewSet, readShape, Router } from '../../../src/index.ts';
import { COUNT, Dice, SEED } from '../../query/random-conditions.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Region = defineEntity({
  name: 'Region',
  properties: { id: p.integer().primary(), name: p.string().length(20) },
});
const Buyer = defineEntity({
  name: 'Buyer',
  properties: {
    id: p.integer().primary(),
    country: p.string().length(2).nullable(),
    region: () => p.manyToOne(Region).nullable(),
  },
});
const Label = defineEntity({
  name: 'Label',
  properties: { id: p.integer().primary(), name: p.string().length(20) },
});
const Sale = defineEntity({
  name: 'Sale',
  properties: {
    id: p.integer().primary(),
    status: p.enum(['open', 'paid', 'late'] as const),
    word: p.string().length(20).nullable(),
    gift: p.boolean(),
    units: p.integer().nullable(),
    bytes: p.bigint().nullable(),
    total: p.decimal().precision(12).scale(2).nullable(),
    rate: p.decimal('number').precision(8).scale(3),
    weight: p.double().nullable(),
    sold_at: p.datetime().length(3).nullable(),
    due: p.date().nullable(),
    buyer: () => p.manyToOne(Buyer).nullable(),
    labels: () => p.manyToMany(Label),
  },
});

class Sales extends ModelViewSet(Sale, {
  read: readShape(
    Sale,
    ['id', 'status', 'word', 'gift', 'units', 'bytes', 'total', 'rate', 'weight', 'sold_at', 'due'],
    {
      buyer: readShape(Buyer, ['id', 'country'], { region: readShape(Region, ['id', 'name']) }),
    },
  ),
  filterFields: { label: 'labels__name__in', country: 'buyer__country', min_units: 'units__gte' },
  searchFields: ['word', 'labels__name'],
  summary: {
    group: [
      ...(['status', 'word', 'gift', 'units', 'bytes', 'due', 'buyer', 'buyer.country', 'buyer.region.name'] as const),
      ...(['sold_at:day', 'sold_at:week', 'sold_at:month', 'sold_at:year'] as const),
      ...(['due:day', 'due:week', 'due:month', 'due:year'] as const),
    ],
    values: {
      units: ['sum', 'avg', 'min', 'max'],
      bytes: ['sum', 'avg', 'min', 'max'],
      total: ['sum', 'avg', 'min', 'max'],
      rate: ['sum', 'avg', 'min', 'max'],
      weight: ['sum', 'avg', 'min', 'max'],
      sold_at: ['min', 'max'],
      due: ['min', 'max'],
    },
  },
}) {}

interface Row {
  readonly id: number;
  readonly status: 'open' | 'paid' | 'late';
  readonly word: string | null;
  readonly gift: boolean;
  readonly units: number | null;
  readonly bytes: bigint | null;
  readonly total: string | null;
  readonly rate: number;
  readonly weight: number | null;
  readonly sold_at: Date | null;
  readonly due: string | null;
  readonly buyer: number | null;
  readonly labels: readonly number[];
}

const dice = new Dice(SEED);
const REGIONS = ['north', 'south'];
const LABELS = ['red', 'green', 'blue'];
const BUYERS = [
  { country: 'FR', region: 1 },
  { country: 'FR', region: 2 },
  { country: 'SE', region: 1 },
  { country: null, region: null },
];
const WORDS = ['tea', 'Tea', 'TEA', 'é', 'z', '', '𝒳', null];

function cents(limit: number): string {
  const sign = dice.below(4) === 0 ? '-' : '';
  return `${sign}${dice.below(limit)}.${String(dice.below(100)).padStart(2, '0')}`;
}

function orNull<Value>(make: () => Value): Value | null {
  return dice.below(5) === 0 ? null : make();
}

function anyInstant(): Date {
  const days = dice.below(30) - 15;
  const ms = dice.oneOf([0, 1, 86_399_999, dice.below(86_400_000)]);
  return new Date(
    Date.parse(dice.oneOf(['2025-12-31', '2024-02-28', '1969-12-31', '1970-01-01'])) + days * 86_400_000 + ms,
  );
}

const ROWS: readonly Row[] = Array.from({ length: 150 }, (_, index) => ({
  id: index + 1,
  status: dice.oneOf(['open', 'paid', 'late'] as const),
  word: dice.oneOf(WORDS),
  gift: dice.below(2) === 0,
  units: orNull(() => dice.oneOf([2 ** 31 - 1, -(2 ** 31), dice.below(4)])),
  bytes: orNull(() => dice.oneOf([2n ** 63n - 1n, -(2n ** 63n), 9_007_199_254_740_993n, BigInt(dice.below(14) - 2)])),
  total: orNull(() => (dice.below(3) === 0 ? '9999999999.99' : cents(1000))),
  rate: Number(`${dice.below(1000)}.${String(dice.below(1000)).padStart(3, '0')}`),
  weight: orNull(() => dice.below(100) / 4),
  sold_at: orNull(anyInstant),
  due: orNull(() => anyInstant().toISOString().slice(0, 10)),
  buyer: orNull(() => 1 + dice.below(BUYERS.length)),
  labels: [1, 2, 3].filter(() => dice.below(2) === 0),
}));

const buyerOf = ({ buyer }: Row) => (buyer === null ? undefined : BUYERS[buyer - 1]);

/** The first day of a period in UTC, by the calendar of JavaScript. */
function startOf(time: Date | string | null, period: string): string | null {
  if (time === null) return null;
  const date = new Date(time);
  const day = date.getUTCDay() === 0 ? 6 : date.getUTCDay() - 1;
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  const starts: Record<string, number> = {
    day: Date.UTC(year, month, date.getUTCDate()),
    week: Date.UTC(year, month, date.getUTCDate() - day),
    month: Date.UTC(year, month, 1),
    year: Date.UTC(year, 0, 1),
  };
  return new Date(starts[period]!).toISOString().slice(0, 10);
}

type Key = string | number | boolean | null;
const GROUPS: Readonly<Record<string, (row: Row) => Key>> = {
  status: ({ status }) => status,
  word: ({ word }) => word,
  gift: ({ gift }) => gift,
  units: ({ units }) => units,
  bytes: ({ bytes }) => (bytes === null ? null : String(bytes)),
  due: ({ due }) => due,
  buyer: ({ buyer }) => buyer,
  'buyer.country': (row) => buyerOf(row)?.country ?? null,
  'buyer.region.name': (row) => REGIONS[(buyerOf(row)?.region ?? 0) - 1] ?? null,
  ...Object.fromEntries(
    ['day', 'week', 'month', 'year'].flatMap((period) => [
      [`sold_at:${period}`, ({ sold_at }: Row) => startOf(sold_at, period)],
      [`due:${period}`, ({ due }: Row) => startOf(due, period)],
    ]),
  ),
};

/** The exact value of a field in units of its last digit. */
interface Exact {
  readonly scale: number;
  readonly isText: boolean;
  /** The digits behind the point of an average; undefined: as many as a double has. */
  readonly digits: number | undefined;
  readonly of: (row: Row) => bigint | null;
}
const units = (text: string | null, scale: number): bigint | null => {
  if (text === null) return null;
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(scale, '0'));
};
const NUMBERS: Readonly<Record<string, Exact>> = {
  units: { scale: 0, isText: false, digits: undefined, of: (row) => (row.units === null ? null : BigInt(row.units)) },
  bytes: { scale: 0, isText: true, digits: 4, of: ({ bytes }) => bytes },
  total: { scale: 2, isText: true, digits: 6, of: ({ total }) => units(total, 2) },
  rate: { scale: 3, isText: false, digits: 7, of: ({ rate }) => units(rate.toFixed(3), 3) },
  weight: { scale: 2, isText: false, digits: undefined, of: ({ weight }) => units(weight?.toFixed(2) ?? null, 2) },
};
const TIMES: Readonly<Record<string, (row: Row) => string | null>> = {
  sold_at: ({ sold_at }) => sold_at?.toISOString() ?? null,
  due: ({ due }) => due,
};

function written(value: bigint, scale: number, isText: boolean): string | number {
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0');
  const text = `${value < 0n ? '-' : ''}${digits.slice(0, digits.length - scale)}${scale ? `.${digits.slice(-scale)}` : ''}`;
  return isText ? text : Number(text);
}

function told(rows: readonly Row[], aggregate: string, name: string): string | number | null {
  const time = TIMES[name];
  if (time !== undefined) {
    const values = rows.map(time).filter((value) => value !== null);
    values.sort();
    return (aggregate === 'min' ? values[0] : values.at(-1)) ?? null;
  }
  const { scale, isText, digits, of } = NUMBERS[name]!;
  const values = rows.map(of).filter((value) => value !== null);
  if (values.length === 0) return null;
  const [least, greatest] = values.reduce(
    ([low, high], value) => [value < low! ? value : low!, value > high! ? value : high!],
    [values[0], values[0]],
  );
  if (aggregate === 'min' || aggregate === 'max') {
    return written(aggregate === 'min' ? least! : greatest!, scale, isText);
  }
  const sum = values.reduce((one, other) => one + other, 0n);
  if (aggregate === 'sum') return written(sum, scale, isText);
  if (digits === undefined) return Number(written(sum, scale, false)) / values.length;
  const magnified = (sum < 0n ? -sum : sum) * 10n ** BigInt(digits - scale);
  const count = BigInt(values.length);
  const rounded = (magnified * 2n + count) / (count * 2n);
  return written(sum < 0n ? -rounded : rounded, digits, isText);
}

interface Question {
  readonly group: readonly string[];
  readonly values: readonly (readonly [aggregate: string, names: readonly string[]])[];
  readonly filters: Readonly<Record<string, string>>;
}

function some<Item>(items: readonly Item[], most: number): Item[] {
  return [...new Set(Array.from({ length: dice.below(most + 1) }, () => dice.oneOf(items)))];
}

function anyQuestion(): Question {
  const values = ['sum', 'avg', 'min', 'max'].map((aggregate) => {
    const isOrder = aggregate === 'min' || aggregate === 'max';
    return [aggregate, some([...Object.keys(NUMBERS), ...(isOrder ? Object.keys(TIMES) : [])], 3)] as const;
  });
  const filters = {
    ...(dice.below(3) === 0 && { label: some(LABELS, 2).join() }),
    ...(dice.below(3) === 0 && { country: dice.oneOf(['FR', 'SE', 'XX']) }),
    ...(dice.below(3) === 0 && { min_units: String(dice.below(4)) }),
    ...(dice.below(4) === 0 && { search: dice.oneOf(['tea', 'e', 'nothing']) }),
  };
  return { group: some(Object.keys(GROUPS), 3), values: values.filter(([, names]) => names.length > 0), filters };
}

function passes(row: Row, { label = '', country, min_units, search }: Question['filters']): boolean {
  const names = row.labels.map((id) => LABELS[id - 1]!);
  return (
    (label === '' || names.some((name) => label.split(',').includes(name))) &&
    (country === undefined || buyerOf(row)?.country === country) &&
    (min_units === undefined || (row.units !== null && row.units >= Number(min_units))) &&
    (search === undefined || [row.word ?? '', ...names].some((text) => text.toLowerCase().includes(search)))
  );
}

function compared(names: readonly string[], one: readonly Key[], other: readonly Key[]): number {
  const index = one.findIndex((key, at) => key !== other[at]);
  if (index === -1) return 0;
  const [left, right] = [one[index]!, other[index]!];
  if (left === null || right === null) return left === null ? 1 : -1;
  const isLess = names[index] === 'bytes' ? BigInt(left) < BigInt(right) : left < right;
  return isLess ? -1 : 1;
}

function expected({ group, values, filters }: Question): object[] {
  const groups = new Map<string, { readonly keys: Key[]; readonly rows: Row[] }>();
  if (group.length === 0) groups.set('[]', { keys: [], rows: [] });
  for (const row of ROWS.filter((each) => passes(each, filters))) {
    const keys = group.map((name) => GROUPS[name]!(row));
    const text = JSON.stringify(keys);
    groups.set(text, { keys, rows: [...(groups.get(text)?.rows ?? []), row] });
  }
  return [...groups.values()]
    .toSorted((one, other) => compared(group, one.keys, other.keys))
    .map(({ keys, rows }) => ({
      group: Object.fromEntries(group.map((name, index) => [name, keys[index]])),
      count: rows.length,
      ...Object.fromEntries(
        values.map(([aggregate, names]) => [
          aggregate,
          Object.fromEntries(names.map((name) => [name, told(rows, aggregate, name)])),
        ]),
      ),
    }));
}

const QUESTIONS = Array.from({ length: COUNT }, anyQuestion);

forEachDatabase(t, { entities: [Region, Buyer, Label, Sale], onLibSql: true }, async (t, orm) => {
  const em = orm.em.fork();
  await em.insertMany(
    Region,
    REGIONS.map((name, index) => ({ id: index + 1, name })),
  );
  await em.insertMany(
    Buyer,
    BUYERS.map((buyer, index) => ({ id: index + 1, ...buyer })),
  );
  await em.insertMany(
    Label,
    LABELS.map((name, index) => ({ id: index + 1, name })),
  );
  for (const row of ROWS) em.create(Sale, row as never);
  await em.flush();
  const app = await testApp(t, orm, [new Router().register('sales', Sales)]);
  const wrong: object[] = [];
  let groups = 0;
  for (const question of QUESTIONS) {
    const { group, values, filters } = question;
    const lists = [['group', group] as const, ...values].filter(([, names]) => names.length > 0);
    const query = new URLSearchParams({
      ...Object.fromEntries(lists.map(([name, names]) => [name, names.join()])),
      ...filters,
    });
    // A comma between values is sent as it is. One that is encoded is part of a value.
    const text = query.toString().replaceAll('%2C', ',');
    const response = await app.inject(`/sales/summary?${text}`);
    const { results } = response.json<{ results?: object[] }>();
    const model = expected(question);
    groups += model.length;
    if (results === undefined) t.fail(`${text}: ${response.body}`);
    else if (JSON.stringify(sorted(results)) !== JSON.stringify(sorted(model))) {
      wrong.push({ question, results, model });
    }
  }
  t.ok(groups > COUNT, `${groups} groups were compared`);
  t.strictSame(wrong.slice(0, 1), [], `no answer of ${COUNT} differs, seed ${SEED}`);
});

/** The same with the members of each object in one order: that of a schema may be another. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, part]) => [name, sorted(part)]),
  );
}
