/** Violations that a database reports for another table than the entity's: partitions, inherited tables, views, schemas. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { ModelViewSet, nested, readShape, Router, type WriteData, writeShape } from '../../../src/index.ts';
import { administrate, forEachDatabase, postgresUrl } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Region = defineEntity({ name: 'Region', properties: { id: p.integer().primary(), name: p.string() } });
/** Partitioned by the day, in migrations. */
const Ticket = defineEntity({
  name: 'Ticket',
  properties: {
    id: p.integer().primary(),
    day: p.integer(),
    email: p.string().length(50),
    seat: p.integer().nullable(),
    region: () => p.manyToOne(Region).nullable(),
    notes: () => p.oneToMany(Note).mappedBy('ticket'),
  },
});
/** Partitioned by hash. */
const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary(), text: p.string().length(50), ticket: () => p.manyToOne(Ticket) },
});
/** A table that others inherit. */
const Vehicle = defineEntity({
  name: 'Vehicle',
  properties: { id: p.integer().primary(), plate: p.string().length(20), wheels: p.integer() },
});
/** A view of the table `person`. */
const Person = defineEntity({
  name: 'Person',
  tableName: 'person_view',
  properties: { id: p.integer().primary(), email: p.string().length(50), age: p.integer() },
});
const Current = defineEntity({
  name: 'Current',
  tableName: 'invoice',
  properties: { id: p.integer().primary(), number: p.integer(), sum: p.integer() },
});
const Archived = defineEntity({
  name: 'Archived',
  tableName: 'invoice',
  schema: 'archive',
  properties: { id: p.integer().primary(), number: p.integer(), sum: p.integer() },
});

class TicketViewSet extends ModelViewSet(Ticket, {
  read: readShape(Ticket, ['id', 'day', 'email', 'seat']),
  write: writeShape(Ticket, ['day', 'email', 'seat', 'region']),
  bulk: 10,
}) {}
class NotedViewSet extends ModelViewSet(Ticket, {
  read: readShape(Ticket, ['id', 'email']),
  write: writeShape(Ticket, ['day', 'email', 'seat'], { notes: nested(writeShape(Note, ['text'])) }),
}) {}
class VehicleViewSet extends ModelViewSet(Vehicle, {
  read: readShape(Vehicle, ['id', 'plate', 'wheels']),
  write: writeShape(Vehicle, ['plate', 'wheels']),
  bulk: 10,
}) {}
class PersonViewSet extends ModelViewSet(Person, {
  read: readShape(Person, ['id', 'email', 'age']),
  write: writeShape(Person, ['id', 'email', 'age']),
  bulk: 10,
}) {}
class CurrentViewSet extends ModelViewSet(Current, {
  read: readShape(Current, ['id', 'number']),
  write: writeShape(Current, ['number', 'sum']),
}) {
  override async performCreate(request: FastifyRequest, data: WriteData<never, { number: number; sum: number }>) {
    await request.em.insert(Archived, { number: (data as { number: number }).number, sum: 0 });
    return super.performCreate(request, data);
  }
}
class ArchivedViewSet extends ModelViewSet(Archived, {
  read: readShape(Archived, ['id', 'number']),
  write: writeShape(Archived, ['number', 'sum']),
}) {}

const ENTITIES = [Region, Ticket, Note, Vehicle, Person, Current, Archived];

