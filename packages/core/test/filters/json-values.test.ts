/** Filters by values in JSON return what JavaScript selects from the same documents, on every database. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { type TSchema, Type } from 'typebox';
import { inJson, ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase, openSqlite } from '../support/databases.ts';
import { errorAtStart, testApp } from '../support/library.ts';

const SizeSchema = defineEntity({
  name: 'Size',
  embeddable: true,
  properties: { unitName: p.string(), width: p.integer().nullable() },
});
const Spec = defineEntity({
  name: 'Spec',
  embeddable: true,
  properties: {
    level: p.integer().nullable(),
    color: p.enum(['red', 'blue']).nullable(),
    madeOn: p.date().nullable(),
    madeAt: p.datetime().nullable(),
    pin: p.string().nullable().hidden(),
    size: () => p.embedded(SizeSchema).nullable(),
  },
});
const Item = defineEntity({
  name: 'Item',
  properties: {
    id: p.integer().primary(),
    data: p.json().nullable(),
    old: p.json().columnType('json').nullable(),
    spec: () => p.embedded(Spec).object().nullable(),
    secret: p.json().$type<string>().nullable().hidden(),
    title: p.string().nullable(),
  },
});

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Kind = 'string' | 'number' | 'boolean' | 'date' | 'enum';

const SCHEMAS: Readonly<Record<Kind, TSchema>> = {
  string: Type.String(),
  number: Type.Number(),
  boolean: Type.Boolean(),
  date: Type.String({ format: 'date' }),
  enum: Type.Enum(['red', 'Red', 'green']),
};
const KEYS = [
  'color',
  'a.b',
  'q"t',
  "it's",
  'x?',
  '$d',
  '$a.$b',
  'ü',
  '0',
  ' ',
  '\\n',
  '__proto',
  '%',
  '日本',
  '\u{1F600}',
];
const TEXTS = [
  'red',
  'Red',
  'green',
  '',
  'ü',
  'Ü',
  "O'Neil",
  '100%',
  'a_b',
  '\\',
  '"',
  '\uFFFD',
  '\u{1F600}',
  '2026-01-02',
  '2025-12-31',
  '5',
  'true',
  'null',
];
const NUMBERS = [0, 1, -1, 1.5, 0.1, 1e21, 5_000_000_000, -2.25, 1e-7, 100, Number.MAX_SAFE_INTEGER];
const LOOKUPS: Readonly<Record<Kind, readonly string[]>> = {
  string: [
    'exact',
    'ne',
    'in',
    'gt',
    'gte',
    'lt',
    'lte',
    'range',
    'isnull',
    'contains',
    'startswith',
    'endswith',
    'iexact',
    'icontains',
  ],
  number: ['exact', 'ne', 'in', 'gt', 'gte', 'lt', 'lte', 'range', 'isnull'],
  boolean: ['exact', 'ne', 'in', 'isnull'],
  date: ['exact', 'ne', 'in', 'gt', 'lte', 'range', 'isnull'],
  enum: ['exact', 'ne', 'in', 'isnull'],
};

/** A small generator, so that a failure can be repeated. */
function randomOf(seed: number) {
  let state = seed;
  const next = (): number => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
  const pick = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)]!;
  const json = (depth: number): Json => {
    const kinds =
      depth > 0 ? ['text', 'number', 'flag', 'null', 'list', 'object', 'object'] : ['text', 'number', 'flag', 'null'];
    switch (pick(kinds)) {
      case 'text':
        return pick(TEXTS);
      case 'number':
        return pick(NUMBERS);
      case 'flag':
        return next() < 0.5;
      case 'list':
        return [json(depth - 1), json(depth - 1)];
      case 'object':
        return Object.fromEntries(Array.from({ length: 4 }, () => [pick(KEYS), json(depth - 1)]));
      default:
        return null;
    }
  };
  return { pick, json, next };
}

/** Orders texts by their code points. */
function compareTexts(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

function found(json: Json, path: readonly string[], kind: Kind): string | number | boolean | undefined {
  let value: Json | undefined = json;
  for (const key of path) {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!isObject || !Object.hasOwn(value as object, key)) return undefined;
    value = (value as { [key: string]: Json })[key];
  }
  const isText = kind === 'string' || kind === 'date' || kind === 'enum';
  return typeof value === (isText ? 'string' : kind) ? (value as string) : undefined;
}

