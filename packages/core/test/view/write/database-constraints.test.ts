/** Rules that a database keeps by itself: exclusion, constraints that wait for COMMIT, partitions, row level security. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { ModelViewSet, nested, readShape, Router, type WriteData, writeShape } from '../../../src/index.ts';
import { administrate, forEachDatabase, postgresUrl } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Booking = defineEntity({
  name: 'Booking',
  properties: {
    id: p.integer().primary(),
    room: p.integer(),
    from: p.integer().fieldName('starts'),
    to: p.integer().fieldName('ends'),
  },
});
const Song = defineEntity({
  name: 'Song',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(20),
    place: p.integer(),
    owner: p.string().length(20).default('ada'),
    verses: () => p.oneToMany(Verse).mappedBy('song'),
  },
});
const Verse = defineEntity({
  name: 'Verse',
  properties: { id: p.integer().primary(), place: p.integer(), song: () => p.manyToOne(Song) },
});

class BookingViewSet extends ModelViewSet(Booking, {
  read: readShape(Booking, ['id', 'room']),
  write: writeShape(Booking, ['room', 'from', 'to']),
  bulk: 10,
}) {}
class SongViewSet extends ModelViewSet(Song, {
  read: readShape(Song, ['id', 'title', 'place']),
  write: writeShape(Song, ['title', 'place', 'owner']),
  bulk: 10,
}) {}
class HookedViewSet extends ModelViewSet(Song, {
  read: readShape(Song, ['id', 'title']),
  write: writeShape(Song, ['title', 'place', 'owner'], { verses: nested(writeShape(Verse, ['place'])) }),
}) {
  override performCreate(request: FastifyRequest, data: WriteData<never, never>) {
    if ((data as { title?: string }).title === 'along') {
      request.em.create(Song, { title: 'other', place: 'songs'.length });
    }
    return super.performCreate(request, data);
  }
}

const Entry = defineEntity({
  name: 'Entry',
  properties: { id: p.integer().primary(), day: p.integer() },
});
class EntryViewSet extends ModelViewSet(Entry, {
  read: readShape(Entry, ['id', 'day']),
  write: writeShape(Entry, ['day']),
  bulk: 10,
}) {}

const entities = [Booking, Song, Verse, Entry];
forEachDatabase(t, { entities, only: ['postgresql'] }, async (t, orm) => {
  const execute = (sql: string): Promise<unknown> => orm.em.getConnection().execute(sql);
  await execute('create extension if not exists btree_gist');
  await execute(
    'alter table booking add constraint one_at_a_time exclude using gist (room with =, int4range(starts, ends) with &&)',
  );
  await execute('alter table song add constraint song_place unique (place) deferrable initially deferred');
  await execute('alter table verse add constraint verse_place unique (place) deferrable initially deferred');
  await execute('drop table entry');
  await execute('create table entry (id serial, day int not null, primary key (id, day)) partition by range (day)');
  await execute('create table entry_low partition of entry for values from (minvalue) to (100)');
  const router = new Router()
    .register('bookings', BookingViewSet)
    .register('entries', EntryViewSet)
    .register('songs', SongViewSet)
    .register('hooked', HookedViewSet);
  const logged: string[] = [];
  const app = await testApp(t, orm, [router], {
    before: (child) => {
      child.addHook('onRequest', async (request) => {
        request.log.error = ({ err }: { err: Error }) => void logged.push(err.message);
      });
    },
  });
  const send = async (method: 'POST' | 'PATCH', url: string, payload: object) => app.inject({ method, url, payload });

  await t.test('an exclusion constraint is a conflict that names the fields', async (t) => {
    t.equal((await send('POST', '/bookings', { room: 1, from: 1, to: 5 })).statusCode, 201);
    t.equal((await send('POST', '/bookings', { room: 1, from: 5, to: 9 })).statusCode, 201);
    const refused = await send('POST', '/bookings', { room: 1, from: 4, to: 6 });
    t.equal(refused.statusCode, 409);
    t.match(refused.json(), {
      code: 'conflict',
      details: [{ in: 'body', path: '/room', message: 'conflicts with another record' }],
    });
    t.equal((await send('PATCH', '/bookings/1', { to: 6 })).statusCode, 409);
    const several = await send('POST', '/bookings', [
      { room: 2, from: 1, to: 3 },
      { room: 2, from: 2, to: 3 },
    ]);
    t.equal(several.statusCode, 409);
    t.equal(await orm.em.fork().count(Booking), 2);
  });

  await t.test('a constraint that is checked at COMMIT is a conflict too', async (t) => {
    for (const path of ['songs', 'hooked']) {
      const body = { title: path, place: path.length, ...(path === 'hooked' && { verses: [{ place: 1 }] }) };
      t.equal((await send('POST', `/${path}`, body)).statusCode, 201);
      const before = await orm.em.fork().count(Song);
      const refused = await send('POST', `/${path}`, { ...body, ...(path === 'hooked' && { verses: [{ place: 2 }] }) });
      t.equal(refused.statusCode, 409, refused.body);
      t.equal(refused.json().code, 'conflict');
      t.match(refused.json().details, [{ in: 'body', path: '/place', message: 'is taken' }]);
      t.equal(await orm.em.fork().count(Song), before);
      t.equal((await app.inject(`/${path}`)).statusCode, 200, 'the connection goes on');
    }
    const several = await send('POST', '/songs', [
      { title: 'a', place: 70 },
      { title: 'b', place: 70 },
    ]);
    t.equal(several.statusCode, 409);
    t.strictSame(several.json().details, [{ in: 'body', path: '/1/place', message: 'is taken' }]);
    const child = await send('POST', '/hooked', { title: 'c', place: 80, verses: [{ place: 1 }] });
    t.equal(child.statusCode, 409, 'of a child');
    t.strictSame(child.json().details, [{ in: 'body', path: '/verses/0/place', message: 'is taken' }]);
    const hook = await send('POST', '/hooked', { title: 'along', place: 81 });
    t.equal(hook.statusCode, 409, 'of a record that a hook has made');
    t.equal(hook.json().details, undefined);
    const [first, second] = (await app.inject('/songs')).json<{ results: { id: number; place: number }[] }>().results;
    const swapped = await send('PATCH', '/songs', [
      { id: first!.id, place: second!.place },
      { id: second!.id, place: first!.place },
    ]);
    t.equal(swapped.statusCode, 200, swapped.body);
    const back = await send(
      'PATCH',
      '/songs',
      [first!, second!].map(({ id, place }) => ({ id, place })),
    );
    t.equal(back.statusCode, 200, back.body);
    t.equal((await send('PATCH', '/songs/1', { place: 'hooked'.length })).statusCode, 409);
  });

  await t.test('a missing partition is a failure of the server', async (t) => {
    t.equal((await send('POST', '/entries', { day: 1 })).statusCode, 201);
    const failures = [
      await send('POST', '/entries', { day: 100 }),
      await send('POST', '/entries', [{ day: 2 }, { day: 100 }]),
      await send('PATCH', '/entries/1', { day: 100 }),
    ];
    for (const failed of failures) {
      t.equal(failed.statusCode, 500, failed.body);
      t.notMatch(failed.body, 'partition');
    }
    t.equal(logged.length, failures.length);
    for (const message of logged) t.match(message, /no partition of relation "entry"/);
    t.equal(await orm.em.fork().count(Entry), 1);
  });

  await t.test('a row that row level security refuses is forbidden', async (t) => {
    await execute('alter table song enable row level security');
    await execute('alter table song force row level security');
    await execute("create policy own on song using (true) with check (owner = 'ada')");
    // Neither a superuser nor the owner of a table without `force` is asked, and roles are of the whole server.
    const name = String(orm.config.get('dbName'));
    const role = `${name}_user`;
    await execute(`create role "${role}"`);
    await execute(`grant all on all tables in schema public to "${role}"`);
    await execute(`grant all on all sequences in schema public to "${role}"`);
    await execute(`alter database "${name}" set role "${role}"`);
    const own = new URL(postgresUrl()!);
    own.pathname = `/${name}`;
    t.teardown(async () => {
      await administrate(postgresUrl()!, `alter database "${name}" reset role`);
      await administrate(own.href, `drop owned by "${role}"`);
      await administrate(own.href, `drop role "${role}"`);
    });
    await orm.reconnect();
    for (const path of ['songs', 'hooked']) {
      const song = { title: 'own', place: 90 + path.length, owner: 'ada' };
      t.equal((await send('POST', `/${path}`, song)).statusCode, 201, path);
      const refused = await send('POST', `/${path}`, { title: 'foreign', place: 99, owner: 'bob' });
      t.equal(refused.statusCode, 403, refused.body);
      t.equal(refused.json().code, 'forbidden');
    }
    t.equal((await send('PATCH', '/songs/1', { owner: 'bob' })).statusCode, 403);
    t.equal(await orm.em.fork().count(Song, { owner: 'bob' }), 0);
  });
});