const TABLES = [
  'drop table note',
  'drop table ticket',
  `create table ticket (id serial, day int not null, email varchar(50) not null, seat int,
     region_id int references region (id) deferrable initially immediate,
     primary key (id, day), unique (day, seat), constraint not_empty check (email <> '')) partition by range (day)`,
  // The columns of this partition have another order.
  `create table part_1 (email varchar(50) not null unique, seat int, region_id int, day int not null, id int not null default
     nextval('ticket_id_seq'), constraint not_empty check (email <> ''), constraint first_seats check (seat < 100))`,
  'alter table ticket attach partition part_1 for values from (0) to (10)',
  'create table part_2 partition of ticket for values from (10) to (20) partition by list (day)',
  'create schema deep',
  'create table deep.part_2_1 partition of part_2 for values in (10, 11)',
  'alter table deep.part_2_1 add unique (email)',
  'create table part_rest partition of ticket default',
  'create unique index on part_rest (lower(email))',
  `create table note (id serial, text varchar(50) not null, ticket_id int not null, primary key (id), check (text <> 'bad'))
     partition by hash (id)`,
  'create table note_0 partition of note for values with (modulus 2, remainder 0)',
  'create table note_1 partition of note for values with (modulus 2, remainder 1)',
  'create unique index on note_0 (text)',
  'create unique index on note_1 (text)',
  'alter table vehicle add constraint some_wheels check (wheels > 0)',
  'create table lorry (primary key (id), unique (plate)) inherits (vehicle)',
  'drop table person_view',
  'create table person (id serial primary key, email varchar(50) not null unique, age int not null check (age > 0))',
  'create view base_view as select * from person where age < 200',
  'create view person_view as select id, email, age from base_view',
  'alter table invoice add unique (number)',
  'alter table archive.invoice add unique (number), add check (sum >= 0)',
];

type Method = 'POST' | 'PATCH' | 'PUT';