function selects(value: string | number | boolean | undefined, lookup: string, wanted: unknown): boolean {
  if (lookup === 'isnull') return (value === undefined) === wanted;
  if (lookup === 'ne') return value !== wanted;
  if (value === undefined) return false;
  const order = (other: unknown): number =>
    typeof value === 'string' ? compareTexts(value, other as string) : (value as number) - (other as number);
  const text = String(value);
  const sought = String(wanted);
  switch (lookup) {
    case 'in':
      return (wanted as unknown[]).includes(value);
    case 'gt':
      return order(wanted) > 0;
    case 'gte':
      return order(wanted) >= 0;
    case 'lt':
      return order(wanted) < 0;
    case 'lte':
      return order(wanted) <= 0;
    case 'range':
      return order((wanted as unknown[])[0]) >= 0 && order((wanted as unknown[])[1]) <= 0;
    case 'contains':
      return text.includes(sought);
    case 'startswith':
      return text.startsWith(sought);
    case 'endswith':
      return text.endsWith(sought);
    case 'iexact':
      return text.toLowerCase() === sought.toLowerCase();
    case 'icontains':
      return text.toLowerCase().includes(sought.toLowerCase());
    default:
      return value === wanted;
  }
}

const random = randomOf(20_261_129);
const PATHS = [
  ...KEYS.map((key) => [key]),
  ...Array.from({ length: 15 }, () => [random.pick(KEYS), random.pick(KEYS)]),
  ['ü', 'color', 'a.b'],
];
const FILTERS = PATHS.flatMap((path) =>
  (Object.keys(SCHEMAS) as Kind[]).flatMap((kind) =>
    LOOKUPS[kind].flatMap((lookup) => (['data', 'old'] as const).map((column) => ({ path, kind, lookup, column }))),
  ),
);

const declared = Object.fromEntries(
  FILTERS.map(({ path, kind, lookup, column }, index) => [
    `f${index}`,
    [
      inJson<Record<string, unknown>, string, [string, ...string[]], TSchema>(column, path as [string], SCHEMAS[kind]),
      lookup,
    ],
  ]),
);

class ItemViewSet extends ModelViewSet(Item, {
  read: readShape(Item, ['id']),
  filterFields: declared as never,
  pageSize: 500,
  maxPageSize: 500,
}) {}
class SpecViewSet extends ModelViewSet(Item, {
  read: readShape(Item, ['id']),
  write: writeShape(Item, ['spec']),
  filterFields: {
    level: [inJson('spec', ['level']), 'gte'],
    color: inJson('spec', ['color']),
    made_on: [inJson('spec', ['madeOn']), 'range'],
    unit: inJson('spec', ['size', 'unitName']),
    width: [inJson('spec', ['size', 'width']), 'in'],
    no_width: [inJson('spec', ['size', 'width']), 'isnull'],
  },
}) {}

forEachDatabase(t, { entities: [Item, Spec, SizeSchema] }, async (t, orm) => {
  const app = await testApp(t, orm, [
    new Router().register('items', ItemViewSet).register('specs', SpecViewSet) as Router,
  ]);
  const idsOf = async (url: string): Promise<number[]> => {
    const response = await app.inject(url);
    if (response.statusCode !== 200) throw new Error(`${url}: ${response.body}`);
    return response
      .json<{ results: { id: number }[] }>()
      .results.map(({ id }) => id)
      .toSorted((a, b) => a - b);
  };

  t.test('random documents', async (t) => {
    const documents = Array.from({ length: 150 }, (_, index) => ({ id: index + 1, json: random.json(3) }));
    const em = orm.em.fork();
    for (const { id, json } of documents) em.create(Item, { id, data: json, old: json, secret: null });
    await em.flush();
    // The document as the database returns it.
    const stored = await orm.em.fork().find(Item, {}, { orderBy: { id: 1 } });
    let selected = 0;
    let wrong = 0;
    for (const [index, { path, kind, lookup, column }] of FILTERS.entries()) {
      if (random.next() < 0.75) continue;
      const values =
        kind === 'number'
          ? NUMBERS
          : kind === 'boolean'
            ? [true, false]
            : kind === 'enum'
              ? ['red', 'Red', 'green']
              : kind === 'date'
                ? ['2026-01-02', '2025-12-31']
                : TEXTS.filter((text) => !text.includes(',') && text !== '');
      const wanted =
        lookup === 'isnull'
          ? random.next() < 0.5
          : lookup === 'in' || lookup === 'range'
            ? [random.pick<unknown>(values), random.pick<unknown>(values)]
            : random.pick<unknown>(values);
      const text = [wanted]
        .flat()
        .map((each) => encodeURIComponent(String(each)))
        .join(',');
      const actual = await idsOf(`/items?f${index}=${text}`);
      const expected = stored
        .filter((item) => selects(found(item[column] as Json, path, kind), lookup, wanted))
        .map(({ id }) => id);
      selected += expected.length;
      if (JSON.stringify(actual) === JSON.stringify(expected)) continue;
      wrong++;
      if (wrong < 10) t.same(actual, expected, JSON.stringify({ path, kind, lookup, column, wanted }));
    }
    t.equal(wrong, 0);
    t.ok(selected > 1000, `${selected} records`);
  });

  t.test('parts of an embeddable that one column holds', async (t) => {
    await orm.schema.clear();
    const specs = [
      { level: 3, color: 'red', madeOn: '2026-01-02', size: { unitName: 'cm', width: 5 } },
      { level: 12, color: 'blue', madeOn: '2026-02-02', size: { unitName: 'mm', width: null } },
      { level: null, color: null, madeOn: null, size: null },
      null,
    ];
    const ids: number[] = [];
    for (const spec of specs) {
      const response = await app.inject({ method: 'POST', url: '/specs', payload: { spec } });
      t.equal(response.statusCode, 201, response.body);
      ids.push(response.json<{ id: number }>().id);
    }
    const [first, second, third, fourth] = ids;
    t.same(await idsOf('/specs?level=5'), [second]);
    t.same(await idsOf('/specs?level=3'), [first, second]);
    t.same(await idsOf('/specs?color=red'), [first]);
    t.same(await idsOf('/specs?made_on=2026-01-01,2026-01-31'), [first]);
    t.same(await idsOf('/specs?unit=mm'), [second]);
    t.same(await idsOf('/specs?width=5,6'), [first]);
    t.same(await idsOf('/specs?no_width=true'), [second, third, fourth]);
    const refused = await app.inject('/specs?level=x&color=green&made_on=1,2');
    t.equal(refused.statusCode, 400);
    t.equal(refused.json<{ details: unknown[] }>().details.length, 3, refused.body);
  });
});

