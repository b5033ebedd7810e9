/** A column that the database has otherwise than the entity is a warning, once the application listens. */
import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import fastify from 'fastify';
import t, { type Test } from 'tap';
import { serverOptions, viewset } from '../../src/index.ts';
import { columnDifferences } from '../../src/mikro/column-differences.ts';
import { forEachDatabase } from '../support/databases.ts';
import { LIBRARY } from '../support/library.ts';

const STATES = ['available', 'rented', 'lost'] as const;
const Bike = defineEntity({
  name: 'Bike',
  uniques: [{ properties: ['size', 'bought'] }],
  properties: {
    id: p.integer().primary(),
    code: p.string().length(40).unique(),
    state: p.enum(STATES).default('available'),
    size: p.enum([1, 2]).nullable(),
    seats: p.integer().default(1),
    price: p.decimal().precision(8).scale(2).nullable(),
    bought: p.date().nullable(),
    seen: p.datetime().length(3).nullable(),
    data: p.json().nullable(),
    tags: p.array().nullable(),
    uuid: p.uuid().nullable(),
    big: p.bigint().nullable(),
    is_new: p.boolean().default(true),
    note: p.text().nullable(),
    twice: p.integer().generated('(seats * 2) stored'),
    friends: () => p.manyToMany(Bike),
  },
});
const entities = [...LIBRARY, Bike];

/** Starts an application, closes it after the check, and returns the warnings. */
async function warnings(t: Test, orm: MikroORM): Promise<string[]> {
  const lines: { level: number; msg: string }[] = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) };
  const app = fastify(serverOptions({ logger: { level: 'debug', stream } }));
  t.teardown(() => app.close());
  await app.register(viewset, { orm, checkTables: true });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const isOver = () => lines.some(({ msg }) => /^the (?:tables of the )?database (?:was|were not) checked$/.test(msg));
  while (!isOver()) await new Promise((resolve) => setImmediate(resolve));
  return lines.filter(({ level }) => level >= 40).map(({ msg }) => msg);
}

const CURE =
  ': write a migration, or `await orm.schema.update()` while you develop; `viewset check` prints the statements';

forEachDatabase(t, { entities }, async (t, orm, database) => {
  t.test('nothing differs after the schema was made', async (t) => {
    await orm.schema.refresh();
    t.same(await warnings(t, orm), []);
  });

  if (database === 'mongodb') return;
  const run = async (...statements: string[]) => {
    await orm.schema.refresh();
    for (const statement of statements) await orm.em.getConnection().execute(statement);
  };
  const isSqlite = database === 'sqlite';
  /** Replaces the definition of one column. SQLite cannot alter a column, so the column is made again. */
  const redefine = (name: string, definition: string): string[] => [
    `alter table bike drop column ${name}`,
    `alter table bike add column ${name} ${definition}`,
  ];

  const differences: (readonly [string, string[], RegExp | string])[] = [
    [
      'an enum',
      isSqlite
        ? redefine('state', "text check (`state` in ('available', 'rented')) not null default 'available'")
        : [
            'alter table bike drop constraint bike_state_check',
            "alter table bike add constraint bike_state_check check (state in ('available', 'rented'))",
          ],
      'the column "state" of the table "bike" accepts only "available", "rented", but the entity Bike declares ' +
        '"available", "lost", "rented"',
    ],
    [
      'a type',
      redefine('seats', 'text').flatMap((statement, index) =>
        index === 0 ? ['alter table bike drop column twice', statement] : [statement],
      ),
      /^the column "seats" of the table "bike" is text, but the entity Bike declares int(?:eger)?$/,
    ],
    [
      'a column that is required in the database',
      redefine('note', "text not null default ''"),
      'the column "note" of the table "bike" is NOT NULL, but the entity Bike allows null',
    ],
    [
      'a column that may be null in the database',
      redefine('is_new', isSqlite ? 'integer null default true' : 'boolean null default true'),
      'the column "is_new" of the table "bike" allows NULL, but the entity Bike does not',
    ],
    // SQLite stores decimals of any scale.
    ...(isSqlite
      ? []
      : [
          [
            'the scale of a decimal',
            redefine('price', 'numeric(10,4) null'),
            'the column "price" of the table "bike" is numeric(10,4), but the entity Bike declares numeric(8,2)',
          ] as const,
        ]),
  ];
  const [unique, together]: readonly [string, string] = isSqlite
    ? ['drop index bike_code_unique', 'drop index bike_size_bought_unique']
    : ['alter table bike drop constraint bike_code_unique', 'alter table bike drop constraint bike_size_bought_unique'];
  differences.push(
    [
      'a missing unique constraint',
      [unique],
      'the column "code" of the table "bike" is not unique, but the entity Bike declares a unique constraint',
    ],
    [
      'a missing unique constraint of several columns',
      [together],
      'the columns "size", "bought" of the table "bike" are not unique together, but the entity Bike declares a unique constraint',
    ],
  );
  for (const [what, statements, expected] of differences) {
    t.test(`${what} that differs`, async (t) => {
      await run(...statements);
      const [first = '', ...more] = (await warnings(t, orm)).filter((line) => line.includes('differs'));
      t.same(more, []);
      const [, found = ''] = /^The database differs from the entities: (.*)$/.exec(first.replace(CURE, '')) ?? [];
      t.ok(first.endsWith(CURE), first);
      if (typeof expected === 'string') t.equal(found, expected);
      else t.match(found, expected);
    });
  }

  if (!isSqlite) {
    t.test('a length that differs, in a long list', async (t) => {
      await run(
        'alter table bike alter column code type varchar(20)',
        ...['size', 'bought', 'seen', 'data', 'note'].map((name) => `alter table bike alter column ${name} type text`),
        'alter table bike alter column big set not null',
      );
      const [line = ''] = await warnings(t, orm);
      t.match(line, 'the column "code" of the table "bike" is varchar(20), but the entity Bike declares varchar(40)');
      t.match(line, / and 1 more: write/);
    });
  }

  t.test('a column that is missing is one warning of its own, and tables of others do not count', async (t) => {
    await run('alter table bike drop column note', 'create table stranger (id text)');
    t.match(await warnings(t, orm), [/^The database lacks the column "note"/]);
    await run('drop table if exists stranger');
    t.same(await columnDifferences(orm), []);
  });
});
