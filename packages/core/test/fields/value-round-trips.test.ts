/**
 * What was sent with a 2xx is what a client reads: random values of every kind of column, by every way to write and to
 * read them.
 */
import { defineEntity, p, type MikroORM } from '@mikro-orm/core';
import type { FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { file, FileType, many, ModelViewSet, nested, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';
import { numbers } from '../support/numbers.ts';

const Pair = defineEntity({
  name: 'Pair',
  embeddable: true,
  properties: { left: p.text(), words: p.array().nullable(), count: p.integer().nullable() },
});

const Box = defineEntity({
  name: 'Box',
  properties: {
    id: p.integer().primary(),
    samples: () => p.oneToMany(Sample).mappedBy('box'),
  },
});

const Sample = defineEntity({
  name: 'Sample',
  properties: {
    id: p.integer().primary(),
    box: () => p.manyToOne(Box).nullable(),
    label: p.string().length(20).nullable(),
    note: p.text().nullable(),
    stock: p.integer().nullable(),
    shelf: p.smallint().nullable(),
    sold: p.bigint().nullable(),
    soldAsNumber: p.bigint('number').nullable(),
    weight: p.double().nullable(),
    height: p.float().nullable(),
    price: p.decimal('number').precision(10).scale(2).nullable(),
    cost: p.decimal('string').precision(14).scale(4).nullable(),
    active: p.boolean().nullable(),
    color: p.enum(['red', 'null', 'a,b', 'say "hi"', '{x}', ' ']).nullable(),
    level: p.enum([1, 2, 3]).nullable(),
    added: p.datetime(3).nullable(),
    day: p.date().nullable(),
    opens: p.time().nullable(),
    serial: p.uuid().nullable(),
    data: p.json<unknown>().nullable(),
    image: p.blob().nullable(),
    words: p.array().nullable(),
    marks: p.array((text) => Number(text)).nullable(),
    names: p.string().length(20).array().nullable(),
    counts: p.integer().array().nullable(),
    sizes: p.double().array().nullable(),
    prices: p.decimal('string').precision(20).scale(4).array().nullable(),
    totals: p.bigint().array().nullable(),
    flags: p.boolean().array().nullable(),
    serials: p.uuid().array().nullable(),
    days: p.date().array().nullable(),
    moments: p.datetime(3).array().nullable(),
    colors: p.enum(['red', 'null', 'NULL', 'a,b', 'say "hi"', '{x}', ' ', '']).array().nullable(),
    levels: p.enum([1, 2, 3]).array().nullable(),
    inline: () => p.embedded(Pair).nullable(),
    stored: () => p.embedded(Pair).object().nullable(),
    scan: p.type(FileType).nullable(),
  },
});

type Value = unknown;
type Random = () => number;

const integer = (random: Random, least: number, greatest: number): number =>
  least + Math.floor(random() * (greatest - least + 1));
const oneOf = <Item>(random: Random, items: readonly Item[]): Item => items[integer(random, 0, items.length - 1)]!;
const listOf =
  (make: (random: Random) => Value) =>
  (random: Random): Value[] =>
    Array.from({ length: oneOf(random, [0, 1, 1, 2, 3]) }, () => make(random));

/** What parsers of lists, of forms, of CSV and of SQL take for more than text. */
const PIECES = [
  'null',
  'NULL',
  'undefined',
  'true',
  '0',
  '-1',
  'NaN',
  '""',
  "''",
  '{}',
  '[]',
  '[1:2]={3}',
  '$1',
  '?',
  ':x',
  '--',
  'a',
  'B',
  'é',
  'ß',
  '😀',
  '\u2028',
  '\ufeff',
  ' ',
  '  ',
  '\t',
  '\n',
  '\r\n',
  '\u0001',
  '\u007f',
  '\u0085',
  '\u00a0',
  ',',
  ';',
  '"',
  "'",
  '\\',
  '\\\\',
  '\\n',
  '\\"',
  '{',
  '}',
  '[',
  ']',
  '(',
  '|',
  '%',
  '_',
  '=',
  '@',
  '+',
  '&',
  '<',
  '.',
];
const text = (random: Random): string =>
  Array.from({ length: integer(random, 0, 4) }, () => oneOf(random, PIECES)).join('');
const shortText = (random: Random): string => text(random).slice(0, 20).toWellFormed();
const whole32 = (random: Random): number =>
  oneOf(random, [0, 1, -1, 2 ** 31 - 1, -(2 ** 31), integer(random, -1e6, 1e6)]);
const big = (random: Random): string =>
  oneOf(random, ['0', '-1', '9223372036854775807', '-9223372036854775808', '9007199254740993', `${whole32(random)}`]);
const double = (random: Random): number =>
  oneOf(random, [0, 0.1, -1e-7, 1e300, 5e-324, 1.7976931348623157e308, random() * 1e9, 123456789012345680000]);
const cost = (random: Random): string =>
  oneOf(random, ['0.0001', '1234567890.1234', '-0.5000', `${integer(random, -1e6, 1e6)}.2500`]);
const uuid = (random: Random): string =>
  `018f2f6e-0000-7000-8000-${String(integer(random, 0, 999_999_999)).padStart(12, '0')}`;
const day = (random: Random): string =>
  oneOf(random, ['0001-01-01', '9999-12-31', '1582-10-10', '2024-02-29', `20${integer(random, 10, 99)}-03-31`]);
const moment = (random: Random): string =>
  new Date(integer(random, Date.UTC(1800, 0), Date.UTC(2200, 0))).toISOString();
const json = (random: Random, depth = 0): Value => {
  const leaf = oneOf<(random: Random) => Value>(random, [text, whole32, double, () => true, () => null]);
  if (depth > 2 || random() < 0.5) return leaf(random);
  if (random() < 0.5) return listOf((next) => json(next, depth + 1))(random);
  return Object.fromEntries(listOf((next) => [`k${text(next)}`, json(next, depth + 1)])(random) as [string, Value][]);
};
const pair = (random: Random): Value => ({
  left: `x${text(random)}`,
  words: random() < 0.3 ? null : listOf(text)(random),
  count: random() < 0.3 ? null : whole32(random),
});

const COLORS = ['red', 'null', 'a,b', 'say "hi"', '{x}', ' '];

const MAKERS: Readonly<Record<string, (random: Random) => Value>> = {
  label: shortText,
  note: text,
  stock: whole32,
  shelf: (random) => integer(random, -32_768, 32_767),
  sold: big,
  soldAsNumber: (random) => oneOf(random, [0, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, whole32(random)]),
  weight: double,
  height: (random) => Math.fround(oneOf(random, [0.5, -1e-7, 3e38, random() * 1e6])),
  price: (random) => oneOf(random, [0, 0.01, -99_999_999.99, 99_999_999.99, integer(random, -1e9, 1e9) / 100]),
  cost,
  active: (random) => random() < 0.5,
  color: (random) => oneOf(random, COLORS),
  level: (random) => integer(random, 1, 3),
  added: moment,
  day,
  opens: (random) => `${String(integer(random, 0, 23)).padStart(2, '0')}:59:0${integer(random, 0, 9)}`,
  serial: uuid,
  data: (random) => oneOf(random, [{ value: json(random) }, [json(random)]]),
  image: (random) => Buffer.from(text(random)).toString('base64'),
  words: listOf(text),
  marks: listOf(double),
  names: listOf(shortText),
  counts: listOf(whole32),
  sizes: listOf(double),
  prices: listOf((random) => oneOf(random, ['1234567890123456.1234', '-0.5000', '9999999999999999.9999'])),
  totals: listOf(big),
  flags: listOf((random) => random() < 0.5),
  serials: listOf(uuid),
  days: listOf(day),
  moments: listOf(moment),
  colors: listOf((random) => oneOf(random, [...COLORS, 'NULL', ''])),
  levels: listOf((random) => integer(random, 1, 3)),
  inline: pair,
  stored: pair,
};
const NAMES = Object.keys(MAKERS);

type Body = Record<string, Value>;

function sample(random: Random): Body {
  return Object.fromEntries(NAMES.map((name) => [name, random() < 0.1 ? null : MAKERS[name]!(random)]));
}

const names = NAMES as never[];
const read = readShape(Sample, ['id', ...names]);
const store = { put: async () => {}, get: async () => undefined, delete: async () => {} };
const write = writeShape(Sample, names);

class SampleViewSet extends ModelViewSet(Sample, {
  read,
  write,
  bulk: 100,
  exports: ['csv', 'ndjson'],
  pagination: null,
}) {}
class FormViewSet extends ModelViewSet(Sample, {
  read,
  write: writeShape(Sample, names, { scan: file({ store: store as never, maxBytes: 1, types: ['text/plain'] }) }),
}) {}
class BoxViewSet extends ModelViewSet(Box, {
  read: readShape(Box, ['id'], { samples: many(read) }),
  write: writeShape(Box, [], { samples: nested(write, { update: true, max: 100 }) }),
}) {}
/** Its records are entities of MikroORM, not rows. */
class EntityViewSet extends ModelViewSet(Sample, { read, write, pagination: null }) {
  override represent(record: never) {
    return super.represent(record);
  }
}

const ROUNDS = 8;
const PER_ROUND = 4;

forEachDatabase(t, { entities: [Box, Sample, Pair] }, async (t, orm, database) => {
  const router = new Router().register('samples', SampleViewSet).register('forms', FormViewSet);
  const app = await testApp(t, orm, [router.register('boxes', BoxViewSet).register('entities', EntityViewSet)]);
  const random = numbers(20_261_128);
  let values = 0;
  const send = async (method: 'GET' | 'POST' | 'PUT' | 'PATCH', url: string, payload?: unknown): Promise<never> => {
    const response = await app.inject({ method, url, ...(payload !== undefined && { payload: payload as object }) });
    if (response.statusCode >= 300) throw new Error(`${method} ${url}: ${response.statusCode} ${response.body}`);
    return response.json<never>();
  };
  const same = (t: Test, got: Body, sent: Body, way: string): void => {
    for (const name of NAMES) {
      values++;
      const [found, wanted] = [comparable(name, got[name]), comparable(name, sent[name])];
      if (JSON.stringify(found) !== JSON.stringify(wanted)) t.strictSame(found, wanted, `${way}: ${name}`);
    }
    t.pass(way);
  };

  t.test('in JSON, by every method, and in lists', async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      const first = sample(random);
      const { id, ...created } = (await send('POST', '/samples', first)) as Body;
      same(t, created, first, 'POST');
      const second = sample(random);
      const url = `/samples/${String(id)}`;
      same(t, await send('PUT', url, second), second, 'PUT');
      const third = sample(random);
      same(t, await send('PATCH', url, third), third, 'PATCH');
      same(t, await send('GET', url), third, 'retrieve');
      same(t, await send('PATCH', `/entities/${String(id)}`, {}), third, 'entity');
      const listed = ((await send('GET', '/samples')) as Body[]).find((record) => record['id'] === id)!;
      same(t, listed, third, 'list');
    }
  });

  t.test('many records in one request', async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      const first = Array.from({ length: PER_ROUND }, () => sample(random));
      const created = (await send('POST', '/samples', first)) as Body[];
      for (const [index, record] of created.entries()) same(t, record, first[index]!, 'bulk POST');
      const second = created.map(({ id }) => ({ ...sample(random), id }));
      const changed = (await send('PATCH', '/samples', second)) as Body[];
      for (const [index, record] of changed.entries()) same(t, record, second[index]!, 'bulk PATCH');
    }
  });

  t.test('in children', async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      const samples = [sample(random), sample(random)];
      const { id, samples: created } = (await send('POST', '/boxes', { samples })) as { id: number; samples: Body[] };
      for (const [index, record] of created.entries()) same(t, record, samples[index]!, 'nested POST');
      const again = [
        { ...sample(random), id: created[0]!['id'] },
        { ...sample(random), id: created[1]!['id'] },
      ];
      const changed = (await send('PATCH', `/boxes/${id}`, { samples: again })) as { samples: Body[] };
      for (const [index, record] of changed.samples.entries()) same(t, record, again[index]!, 'nested PATCH');
    }
  });

  t.test('in a form', async (t) => {
    for (let round = 0; round < ROUNDS * PER_ROUND; round++) {
      const sent = sample(random);
      same(t, await sendForm(app, sent), sent, 'form');
    }
  });

  t.test('in exports', async (t) => {
    await clear(orm);
    const sent = (await send(
      'POST',
      '/samples',
      Array.from({ length: 50 }, () => sample(random)),
    )) as Body[];
    const lines = (await app.inject({ url: '/samples', headers: { accept: 'application/x-ndjson' } })).body;
    const records = lines.split('\n').filter((line) => line !== '');
    t.equal(records.length, sent.length);
    for (const [index, line] of records.entries()) same(t, JSON.parse(line) as Body, sent[index]!, 'NDJSON');
    const csv = (await app.inject({ url: '/samples', headers: { accept: 'text/csv' } })).body;
    const [header, ...rows] = cellsOf(csv);
    t.equal(rows.length, sent.length);
    for (const [index, row] of rows.entries()) {
      for (const [place, name] of header!.entries()) {
        values++;
        const value = name.split('.').reduce<Value>((whole, part) => (whole as Body | null)?.[part], sent[index]);
        if (row[place] !== cellOf(value)) t.equal(row[place], cellOf(value), `CSV: ${name}`);
      }
    }
  });

  t.teardown(() => t.comment(`${database}: ${values} values`));
});