forEachDatabase(t, { entities: ENTITIES, only: ['postgresql'] }, async (t, orm) => {
  const execute = (sql: string): Promise<unknown> => orm.em.getConnection().execute(sql);
  for (const statement of TABLES) await execute(statement);
  const router = new Router()
    .register('tickets', TicketViewSet)
    .register('noted', NotedViewSet)
    .register('vehicles', VehicleViewSet)
    .register('people', PersonViewSet)
    .register('invoices', CurrentViewSet)
    .register('archive', ArchivedViewSet);
  const app = await testApp(t, orm, [router]);
  const send = async (method: Method, url: string, payload: object) => app.inject({ method, url, payload });
  const taken = (...paths: string[]) => paths.map((path) => ({ in: 'body', path, message: 'is taken' }));

  for (const [name, day] of [
    ['a partition', 1],
    ['a partition of a partition, in another schema', 10],
    ['the default partition', 50],
  ] as const) {
    await t.test(`a violation in ${name} is about the entity`, async (t) => {
      const email = `a${day}@x`;
      const first = await send('POST', '/tickets', { day, email, seat: 1 });
      t.equal(first.statusCode, 201, first.body);
      const { id } = (await send('POST', '/tickets', { day, email: `b${day}@x`, seat: 2 })).json<{ id: number }>();
      for (const [method, url, body, details] of [
        ['POST', '/tickets', { day, email, seat: 9 }, taken('/email')],
        ['POST', '/tickets', { day, email: 'free@x', seat: 1 }, taken('/day', '/seat')],
        ['PATCH', `/tickets/${id}`, { email }, taken('/email')],
        ['PUT', `/tickets/${id}`, { day, email: 'free@x', seat: 1 }, taken('/day', '/seat')],
        [
          'POST',
          '/tickets',
          [
            { day, email: 'free@x', seat: 8 },
            { day, email, seat: 9 },
          ],
          taken('/1/email'),
        ],
        ['PATCH', '/tickets', [{ id, email }], taken('/0/email')],
      ] as const) {
        const refused = await send(method, url, body);
        t.equal(refused.statusCode, 409, `${method} ${JSON.stringify(body)}: ${refused.body}`);
        t.strictSame(refused.json<{ details: unknown }>().details, details);
      }
      for (const [method, url, body] of [
        ['POST', '/tickets', { day, email: '', seat: 9 }],
        ['POST', '/tickets', [{ day, email: '', seat: 9 }]],
        ['PATCH', `/tickets/${id}`, { email: '' }],
        ['PATCH', '/tickets', [{ id, email: '' }]],
      ] as const) {
        const refused = await send(method, url, body);
        t.equal(refused.statusCode, 400, `${method} ${JSON.stringify(body)}: ${refused.body}`);
        t.equal(refused.json<{ code: string }>().code, 'invalid_usage');
      }
    });
  }

  await t.test('a violated check constraint of one partition returns 400', async (t) => {
    t.equal((await send('POST', '/tickets', { day: 1, email: 'c@x', seat: 100 })).statusCode, 400);
    t.equal((await send('POST', '/tickets', { day: 10, email: 'c@x', seat: 100 })).statusCode, 201);
  });

  await t.test('a foreign key of a partition names the field', async (t) => {
    // Without a look-up, as if the record had been deleted after it.
    await execute('alter table ticket drop constraint ticket_region_id_fkey');
    await execute('create table far (id int primary key)');
    await execute('alter table ticket add foreign key (region_id) references far (id)');
    const region = orm.em.fork().create(Region, { name: 'North' });
    await orm.em.fork().persist(region).flush();
    const refused = await send('POST', '/tickets', { day: 1, email: 'd@x', seat: 50, region: region.id });
    t.equal(refused.statusCode, 409, refused.body);
    t.strictSame(refused.json<{ details: unknown }>().details, [
      { in: 'body', path: '/region', message: 'refers to a record that is gone' },
    ]);
  });

  await t.test('children in partitions are named', async (t) => {
    const texts = ['a', 'b', 'c', 'd'];
    const body = (seat: number, notes: readonly string[]) => {
      return { day: 5, email: `n${seat}@x`, seat, notes: notes.map((text) => ({ text })) };
    };
    const created = await send('POST', '/noted', body(60, texts));
    t.equal(created.statusCode, 201, created.body);
    // A partition has half of the keys, so a text is taken there or is not.
    await execute('delete from note');
    await execute(
      "insert into note (id, text, ticket_id) select n, 'a', 1 from generate_series(1000, 1040) n on conflict do nothing",
    );
    const twice = await send('POST', '/noted', body(61, ['fresh', 'a']));
    t.equal(twice.statusCode, 409, twice.body);
    t.strictSame(twice.json<{ details: unknown }>().details, taken('/notes/1/text'));
    const bad = await send('POST', '/noted', body(62, ['bad']));
    t.equal(bad.statusCode, 400, bad.body);
  });

  await t.test('a violation in a table that inherits the entity’s is about the entity', async (t) => {
    await execute("insert into lorry (id, plate, wheels) values (901, 'A', 6), (902, 'B', 6)");
    const refused = await send('PATCH', '/vehicles/901', { wheels: 0 });
    t.equal(refused.statusCode, 400, refused.body);
    const twice = await send('PATCH', '/vehicles/901', { plate: 'B' });
    t.equal(twice.statusCode, 409, twice.body);
    t.strictSame(twice.json<{ details: unknown }>().details, taken('/plate'));
    const several = await send('PATCH', '/vehicles', [
      { id: 901, plate: 'C' },
      { id: 902, plate: 'C' },
    ]);
    t.equal(several.statusCode, 409, several.body);
    t.strictSame(several.json<{ details: unknown }>().details, taken('/1/plate'));
  });

  await t.test('a violation in the table beneath a view is about the view’s entity', async (t) => {
    t.equal((await send('POST', '/people', { id: 1, email: 'a@x', age: 30 })).statusCode, 201);
    const twice = await send('POST', '/people', { id: 2, email: 'a@x', age: 30 });
    t.equal(twice.statusCode, 409, twice.body);
    t.strictSame(twice.json<{ details: unknown }>().details, taken('/email'));
    t.equal((await send('POST', '/people', { id: 2, email: 'b@x', age: 0 })).statusCode, 400);
    const several = await send('POST', '/people', [
      { id: 3, email: 'c@x', age: 30 },
      { id: 4, email: 'a@x', age: 30 },
    ]);
    t.strictSame(several.json<{ details: unknown }>().details, taken('/1/email'));
  });

  await t.test('conflicts in tables of the same name in two schemas name the right fields', async (t) => {
    t.equal((await send('POST', '/archive', { number: 7, sum: 1 })).statusCode, 201);
    const own = await send('POST', '/archive', { number: 7, sum: 1 });
    t.strictSame(own.json<{ details: unknown }>().details, taken('/number'));
    t.equal((await send('POST', '/archive', { number: 8, sum: -1 })).statusCode, 400);
    t.equal((await send('POST', '/invoices', { number: 9, sum: 1 })).statusCode, 201);
    const hook = await send('POST', '/invoices', { number: 7, sum: 1 });
    t.equal(hook.statusCode, 409, 'the hook’s statement has failed, in the table of the other schema');
    t.equal(hook.json<{ details?: unknown }>().details, undefined);
    await execute('delete from archive.invoice where number = 9');
    const record = await send('POST', '/invoices', { number: 9, sum: 1 });
    t.strictSame(record.json<{ details: unknown }>().details, taken('/number'));
  });

  await t.test('row level security hides the columns in the error, but not from the response', async (t) => {
    await execute('alter table vehicle enable row level security');
    await execute('create policy all_rows on vehicle using (true)');
    await execute('alter table vehicle add constraint one_plate unique (plate)');
    const name = String(orm.config.get('dbName'));
    const role = `${name}_user`;
    await execute(`create role "${role}"`);
    for (const kind of ['tables', 'sequences']) {
      await execute(`grant all on all ${kind} in schema public to "${role}"`);
    }
    await execute(`alter database "${name}" set role "${role}"`);
    const own = new URL(postgresUrl()!);
    own.pathname = `/${name}`;
    t.teardown(async () => {
      await administrate(postgresUrl()!, `alter database "${name}" reset role`);
      await administrate(own.href, `drop owned by "${role}"`);
      await administrate(own.href, `drop role "${role}"`);
    });
    await orm.reconnect();
    t.equal((await send('POST', '/vehicles', { plate: 'V', wheels: 4 })).statusCode, 201);
    const twice = await send('POST', '/vehicles', { plate: 'V', wheels: 4 });
    t.equal(twice.statusCode, 409, twice.body);
    t.strictSame(twice.json<{ details: unknown }>().details, taken('/plate'));
  });
});

