/** What a stored row holds is sent as it is, or its response fails and the log names the record and the property. */
import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import fastify, { type FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { ModelViewSet, readShape, Router, serverOptions, viewset } from '../../../src/index.ts';
import { type DatabaseName, forEachDatabase } from '../../support/databases.ts';

const Reading = defineEntity({
  name: 'Reading',
  tableName: 'reading',
  properties: {
    id: p.integer().primary(),
    whole: p.integer(),
    heat: p.double(),
    price: p.decimal('number').precision(10).scale(2),
    is_on: p.boolean(),
    label: p.string(),
    state: p.enum(['new', 'done']),
    at: p.datetime(),
    day: p.date(),
    count: p.bigint(),
    data: p.json<unknown>(),
    mood: p.string().nullable(),
  },
});
const GOOD = {
  whole: 1,
  heat: 1.5,
  price: 2.25,
  is_on: true,
  label: 'x',
  state: 'new',
  at: new Date('2026-01-02T03:04:05Z'),
  day: '2026-01-02',
  count: 5n,
  data: { a: 1 },
  mood: null,
} as const;
type Name = keyof typeof GOOD;
const NAMES = Object.keys(GOOD) as Name[];
const SENT = { ...GOOD, at: '2026-01-02T03:04:05.000Z', count: '5' };

class ReadingViewSet extends ModelViewSet(Reading, {
  read: readShape(Reading, ['id', ...NAMES]),
  fields: true,
  exports: ['csv', 'ndjson'],
}) {}

/** Values that an older table or another program may have stored, by database. `null` in each column besides. */
const STORED: Readonly<Record<DatabaseName, readonly (readonly [Name, unknown])[]>> = {
  sqlite: [
    ['whole', 'seven'],
    ['whole', 1.5],
    ['heat', 'warm'],
    ['heat', Infinity],
    ['price', 'much'],
    ['is_on', 2],
    ['is_on', 'false'],
    ['state', 'gone'],
    ['at', 'yesterday'],
    ['count', 'many'],
    ['label', 7],
    ['mood', 7],
  ],
  postgresql: [
    ['heat', Number.NaN],
    ['heat', Infinity],
    ['price', Number.NaN],
    ['state', 'gone'],
  ],
  mongodb: [
    ['whole', 'seven'],
    ['whole', 1.5],
    ['whole', { a: 1 }],
    ['heat', Number.NaN],
    ['heat', Infinity],
    ['is_on', 2],
    ['is_on', 'false'],
    ['label', 7],
    ['label', ['x']],
    ['state', 'gone'],
    ['at', 'yesterday'],
    ['data', { deep: [1, Number.NaN] }],
    ['mood', 7],
  ],
};

/** Loosens the table, as a migration may have left it. */
async function loosen(orm: MikroORM, database: DatabaseName): Promise<void> {
  const run = (sql: string): Promise<unknown> => orm.em.getConnection().execute(sql);
  if (database === 'sqlite') {
    // Columns without a type keep what they are given.
    await run('drop table reading');
    await run(`create table reading (id integer primary key, ${NAMES.join(', ')})`);
  } else if (database === 'postgresql') {
    for (const name of NAMES) await run(`alter table reading alter "${name}" drop not null`);
    await run('alter table reading drop constraint if exists reading_state_check');
    await run('alter table reading alter price type numeric');
  }
}

async function store(orm: MikroORM, database: DatabaseName, name: Name, value: unknown): Promise<void> {
  if (database === 'mongodb') {
    const driver = orm.em.getDriver() as unknown as {
      getConnection(): { getCollection(name: string): { updateOne(filter: object, update: object): Promise<unknown> } };
    };
    await driver
      .getConnection()
      .getCollection('reading')
      .updateOne({ _id: 7 }, { $set: { [name]: value } });
    return;
  }
  const text =
    typeof value === 'string'
      ? `'${value}'`
      : value === Infinity && database === 'sqlite'
        ? '9e999'
        : `'${String(value)}'`;
  const sql = value === null ? 'null' : typeof value === 'number' && Number.isFinite(value) ? String(value) : text;
  await orm.em.getConnection().execute(`update reading set "${name}" = ${sql} where id = 7`);
}

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly err?: { readonly message: string };
}

/** An application whose errors are in `lines`. */
async function loggedApp(t: Test, orm: MikroORM, routers: readonly Router[], lines: Line[]): Promise<FastifyInstance> {
  const stream = { write: (text: string) => void lines.push(JSON.parse(text) as Line) };
  const app = fastify({ ...serverOptions(), logger: { level: 'error', stream } });
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  for (const router of routers) await app.register(router.plugin);
  await app.ready();
  return app;
}

forEachDatabase(t, { entities: [Reading] }, async (t, orm, database) => {
  await loosen(orm, database);
  const lines: Line[] = [];
  const app = await loggedApp(t, orm, [new Router().register('readings', ReadingViewSet)], lines);
  await orm.em.fork().insert(Reading, { id: 7, ...GOOD });

  t.test('a good record is sent as it is stored', async (t) => {
    t.strictSame((await app.inject('/readings/7')).json(), { id: 7, ...SENT });
  });

  // Any JSON fits the schema of a JSON column, null too.
  const nulls = NAMES.filter((name) => name !== 'mood' && name !== 'data').map((name) => [name, null] as const);
  for (const [name, value] of [...STORED[database], ...nulls]) {
    t.test(`${name} = ${value === null ? 'NULL' : JSON.stringify(value)} fails, and the log names it`, async (t) => {
      await store(orm, database, name, value);
      for (const url of ['/readings', '/readings/7', `/readings?fields=id,${name}`]) {
        lines.length = 0;
        const response = await app.inject(url);
        t.equal(response.statusCode, 500, `${url}: ${response.body}`);
        t.strictSame(Object.keys(response.json()), ['error', 'code']);
        t.equal(response.json<{ code: string }>().code, 'internal_error');
        t.equal(lines.length, 1);
        t.match(
          lines[0]!.msg,
          new RegExp(`^Reading\\.${name} does not fit its schema: (?:it|/deep/1) .* \\(Reading 7\\)$`),
          lines[0]!.msg,
        );
      }
      t.equal((await app.inject(`/readings?fields=id`)).statusCode, 200, 'others are sent without it');
      await orm.em.getDriver().nativeUpdate(Reading as never, { id: 7 }, { ...GOOD } as never);
      t.strictSame((await app.inject('/readings/7')).json(), { id: 7, ...SENT });
    });
  }
});
