/** The option `constraints`: the application's own messages for constraints of the database. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { ModelViewSet, nested, readShape, Router, writeShape } from '../../../src/index.ts';
import { forEachDatabase, openSqlite } from '../../support/databases.ts';
import { errorAtStart, testApp } from '../../support/library.ts';

const Owner = defineEntity({ name: 'Owner', properties: { id: p.integer().primary(), name: p.string().length(20) } });
const Room = defineEntity({
  name: 'Room',
  uniques: [{ properties: ['floor', 'door'], name: 'one_door' }],
  checks: [{ name: 'seats_above_zero', expression: 'seats > 0' }],
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20).unique(),
    code: p.string().length(20).unique().nullable(),
    floor: p.integer().fieldName('storey'),
    door: p.integer(),
    seats: p.integer(),
    starts: p.integer().default(0),
    owner: () => p.manyToOne(Owner).nullable().deleteRule('restrict'),
    keys: () => p.oneToMany(Key).mappedBy('room'),
  },
});
const Key = defineEntity({
  name: 'Key',
  properties: {
    id: p.integer().primary(),
    number: p.string().length(20).unique('key_number'),
    room: () => p.manyToOne(Room).deleteRule('cascade'),
  },
});
const entities = [Owner, Room, Key];

const messages = {
  room_name_unique: { path: '/name', message: 'A room has this name already' },
  one_door: { message: 'There is a room behind this door' },
  seats_above_zero: { path: '/seats', message: 'A room needs a seat' },
  key_number: { path: '/keys', message: 'Another room has this key' },
  one_at_a_time: { path: '/starts', message: 'The room is taken at this time' },
  room_owner_id_foreign: { path: '/owner', message: 'The owner has left' },
} as const;

const read = readShape(Room, ['id', 'name']);
const write = writeShape(Room, ['name', 'code', 'floor', 'door', 'seats', 'starts', 'owner'], {
  keys: nested(writeShape(Key, ['number'])),
});
class Rooms extends ModelViewSet(Room, { read, write, bulk: 10, constraints: messages }) {}
class Owners extends ModelViewSet(Owner, {
  read: readShape(Owner, ['id']),
  write: writeShape(Owner, ['name']),
  constraints: { room_owner_id_foreign: { message: 'The owner has rooms' } },
}) {}

let next = 0;
const room = (given: object = {}) => {
  next += 1;
  const { keys = [], ...rest } = given as { keys?: object[] };
  return { name: `room ${next}`, floor: next, door: next, seats: 1, starts: next * 10, keys, ...rest };
};

forEachDatabase(t, { entities }, async (t, orm, database) => {
  await orm.schema.refresh();
  if (database === 'postgresql') {
    await orm.em
      .getConnection()
      .execute(
        'alter table room add constraint one_at_a_time exclude using gist (int4range(starts, starts + 5) with &&)',
      );
  }
  const app = await testApp(t, orm, [new Router().register('rooms', Rooms).register('owners', Owners)]);
  const send = async (method: 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
    const { statusCode: status, body } = await app.inject({ method, url, ...(payload && { payload }) });
    const { error, code, details } = body === '' ? {} : JSON.parse(body);
    return { status, error, code, details, body };
  };
  const detail = (path: string, message: string) => [{ in: 'body', path, message }];

  await t.test('unique constraints, by name or by their columns', async (t) => {
    t.equal((await send('POST', '/rooms', room({ name: 'A', code: 'x', floor: 1, door: 1 }))).status, 201);
    const name = 'A room has this name already';
    t.match(await send('POST', '/rooms', room({ name: 'A' })), {
      status: 409,
      code: 'conflict',
      error: name,
      details: detail('/name', name),
    });
    const door = 'There is a room behind this door';
    const taken = await send('POST', '/rooms', room({ floor: 1, door: 1 }));
    t.match(taken, { status: 409, error: door });
    t.strictSame(taken.details, [...detail('/floor', door), ...detail('/door', door)]);
    const other = await send('POST', '/rooms', room({ code: 'x' }));
    t.match(other, { status: 409, error: 'Another record has this value already' });
    t.strictSame(other.details, detail('/code', 'is taken'));
    const { status, body } = await send('POST', '/rooms', room({ name: 'B' }));
    t.equal(status, 201);
    t.match(await send('PATCH', `/rooms/${JSON.parse(body).id}`, { name: 'A' }), { status: 409, error: name });
    const several = await send('POST', '/rooms', [room(), room({ name: 'A' })]);
    t.match(several, { status: 409, error: name });
    t.strictSame(several.details, detail('/1/name', name));
  });

  await t.test('a constraint of a nested record', async (t) => {
    t.equal((await send('POST', '/rooms', room({ keys: [{ number: '7' }] }))).status, 201);
    const refused = await send('POST', '/rooms', room({ keys: [{ number: '8' }, { number: '7' }] }));
    t.match(refused, { status: 409, error: 'Another room has this key' });
    t.strictSame(refused.details, detail('/keys', 'Another room has this key'));
  });

  if (database !== 'mongodb') {
    await t.test('a check is a wrong value', async (t) => {
      const refused = await send('POST', '/rooms', room({ seats: 0 }));
      t.match(refused, { status: 400, code: 'invalid_usage', error: 'A room needs a seat' });
      t.strictSame(refused.details, detail('/seats', 'A room needs a seat'));
    });

    await t.test('a foreign key on deletion, where the database reports its name', async (t) => {
      const owner = JSON.parse((await send('POST', '/owners', { name: 'Ann' })).body).id;
      t.equal((await send('POST', '/rooms', room({ owner }))).status, 201);
      const refused = await send('DELETE', `/owners/${owner}`);
      const error = database === 'postgresql' ? 'The owner has rooms' : 'Other records refer to this one';
      t.match(refused, { status: 409, error });
      t.equal(refused.details, undefined);
    });
  }

  if (database === 'postgresql') {
    await t.test('an exclusion constraint', async (t) => {
      t.equal((await send('POST', '/rooms', room({ starts: 10_000 }))).status, 201);
      const message = 'The room is taken at this time';
      const refused = await send('POST', '/rooms', room({ starts: 10_003 }));
      t.match(refused, { status: 409, code: 'conflict', error: message });
      t.strictSame(refused.details, detail('/starts', message));
      const several = await send('POST', '/rooms', [room({ starts: 20_000 }), room({ starts: 20_001 })]);
      t.match(several, { status: 409, error: message });
      t.equal(several.details, undefined, 'the database does not say which of several');
    });
  }
});

t.test('wrong declarations fail at start', async (t) => {
  const orm = await openSqlite(t, { entities });
  const refused = (constraints: object) => {
    class View extends ModelViewSet(Room, { read, write, constraints } as never) {}
    return errorAtStart(t, orm, View);
  };
  const message = 'is taken';
  t.equal(
    await refused({ room_name_unique: { message }, of_a_migration: { message, path: '/keys/0/number' } }),
    undefined,
  );
  t.match(
    await refused({ room_nme_unique: { message } }),
    /"room_nme_unique", which no entity declares; did you mean "room_name_unique"\?/,
  );
  t.match(await refused({ one_doors: { message } }), /did you mean "one_door"\?/);
  t.match(
    await refused({ one_door: { message, path: '/flor' } }),
    /path "\/flor" names no field of the body; did you mean "floor"\?/,
  );
  t.match(await refused({ one_door: { message, path: 'floor' } }), /"path" must be a JSON pointer/);
  t.match(await refused({ one_door: { path: '/floor' } }), /"message" must be/);
  t.match(await refused({ one_door: { message, words: 1 } }), /unknown option "words"/);
  t.match(await refused({ one_door: 'is taken' }), /"one_door" must be an object/);
  t.match(await refused([] as object), /constraints/);
});
