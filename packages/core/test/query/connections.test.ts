/** What MikroORM does to its connections holds for query sets too; and what happens when one is lost. */
import { defineEntity, p, raw, type Options } from '@mikro-orm/core';
import { MikroORM as PostgreSqlORM } from '@mikro-orm/postgresql';
import { MikroORM as SqliteORM } from '@mikro-orm/sqlite';
import t from 'tap';
import { matching } from '../../src/query/language/condition.ts';
import { QuerySet } from '../../src/query/queryset.ts';
import {
  administrate,
  createPostgreSqlDatabase,
  forEachDatabase,
  postgresUrl,
  skipPostgreSql,
} from '../support/databases.ts';
import { pick, Product, entities } from './catalog.ts';

const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary(),
    text: p.string(),
    at: p.datetime(3).nullable(),
    local: p.datetime(3).columnType('timestamp(3)').nullable(),
  },
});

const only = ['postgresql'] as const;
const INSTANT = new Date('2024-07-01T10:20:30.456Z');

forEachDatabase(t, { entities: [Note], only }, async (t, orm) => {
  // A role belongs to the server, not to the database that is dropped in the end.
  const role = `viewset_test_${process.pid}`;
  await orm.em.getConnection().execute(`
    alter table note enable row level security;
    create policy mine on note using (text = current_setting('app.user', true));
    create role ${role};
    grant select on note to ${role};
    insert into note (text) values ('ann'), ('bob');
  `);
  await t.test('row level security sees the session of the entity manager', async (t) => {
    const em = orm.em.fork();
    em.setSessionContext({ variables: { 'app.user': 'ann' }, role });
    const notes = QuerySet.of(em, Note);
    t.equal(await notes.count(), 1);
    t.match(await notes.slice(0, 10).page(pickNote(orm, 'text')), { rows: [['ann']], count: 1 });
    t.equal((await notes.entities())[0]?.text, 'ann');
    t.equal(await QuerySet.of(orm.em.fork(), Note).count(), 2, 'which ends with the statement');
  });
  await orm.em.getConnection().execute(`drop owned by ${role}; drop role ${role}`);
});

const hooked: Partial<Options> = {
  async onCreateConnection(connection) {
    const sql = "set application_name to 'prepared by a hook'";
    await (connection as { executeQuery(query: object): Promise<unknown> }).executeQuery({
      sql,
      parameters: [],
      query: { kind: 'RawNode' },
    });
  },
};

forEachDatabase(t, { entities: [Note], only, orm: hooked }, async (t, orm) => {
  t.test('connections come from where a hook prepares them', async (t) => {
    const em = orm.em.fork();
    em.create(Note, { text: 'x' });
    await em.flush();
    const prepared = raw("current_setting('application_name')");
    const notes = QuerySet.of(orm.em.fork(), Note).matching({ [prepared]: 'prepared by a hook' });
    t.match(await notes.slice(0, 10).page(pickNote(orm, 'text', 'id')), { rows: [['x', 1]], count: 1 });
  });
});

for (const timezone of ['Z', '+02:00', undefined]) {
  forEachDatabase(t, { entities: [Note], orm: { timezone } as Partial<Options> }, async (t, orm) => {
    t.test(`an instant is the same instant, with the time zone ${timezone ?? 'of the process'}`, async (t) => {
      const em = orm.em.fork();
      em.create(Note, { text: 'x', at: INSTANT, local: INSTANT });
      await em.flush();
      const notes = QuerySet.of(orm.em.fork(), Note);
      const expected = await orm.em.fork().findOneOrFail(Note, { text: 'x' });
      t.strictSame(expected.at, INSTANT);
      const rows = await notes.rows(pickNote(orm, 'at', 'local'));
      t.strictSame(rows, [[expected.at, expected.local]]);
      t.equal(await notes.filter({ at: INSTANT }).count(), 1);
      t.equal(await notes.filter({ at__lt: INSTANT }).count(), 0);
      t.equal(await notes.matching({ at: INSTANT, local: INSTANT }).count(), 1);
      t.equal(await notes.filter({ local: INSTANT }).count(), await orm.em.fork().count(Note, { local: INSTANT }));
    });
  });
}

