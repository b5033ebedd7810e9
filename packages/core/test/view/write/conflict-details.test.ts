/** Which records and fields a conflict names: with defaults, parents, relations, embeddables and several records at once. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import { action, ModelViewSet, nested, readShape, Router, type WriteData, writeShape } from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Keeper = defineEntity({
  name: 'Keeper',
  properties: { id: p.integer().primary(), name: p.string().length(20).unique() },
});
const Home = defineEntity({
  name: 'Home',
  embeddable: true,
  properties: { city: p.string().length(20), zip: p.string().length(20).nullable() },
});
const Shelf = defineEntity({
  name: 'Shelf',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20).default('shelf'),
    slots: () => p.oneToMany(Slot).mappedBy('shelf'),
  },
});
const Slot = defineEntity({
  name: 'Slot',
  uniques: [
    { properties: ['shelf', 'place'] },
    { properties: ['kind', 'code'] },
    { properties: ['owner', 'label'] },
    { properties: ['shelf', 'keeper'] },
  ],
  properties: {
    id: p.integer().primary(),
    place: p.integer().nullable(),
    kind: p.string().length(20).default('a'),
    code: p.integer().nullable(),
    owner: p.integer().nullable(),
    label: p.string().length(20).nullable(),
    shelf: () => p.manyToOne(Shelf).nullable(),
    keeper: () => p.manyToOne(Keeper).nullable(),
  },
});
const Lid = defineEntity({
  name: 'Lid',
  properties: {
    id: p.integer().primary(),
    color: p.string().length(20).nullable(),
    tone: p.string().length(20).default('dark').unique(),
    shelf: () => p.manyToOne(Shelf).unique().nullable(),
  },
});
const Resident = defineEntity({
  name: 'Resident',
  uniques: [{ properties: ['block', 'home_city'] as never[] }],
  properties: {
    id: p.integer().primary(),
    block: p.integer().default(1),
    nick: p.string().length(20).nullable(),
    email: p.string().length(50).nullable(),
    gone: p.boolean().default(false),
    home: () => p.embedded(Home).nullable(),
  },
});
const Animal = defineEntity({
  name: 'Animal',
  abstract: true,
  discriminatorColumn: 'sort',
  properties: { id: p.integer().primary(), sort: p.enum(['dog', 'cat']), name: p.string().length(20).unique() },
});
const Dog = defineEntity({ name: 'Dog', extends: Animal, discriminatorValue: 'dog', properties: {} });
const Cat = defineEntity({ name: 'Cat', extends: Animal, discriminatorValue: 'cat', properties: {} });

const readSlot = readShape(Slot, ['id', 'place', 'kind', 'code', 'label']);
const SLOT = ['place', 'kind', 'code', 'label', 'keeper'] as const;

class ShelfViewSet extends ModelViewSet(Shelf, {
  read: readShape(Shelf, ['id', 'name']),
  write: writeShape(Shelf, ['name'], { slots: nested(writeShape(Slot, ['place', 'code']), { update: true }) }),
  bulk: 10,
}) {}
class PlacedViewSet extends ModelViewSet(Slot, { read: readSlot, write: writeShape(Slot, SLOT), bulk: 10 }) {}
class LidViewSet extends ModelViewSet(Lid, {
  read: readShape(Lid, ['id', 'color']),
  write: writeShape(Lid, ['color', 'tone']),
}) {}
class ToneViewSet extends ModelViewSet(Lid, {
  read: readShape(Lid, ['id', 'color']),
  write: writeShape(Lid, ['color', 'tone']),
  bulk: 10,
}) {}
class SlotViewSet extends ModelViewSet(Slot, {
  read: readSlot,
  write: writeShape(Slot, [...SLOT, 'shelf']),
  bulk: 10,
}) {
  several = action({ methods: ['post'], body: Type.Array(Type.Object({ code: Type.Integer() })) }, async (request) => {
    for (const data of request.body) await this.performCreate(request, data);
    return {};
  });
}
class NamedViewSet extends ModelViewSet(Slot, {
  read: readSlot,
  write: writeShape(Slot, ['code', 'place'], { shelf: 'shelf.id', keeper: 'keeper.name' }),
  bulk: 10,
}) {}
class FilledViewSet extends ModelViewSet(Slot, {
  read: readSlot,
  write: writeShape(Slot, ['label']),
  fill: { owner: ({ headers }) => Number(headers['x-owner']) },
  bulk: 10,
}) {}
class HookedViewSet extends ModelViewSet(Slot, { read: readSlot, write: writeShape(Slot, ['label']), bulk: 10 }) {
  override performCreate(request: FastifyRequest, data: WriteData<never, { label?: string | null }>) {
    return super.performCreate(request, { ...data, owner: Number(request.headers['x-owner']) });
  }
  override performUpdate(request: FastifyRequest, slot: never, data: WriteData<never, { label?: string | null }>) {
    return super.performUpdate(request, slot, data);
  }
}
class ResidentViewSet extends ModelViewSet(Resident, {
  read: readShape(Resident, ['id', 'block', 'nick', 'email']),
  write: writeShape(Resident, ['block', 'nick', 'email', 'gone', 'home']),
  bulk: 10,
}) {}
class DogViewSet extends ModelViewSet(Dog, {
  read: readShape(Dog, ['id', 'name']),
  write: writeShape(Dog, ['name']),
  bulk: 10,
}) {}

const entities = [Keeper, Home, Shelf, Slot, Lid, Resident, Animal, Dog, Cat];

forEachDatabase(t, { entities, onLibSql: true }, async (t, orm, database) => {
  if (database === 'mongodb') {
    const residents = (
      orm.em.getConnection() as never as { getCollection(entity: unknown): MongoCollection }
    ).getCollection(Resident);
    await residents.createIndex(
      { nick: 1 },
      { unique: true, partialFilterExpression: { gone: false, nick: { $type: 'string' } } },
    );
    await residents.createIndex(
      { email: 1 },
      {
        unique: true,
        collation: { locale: 'en', strength: 2 },
        partialFilterExpression: { email: { $type: 'string' } },
      },
    );
  } else {
    await orm.em.getConnection().execute('create unique index living on resident (nick) where gone = false');
    await orm.em.getConnection().execute('create unique index "one (mail)" on "resident" (lower("email"))');
  }
  const router = new Router()
    .register('shelves', ShelfViewSet)
    .register('slots', SlotViewSet)
    .register('named', NamedViewSet)
    .register('filled', FilledViewSet)
    .register('hooked', HookedViewSet)
    .register('tones', ToneViewSet)
    .register('residents', ResidentViewSet)
    .register('dogs', DogViewSet)
    .register('shelves/:shelf/slots', PlacedViewSet)
    .register('shelves/:shelf/lids', LidViewSet);
  const app = await testApp(t, orm, [router]);
  const em = orm.em.fork();
  const [one, two] = [em.create(Shelf, { id: 1001, name: 'one' }), em.create(Shelf, { id: 1002, name: 'two' })];
  const [ada, bob] = [em.create(Keeper, { id: 1001, name: 'Ada' }), em.create(Keeper, { id: 1002, name: 'Bob' })];
  em.create(Slot, { id: 2101, shelf: one, place: 5, code: 2, keeper: ada });
  em.create(Slot, { id: 2102, shelf: two, place: 1, kind: 'b', code: 1, keeper: bob });
  em.create(Slot, { id: 2103, kind: 'b', code: 8, owner: 7, label: 'mine' });
  em.create(Slot, { id: 2104, kind: 'a', code: 9, owner: 8, label: 'yours' });
  em.create(Resident, { id: 1001, block: 1, nick: 'x', email: 'a@x', home: { city: 'Bern', zip: null } });
  em.create(Resident, { id: 1002, block: 2, nick: 'y', gone: true, home: { city: 'Basel', zip: null } });
  em.create(Cat, { id: 1001, name: 'Tom' });
  await em.flush();

  const refused = async (method: 'POST' | 'PATCH' | 'PUT', url: string, payload: object, owner = 0) => {
    const answer = await app.inject({ method, url, payload, headers: { 'x-owner': String(owner) } });
    if (answer.statusCode !== 409) return answer.statusCode + answer.body;
    const { details = [] } = answer.json<{ details?: { in: string; path: string; message: string }[] }>();
    for (const { message } of details) t.equal(message, 'is taken');
    return details.map((detail) => (detail.in === 'body' ? detail.path : `${detail.in} ${detail.path}`)).join(' ');
  };

  await t.test('the parent of the path completes a key', async (t) => {
    const url = '/shelves/1001/slots';
    t.equal(await refused('POST', url, { place: 5 }), '/place');
    t.equal(await refused('POST', url, [{ place: 1 }, { place: 5 }]), '/1/place');
    t.equal(await refused('POST', url, [{ place: 7 }, { place: 8 }, { place: 7 }]), '/2/place');
    t.equal(await refused('POST', url, [{ place: null }, { place: 5 }]), '/1/place');
    t.equal(await refused('POST', url, [{ keeper: 1002 }, { keeper: 1001 }]), '/1/keeper');
  });

  await t.test('a unique key that consists of the path parameter only is reported as a parameter', async (t) => {
    t.equal(
      (await app.inject({ method: 'POST', url: '/shelves/1001/lids', payload: { tone: 'red' } })).statusCode,
      201,
    );
    t.equal(await refused('POST', '/shelves/1001/lids', { tone: 'blue' }), 'params /shelf');
    t.equal(await refused('POST', '/shelves/1001/lids', { color: 'x', tone: 'blue' }), 'params /shelf');
  });

  await t.test('a default completes a key, or is all of it', async (t) => {
    t.equal(await refused('POST', '/slots', { code: 2 }), '/code');
    t.equal(await refused('POST', '/slots', [{ code: 1 }, { code: 2 }]), '/1/code');
    t.equal(await refused('POST', '/slots', [{ code: 8 }, { kind: 'b', code: 8 }]), '/1/kind /1/code');
    t.equal(await refused('POST', '/slots', [{ kind: 'a', code: 77 }, { code: 77 }]), '/1/code');
    t.equal((await app.inject({ method: 'POST', url: '/tones', payload: { color: 'a' } })).statusCode, 201);
    t.equal(await refused('POST', '/tones', { color: 'b' }), '/tone');
    t.equal(await refused('POST', '/tones', [{ tone: 'new' }, { color: 'b' }]), '/1/tone');
  });

  await t.test('the stored values of a record complete its key', async (t) => {
    t.equal(await refused('PATCH', '/slots/2104', { code: 2 }), '/code');
    t.equal(
      await refused('PATCH', '/slots', [
        { id: 2104, code: 1 },
        { id: 2102, code: 8 },
      ]),
      '/1/code',
    );
    t.equal(
      await refused('PATCH', '/slots', [
        { id: 2104, code: 1 },
        { id: 2103, code: 1 },
      ]),
      '/1/code',
    );
    t.equal(
      await refused('PATCH', '/slots', [
        { id: 2103, code: 30 },
        { id: 2104, kind: 'b', code: 1 },
      ]),
      '/1/kind /1/code',
    );
    t.equal(await refused('PUT', '/slots/2104', { kind: 'b', code: 1 }), '/kind /code');
  });

  await t.test('conflicts on relations name the field of the body', async (t) => {
    t.equal(await refused('POST', '/named', { shelf: 1001, keeper: 'Ada' }), '/shelf /keeper');
    t.equal(
      await refused('POST', '/named', [
        { shelf: 1001, keeper: 'Bob' },
        { shelf: 1002, keeper: 'Bob' },
      ]),
      '/1/shelf /1/keeper',
    );
    t.equal(await refused('PATCH', '/named/2102', { shelf: 1001, keeper: 'Ada' }), '/shelf /keeper');
    t.equal(
      await refused('PATCH', '/named', [
        { id: 2103, code: 40 },
        { id: 2102, shelf: 1001, keeper: 'Ada' },
      ]),
      '/1/shelf /1/keeper',
    );
  });

  await t.test('a conflict is named even if the view fills a part of the key', async (t) => {
    t.equal(await refused('POST', '/filled', { label: 'mine' }, 7), '/label');
    t.equal(await refused('POST', '/filled', [{ label: 'yours' }, { label: 'mine' }], 7), '/1/label');
    t.equal(await refused('POST', '/hooked', [{ label: 'yours' }, { label: 'mine' }], 7), '/1/label');
    const headers = { 'x-owner': '7' };
    const other = await app.inject({ method: 'POST', url: '/hooked', headers, payload: { label: 'theirs' } });
    const { id } = other.json<{ id: number }>();
    const both = [
      { id: 2104, label: 'mine' },
      { id, label: 'mine' },
    ];
    t.equal(await refused('PATCH', '/hooked', both), '/1/label');
    t.equal(await refused('PATCH', '/filled', both), '/1/label');
  });

  await t.test('columns of an embeddable are named by their places', async (t) => {
    t.equal(await refused('POST', '/residents', { home: { city: 'Bern' } }), '/home/city');
    t.equal(await refused('POST', '/residents', { block: 1, home: { city: 'Bern' } }), '/block /home/city');
    const cities = [{ home: { city: 'Basel' } }, { block: 2, home: { city: 'Basel' } }];
    t.equal(await refused('POST', '/residents', cities), '/1/block /1/home/city');
    t.equal(await refused('PATCH', '/residents/1002', { block: 1, home: { city: 'Bern' } }), '/block /home/city');
    t.equal(await refused('PATCH', '/residents/1002', { home: { city: 'Bern' }, block: 1 }), '/block /home/city');
  });

  await t.test('a partial index, and one on an expression, name their fields', async (t) => {
    t.equal(await refused('POST', '/residents', { nick: 'x' }), '/nick');
    t.equal(await refused('POST', '/residents', [{ nick: 'z' }, { nick: 'x' }]), '/1/nick');
    t.equal(await refused('POST', '/residents', { email: 'A@X' }), '/email');
    t.equal(await refused('POST', '/residents', [{ email: 'b@x' }, { email: 'A@x' }]), '/1/email');
    t.equal(await refused('POST', '/residents', [{ email: 'b@x' }, { email: 'B@x' }]), '/1/email');
    t.equal(await refused('PATCH', '/residents/1002', { email: 'A@X' }), '/email');
  });

  await t.test('a value that another class of the table has', async (t) => {
    t.equal(await refused('POST', '/dogs', { name: 'Tom' }), '/name');
    t.equal(await refused('POST', '/dogs', [{ name: 'Rex' }, { name: 'Tom' }]), '/1/name');
  });

  await t.test('a conflict among the children of one parent names the child', async (t) => {
    t.equal(await refused('POST', '/shelves', { name: 'n', slots: [{ place: 1 }, { place: 1 }] }), '/slots/1/place');
    t.equal(await refused('POST', '/shelves', { name: 'n', slots: [{ place: 5 }, { code: 2 }] }), '/slots/1/code');
    const two = [
      { name: 'n', slots: [{ place: 1 }] },
      { name: 'm', slots: [{ place: 1 }, { place: 2 }, { place: 2 }] },
    ];
    t.equal(await refused('POST', '/shelves', two), '/1/slots/2/place');
    const changed = { slots: [{ id: 2101, place: 3 }, { place: 1 }, { place: 3 }] };
    t.equal(await refused('PATCH', '/shelves/1001', changed), '/slots/2/place');
  });

  await t.test('an action that creates several', async (t) => {
    t.equal(await refused('POST', '/slots/several', [{ code: 55 }, { code: 2 }]), '/1/code');
  });
});

interface MongoCollection {
  createIndex(keys: object, options: object): Promise<unknown>;
}
