/** Names in the option `constraints` that the database does not have are a warning, once the application listens. */
import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import fastify from 'fastify';
import t, { type Test } from 'tap';
import { ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';

const Room = defineEntity({
  name: 'Room',
  checks: [{ name: 'seats_above_zero', expression: 'seats > 0' }],
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20).unique(),
    seats: p.integer(),
    starts: p.integer().default(0),
  },
});
const read = readShape(Room, ['id', 'name']);
const write = writeShape(Room, ['name', 'seats', 'starts']);

/** Starts an application, and returns its warnings after it has checked the database. */
async function warnings(t: Test, orm: MikroORM, names: readonly string[]): Promise<string[]> {
  class Rooms extends ModelViewSet(Room, {
    read,
    write,
    constraints: Object.fromEntries(names.map((name) => [name, { message: 'is taken' }])),
  }) {}
  const lines: { level: number; msg: string }[] = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) };
  const app = fastify(serverOptions({ logger: { level: 'debug', stream } }));
  t.teardown(() => app.close());
  await app.register(viewset, { orm, checkTables: true });
  await app.register(new Router().register('rooms', Rooms).plugin);
  await app.listen({ port: 0, host: '127.0.0.1' });
  const isOver = () => lines.some(({ msg }) => /^the (?:tables of the )?database (?:was|were not) checked$/.test(msg));
  while (!isOver()) await new Promise((resolve) => setImmediate(resolve));
  return lines.filter(({ level, msg }) => level >= 40 && msg.includes('constraint')).map(({ msg }) => msg);
}

const warning = (names: string) => [
  `The database has no constraint ${names}: correct the name, run your migrations, or remove the message`,
];

forEachDatabase(t, { entities: [Room] }, async (t, orm, database) => {
  await orm.schema.refresh();

  t.test('names of the entities', async (t) => {
    t.strictSame(await warnings(t, orm, ['room_name_unique', 'seats_above_zero']), []);
  });

  t.test('a name that is nowhere', async (t) => {
    const given = ['room_name_unique', 'one_at_a_tiem', 'room'];
    t.strictSame(
      await warnings(t, orm, given),
      database === 'sqlite'
        ? warning('"one_at_a_tiem" (Rooms.constraints)')
        : warning('"one_at_a_tiem" (Rooms.constraints), "room" (Rooms.constraints)'),
      'the catalogue of SQLite is text, so the name of a table counts as known',
    );
  });

  if (database === 'mongodb') return;
  const run = (sql: string) => orm.em.getConnection().execute(sql);

  t.test('names of migrations', async (t) => {
    await orm.schema.refresh();
    if (database === 'postgresql') {
      await run(
        'alter table room add constraint one_at_a_time exclude using gist (int4range(starts, starts + 5) with &&)',
      );
      await run(`create or replace function refuse_rooms() returns trigger language plpgsql as
        $$ begin raise exception 'full' using errcode = 'check_violation', constraint = 'rooms_left'; end $$`);
    } else {
      await run("create trigger one_at_a_time before insert on room begin select raise(abort, 'rooms_left'); end");
    }
    await run('create unique index room_lower_name on room (lower(name))');
    t.strictSame(await warnings(t, orm, ['one_at_a_time', 'room_lower_name', 'rooms_left']), []);
    t.strictSame(await warnings(t, orm, ['room_lower_nam']), warning('"room_lower_nam" (Rooms.constraints)'));
  });

  if (database !== 'postgresql') return;
  t.test('a constraint that a migration has not made yet', async (t) => {
    await orm.schema.refresh();
    await run('alter table room drop constraint seats_above_zero');
    t.strictSame(await warnings(t, orm, ['seats_above_zero']), warning('"seats_above_zero" (Rooms.constraints)'));
  });
});