t.test('mistakes of a programmer are found at start', async (t) => {
  const orm = await openSqlite(t, { entities: [Item, Spec, SizeSchema] });
  const Data = Type.Object({
    color: Type.String(),
    size: Type.Union([Type.Object({ width: Type.Number() }), Type.Null()]),
  });
  const messageFor = (filter: unknown): Promise<string | undefined> => {
    class FaultyViewSet extends ModelViewSet(Item, {
      read: readShape(Item, ['id']),
      filterFields: { faulty: filter as never },
    }) {}
    return errorAtStart(t, orm, FaultyViewSet);
  };
  const item = inJson<InstanceType<typeof Object>, never, never, TSchema | undefined> as unknown as (
    column: string,
    path: unknown,
    schema?: unknown,
  ) => unknown;
  t.equal(await messageFor(item('data', ['size', 'width'], Data)), undefined);
  t.equal(await messageFor([item('data', ['size', 'width'], Data), 'gte']), undefined);
  t.match(await messageFor(item('data', ['colour'], Data)), /the schema has no "colour"; did you mean "color"\?/);
  t.match(await messageFor(item('data', ['size', 'depth'], Data)), /"size" has no "depth"/);
  t.match(await messageFor(item('data', ['size'], Data)), /must be of a text, number, boolean, date or enum/);
  t.match(await messageFor(item('data', ['at'], Type.String({ format: 'date-time' }))), /must be of a text/);
  t.match(await messageFor(item('data', ['color'])), /needs the schema of the value/);
  t.match(await messageFor([item('data', ['color'], Type.Boolean()), 'gte']), /has no "gte"/);
  t.match(await messageFor(item('spec', ['levl'])), /Item.spec has no "levl"; Spec has: level/);
  t.match(await messageFor(item('spec', ['madeAt'])), /cannot be compared/);
  t.match(await messageFor(item('dta', ['color'], Type.String())), /names no property "dta"; did you mean "data"/);
  t.match(await messageFor(item('title', ['color'], Type.String())), /"title" does not hold JSON/);
  t.match(await messageFor(item('secret', ['color'], Type.String())), /declared hidden/);
  t.match(await messageFor(item('spec', ['pin'])), /"pin" is declared hidden/);
  const Either = Type.Object({ a: Type.Union([Type.Object({ b: Type.String() }), Type.Object({ c: Type.String() })]) });
  t.match(await messageFor(item('data', ['a', 'b'], Either)), /"a" must be an object with the property "b", got /);
  t.match(await messageFor(item('spec__x', ['y'], Type.String())), /does not follow relations/);
  t.throws(() => item('data', []), /"path" must be a list of 1 to 10 keys/);
  t.throws(() => item('data', ['a\u0000']), /"path" must be a list/);
  t.throws(() => item('data', 'color'), /"path" must be a list/);
  t.throws(() => item('data', ['color'], 'text'), /"schema" must be the schema/);
});
