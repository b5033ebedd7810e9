/** Databases with more than entities declare: by a function, or by migrations. */
import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import { Migration, Migrator } from '@mikro-orm/migrations';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import fastify from 'fastify';
import t from 'tap';
import { emptyDatabase, missingServer, TEST_DATABASES, testApp } from '../src/index.ts';

const StaySchema = defineEntity({
  name: 'Stay',
  properties: {
    id: p.integer().primary(),
    room: p.integer(),
    first_night: p.date(),
    last_night: p.date(),
    note: p.string().nullable(),
  },
});
class Stay extends StaySchema.class {}
StaySchema.setClass(Stay);

const entities = [Stay];
const build = () => fastify();
const skip = missingServer('postgresql');
const nights = (first_night: string, last_night: string) => ({ room: 7, first_night, last_night });

const run = (orm: MikroORM, sql: string): Promise<unknown> =>
  (orm.em as unknown as SqlEntityManager).getConnection().execute(sql);

let calls = 0;
/** Adds an extension, an exclusion constraint, a trigger and a policy. */
async function withConstraints(orm: MikroORM): Promise<void> {
  calls += 1;
  await run(orm, 'create extension if not exists btree_gist');
  await orm.schema.create();
  await run(
    orm,
    `alter table stay add constraint no_overlap exclude using gist (room with =, daterange(first_night, last_night, '[]') with &&)`,
  );
  await run(
    orm,
    `create function mark() returns trigger language plpgsql as $$ begin new.note := 'marked'; return new; end $$`,
  );
  await run(orm, 'create trigger mark before insert on stay for each row execute function mark()');
  await run(orm, 'alter table stay enable row level security');
  await run(orm, 'create policy rooms on stay using (room > 0)');
}

t.test('a function prepares the template on PostgreSQL', { skip }, async (t) => {
  const open = () => testApp(build, { entities, schema: withConstraints, database: 'postgresql' });
  for (let count = 0; count < 3; count++) {
    const hotel = await open();
    const stays = hotel.factory(Stay);
    await stays.create(nights('2026-01-01', '2026-01-03'));
    await t.rejects(hotel.factory(Stay).create(nights('2026-01-03', '2026-01-05')), { message: /no_overlap/ });
    const stored = await hotel.orm.em.fork().find(Stay, {});
    t.match(stored, [{ note: 'marked' }], 'the trigger runs, and each test has its own records');
    const policies = await run(hotel.orm, `select polname from pg_policy where polrelid = 'stay'::regclass`);
    t.match(policies, [{ polname: 'rooms' }]);
    await hotel.close();
  }
  t.equal(calls, 1, 'the function runs once');
});

t.test('a function that does something else gets another template', { skip }, async (t) => {
  for (const name of ['one', 'two']) {
    // The text of the function is the same, and what it reads differs.
    const schema = async (orm: MikroORM) => {
      await orm.schema.create();
      await orm.schema.execute(`create view ${name} as select id from stay`);
    };
    const hotel = await testApp(build, { entities, schema, database: 'postgresql' });
    t.match(await run(hotel.orm, `select table_name from information_schema.views where table_schema = 'public'`), [
      { table_name: name },
    ]);
    await hotel.close();
  }
});

t.test('a function that fails leaves no database behind', { skip }, async (t) => {
  const { url, drop } = await emptyDatabase('postgresql');
  const countOf = async (orm: MikroORM) =>
    run(orm, `select count(*)::int as count from pg_database where datname like 'viewset_test_%'`);
  const { MikroORM: Driver } = await import('@mikro-orm/postgresql');
  const observer = await Driver.init({ clientUrl: url, entities: [], discovery: { warnWhenNoEntities: false } });
  const names: string[] = [];
  const schema = async (orm: MikroORM) => {
    names.push(String(orm.config.get('dbName')));
    await run(orm, 'select no_such_column');
  };
  await t.rejects(testApp(build, { entities, schema, database: 'postgresql' }), { message: /no_such_column/ });
  t.equal(names.length, 1);
  const left = await run(observer, `select datname from pg_database where datname = '${names[0]}'`);
  t.strictSame(left, []);
  t.ok(await countOf(observer));
  await observer.close(true);
  await drop();
});

t.test('a function prepares the other databases too', async (t) => {
  for (const database of TEST_DATABASES.filter((name) => name !== 'postgresql')) {
    await t.test(database, { skip: missingServer(database) }, async (t) => {
      const schema = async (orm: MikroORM) => {
        await orm.schema.create();
        await orm.em.fork().insert(Stay, { ...nights('2026-01-01', '2026-01-02'), id: 5 });
      };
      const hotel = await testApp(build, { entities, schema, database });
      t.equal(await hotel.orm.em.fork().count(Stay), 1);
      await hotel.close();
      const failing = async () => Promise.reject(new Error('not today'));
      await t.rejects(testApp(build, { entities, schema: failing, database }), { message: 'not today' });
    });
  }
});

class CreateStays extends Migration {
  override up() {
    this.addSql('create table stay (id serial primary key, room int, first_night date, last_night date, note text)');
    this.addSql(`alter table stay add constraint one_night check (first_night = last_night)`);
  }
}
class CreateStaysOnSqlite extends Migration {
  override up() {
    this.addSql(
      'create table stay (id integer primary key, room int, first_night date, last_night date, note text, check (first_night = last_night))',
    );
  }
}

for (const [database, migration] of [
  ['sqlite', CreateStaysOnSqlite],
  ['postgresql', CreateStays],
] as const) {
  t.test(`migrations prepare ${database}`, { skip: missingServer(database) }, async (t) => {
    const migrationsList = [{ name: 'Migration20260101', class: migration }];
    const orm = { extensions: [Migrator], migrations: { migrationsList, snapshot: false } } as object;
    for (let count = 0; count < 2; count++) {
      const hotel = await testApp(build, { entities, schema: 'migrations', orm, database });
      await hotel.factory(Stay).create(nights('2026-01-01', '2026-01-01'));
      await t.rejects(hotel.factory(Stay).create(nights('2026-01-01', '2026-01-02')), { message: /check/i });
      await hotel.close();
    }
  });
}

t.test('wrong options are named', async (t) => {
  const open = (schema: never) => testApp(build, { entities, schema, database: 'sqlite' });
  await t.rejects(open('migrations' as never), { message: /the ORM finds none: give orm: \{ extensions/ });
  await t.rejects(open('tables' as never), {
    message: 'testApp: "schema" must be entities, migrations or a function, but got tables',
  });
});