forEachDatabase(t, { entities, only }, async (t, orm) => {
  const em = orm.em.fork();
  em.create(Product, { name: 'x' });
  await em.flush();
  const products = QuerySet.of(orm.em.fork(), Product);
  const names = pick(orm, Product, 'name');

  t.test('a lost connection returns 503, and the next query uses another one', async (t) => {
    for (let time = 0; time < 3; time++) await products.rows(names);
    const name = orm.config.get('dbName');
    const terminate = (): Promise<void> =>
      administrate(postgresUrl()!, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
    const slow = products.matching({ [raw('pg_sleep(5)::text')]: '' }).rows(names);
    await Promise.all([
      t.rejects(slow, { name: 'ServiceUnavailable', statusCode: 503, cause: { code: '57P01' } }, 'while it works'),
      new Promise((resolve) => setTimeout(resolve, 200)).then(terminate),
    ]);
    t.strictSame(await products.rows(names), [['x']]);
    await Promise.all(Array.from({ length: 5 }, () => products.rows(names)));
    await terminate();
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => products.rows(names)));
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') {
        t.match(outcome.reason, { name: 'ServiceUnavailable', statusCode: 503 }, 'while it is idle');
      }
    }
    t.strictSame(await products.rows(names), [['x']], 'and all is well again');
  });

  t.test('an error of the statement is an error of MikroORM', async (t) => {
    await orm.em.getConnection().execute('alter table product rename column name to nom');
    const stack = /QuerySet\.rows[^]*connections\.test/;
    await t.rejects(products.rows(names), { name: 'InvalidFieldNameException', stack }, 'which says who asked');
    await orm.em.getConnection().execute('alter table product rename column nom to name');
  });
});

t.test('a server that cannot be reached is a 503 error', async (t) => {
  const orm = new PostgreSqlORM({ clientUrl: 'postgres://nobody@127.0.0.1:1/none', entities });
  t.teardown(() => orm.close(true));
  await t.rejects(QuerySet.of(orm.em.fork(), Product).count(), {
    name: 'ServiceUnavailable',
    cause: { code: 'ECONNREFUSED' },
  });
});

t.test('a closed connection is opened again', async (t) => {
  const orm = await SqliteORM.init({ dbName: ':memory:', entities });
  t.teardown(() => orm.close(true));
  await orm.schema.create();
  t.equal(await QuerySet.of(orm.em.fork(), Product).count(), 0);
  await orm.close(true);
  await orm.connect();
  await orm.schema.create();
  t.equal(await QuerySet.of(orm.em.fork(), Product).filter({ name__icontains: 'É' }).count(), 0);
});

t.test('tables of a schema', { skip: skipPostgreSql() }, async (t) => {
  const Room = defineEntity({
    name: 'Room',
    schema: 'hotel',
    properties: { id: p.integer().primary(), name: p.string(), guests: () => p.manyToMany(Guest) },
  });
  const Guest = defineEntity({
    name: 'Guest',
    schema: 'hotel',
    properties: { id: p.integer().primary(), name: p.string() },
  });
  const Floor = defineEntity({ name: 'Floor', properties: { id: p.integer().primary(), name: p.string() } });
  const orm = await PostgreSqlORM.init({
    clientUrl: await createPostgreSqlDatabase(t),
    entities: [Room, Guest, Floor],
    schema: 'house',
  });
  t.teardown(() => orm.close(true));
  await orm.schema.create();
  const em = orm.em.fork();
  em.create(Room, { name: 'blue', guests: [em.create(Guest, { name: 'Ann' })] });
  em.create(Floor, { name: 'first' });
  await em.flush();
  const rooms = QuerySet.of(orm.em.fork(), Room);
  t.equal(await rooms.filter({ guests__name: 'Ann' }).count(), 1);
  t.equal(await rooms.matching({ guests: { name: 'Ann' } }).count(), 1);
  await orm.em
    .getConnection()
    .execute('create schema other; create table other.floor as select * from house.floor; delete from other.floor');
  t.equal(await QuerySet.of(orm.em.fork(), Floor).count(), 1);
  const first = matching(orm.getMetadata().get(Floor), { name: 'first' });
  t.equal(await QuerySet.of(orm.em.fork(), Floor).where(first).count(), 1);
  t.equal(
    await QuerySet.of(orm.em.fork({ schema: 'other' }), Floor)
      .where(first)
      .count(),
    0,
    'one condition in both',
  );
  t.equal(
    await QuerySet.of(orm.em.fork({ schema: 'other' }), Floor).count(),
    0,
    'of the schema that the entity manager names',
  );
});

function pickNote(orm: Parameters<typeof pick>[0], ...names: string[]) {
  return pick(orm, Note as unknown as typeof Product, ...names);
}