const Fee = defineEntity({
  name: 'Fee',
  properties: { id: p.integer().primary(), price: p.float(), code: p.string() },
});
class FeeViewSet extends ModelViewSet(Fee, {
  read: readShape(Fee, ['id', 'price', 'code']),
  write: writeShape(Fee, ['price', 'code']),
}) {}

forEachDatabase(t, { entities: [Fee, Person], only: ['sqlite'], onLibSql: true }, async (t, orm) => {
  const execute = (sql: string): Promise<unknown> => orm.em.getConnection().execute(sql);
  await execute('drop table fee');
  // An unnamed rule is its own name, with any characters in it.
  await execute(
    'create table fee (id integer primary key, price real check (price >= 0.5 and fee.price < 10), code text)',
  );
  await execute('drop table person_view');
  await execute('create table person (id integer primary key, email text not null unique, age int check (age > 0))');
  await execute('create view person_view as select id, email, age from person');
  await execute(`create trigger make_person instead of insert on person_view begin
    insert into person (id, email, age) values (new.id, new.email, new.age); end`);
  const router = new Router().register('fees', FeeViewSet).register('people', PersonViewSet);
  const app = await testApp(t, orm, [router]);
  const send = async (url: string, payload: object) => app.inject({ method: 'POST', url, payload });

  await t.test('a violated check constraint without a name returns 400', async (t) => {
    const refused = await send('/fees', { price: 0.1, code: 'a' });
    t.equal(refused.statusCode, 400, refused.body);
  });

  await t.test('a violation in the table beneath a view is about the view’s entity', async (t) => {
    t.equal((await send('/people', { id: 1, email: 'a@x', age: 30 })).statusCode, 201);
    const twice = await send('/people', { id: 2, email: 'a@x', age: 30 });
    t.equal(twice.statusCode, 409, twice.body);
    t.strictSame(twice.json<{ details: unknown }>().details, [{ in: 'body', path: '/email', message: 'is taken' }]);
    t.equal((await send('/people', { id: 2, email: 'b@x', age: 0 })).statusCode, 400);
  });
});