/**
 * PostgreSQL pads decimals, SQLite stores them as floats, and a column of single precision returns the shortest number
 * for its value.
 */
function comparable(name: string, value: Value): Value {
  if (name === 'height') return value === null ? null : Math.fround(value as number);
  return name === 'cost' && value !== null ? Number(value) : sorted(value);
}

/** jsonb does not keep the order of an object's keys. */
function sorted(value: Value): Value {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, inner]) => [key, sorted(inner)] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}

async function sendForm(app: FastifyInstance, sent: Body): Promise<Body> {
  const parts = Object.entries(sent).map(([name, value]) => {
    const content = typeof value === 'string' ? value : JSON.stringify(value);
    return `--fence\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${content}\r\n`;
  });
  const response = await app.inject({
    method: 'POST',
    url: '/forms',
    payload: `${parts.filter((_, index) => Object.values(sent)[index] !== null).join('')}--fence--\r\n`,
    headers: { 'content-type': 'multipart/form-data; boundary=fence' },
  });
  if (response.statusCode !== 201) throw new Error(`form: ${response.body}`);
  return response.json();
}

async function clear(orm: MikroORM): Promise<void> {
  await orm.em.fork().nativeDelete(Sample, {});
}

/** The cell of a value: a text that a spreadsheet would run gets an apostrophe in front. */
function cellOf(value: Value): string {
  if (value === null || value === undefined) return '';
  const written = typeof value === 'string' ? value : JSON.stringify(value);
  const isText = typeof value === 'string' || typeof value === 'object';
  return isText && /^[=+\-@\t\r\n]/.test(written) && !/^[+-]?\d+(?:\.\d+)?$/.test(written) ? `'${written}` : written;
}

/** The cells of a CSV file (RFC 4180). */
function cellsOf(csv: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [, quoted, plain, end] of csv.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    row.push(quoted === undefined ? plain! : quoted.replaceAll('""', '"'));
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}
