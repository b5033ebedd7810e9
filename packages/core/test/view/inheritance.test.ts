/** Classes that share one table: the class of a view decides which records it has, and what it stores. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import {
  many,
  ModelViewSet,
  nested,
  QuerySet,
  readShape,
  refs,
  Router,
  type ViewSet,
  writeShape,
} from '../../src/index.ts';
import { forEachDatabase, openSqlite } from '../support/databases.ts';
import { errorAtStart, testApp } from '../support/library.ts';

const Person = defineEntity({
  name: 'Person',
  abstract: true,
  discriminatorColumn: 'kind',
  properties: {
    id: p.integer().primary(),
    kind: p.enum(['worker', 'manager', 'chief']),
    name: p.string().unique(),
    team: () => p.manyToOne(Team).nullable(),
  },
});
const Worker = defineEntity({
  name: 'Worker',
  extends: Person,
  discriminatorValue: 'worker',
  properties: { wage: p.integer().default(10) },
});
/** Abstract, between the class at the root and those with records. */
const Leader = defineEntity({
  name: 'Leader',
  abstract: true,
  extends: Person,
  properties: { budget: p.integer().nullable() },
});
const Manager = defineEntity({ name: 'Manager', extends: Leader, discriminatorValue: 'manager', properties: {} });
const Chief = defineEntity({
  name: 'Chief',
  extends: Leader,
  discriminatorValue: 'chief',
  properties: { car: p.string() },
});
const Team = defineEntity({
  name: 'Team',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    boss: () => p.manyToOne(Leader).nullable(),
    people: () => p.oneToMany(Person).mappedBy('team'),
    helpers: () => p.manyToMany(Worker),
  },
});
const ENTITIES = [Team, Person, Worker, Leader, Manager, Chief] as never;

const changing = ['list', 'retrieve', 'update', 'destroy'] as const;

class PersonViewSet extends ModelViewSet(Person, {
  read: readShape(Person, ['id', 'kind', 'name']),
  write: writeShape(Person, ['name']),
  operations: changing,
  filterFields: { kind: 'kind' },
}) {}
class WorkerViewSet extends ModelViewSet(Worker, {
  read: readShape(Worker, ['id', 'kind', 'name', 'wage']),
  write: writeShape(Worker, ['name', 'wage']),
  bulk: 5,
}) {}
class LeaderViewSet extends ModelViewSet(Leader, {
  read: readShape(Leader, ['id', 'kind', 'name', 'budget']),
  write: writeShape(Leader, ['name', 'budget']),
  operations: changing,
}) {}
class ChiefViewSet extends ModelViewSet(Chief, {
  read: readShape(Chief, ['id', 'kind', 'name', 'car']),
  write: writeShape(Chief, ['name', 'car']),
}) {}
class TeamViewSet extends ModelViewSet(Team, {
  read: readShape(Team, ['id'], {
    boss: 'boss.name',
    people: many('people.name'),
    helpers: many('helpers.name'),
  }),
  write: writeShape(Team, ['name'], { boss: 'boss.name', helpers: refs('helpers.name') }),
}) {}
/** Its hook decides the class. */
class AnyViewSet extends ModelViewSet(Person, {
  read: readShape(Person, ['id', 'kind', 'name']),
  write: writeShape(Person, ['name']),
  extra: Type.Object({ isWorker: Type.Boolean() }),
}) {
  override async performCreate(request: FastifyRequest, data: { name: string }, { isWorker }: { isWorker: boolean }) {
    const person = request.em.create((isWorker ? Worker : Manager) as never, data as never);
    await request.em.flush();
    return person as never;
  }
}

forEachDatabase(t, { entities: ENTITIES }, async (t, orm) => {
  const router = new Router().register('people', PersonViewSet).register('workers', WorkerViewSet);
  const app = await testApp(t, orm, [
    router
      .register('leaders', LeaderViewSet)
      .register('chiefs', ChiefViewSet)
      .register('teams', TeamViewSet)
      .register('any', AnyViewSet),
  ]);
  const send = async (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
    const { statusCode, body } = await app.inject({ method, url, ...(payload !== undefined && { payload }) });
    return { status: statusCode, body: body === '' ? undefined : JSON.parse(body) };
  };
  const namesAt = async (url: string): Promise<string[]> =>
    (await send('GET', url)).body.results.map(({ name }: { name: string }) => name);
  const worker = (await send('POST', '/workers', { name: 'Ann' })).body;
  const [second] = (await send('POST', '/workers', [{ name: 'Bob', wage: 5, kind: 'chief' }])).body;
  const chief = (await send('POST', '/chiefs', { name: 'Cleo', car: 'red' })).body;
  const em = orm.em.fork();
  em.create(Manager, { name: 'Dan' } as never);
  await em.flush();

  t.test('a view stores records of its class, with any discriminator in the body', async (t) => {
    t.match(worker, { kind: 'worker', wage: 10 });
    t.match(second, { kind: 'worker', wage: 5 });
    t.match(chief, { kind: 'chief', car: 'red' });
    const url = `/people/${chief.id}`;
    t.match(await send('PATCH', url, { kind: 'worker', name: 'Cleo II' }), {
      body: { kind: 'chief', name: 'Cleo II' },
    });
    t.match(await send('PUT', url, { name: 'Cleo' }), { body: { kind: 'chief', name: 'Cleo' } });
    t.match((await send('GET', `/chiefs/${chief.id}`)).body, { name: 'Cleo', car: 'red' });
    const taken = await send('POST', '/chiefs', { name: 'Ann', car: 'red' });
    t.match(taken, { status: 409, body: { details: [{ path: '/name' }] } });
  });

  t.test('a view has the records of its class and of those that extend it', async (t) => {
    t.strictSame(await namesAt('/people'), ['Ann', 'Bob', 'Cleo', 'Dan']);
    t.strictSame(await namesAt('/people?kind=chief'), ['Cleo']);
    t.strictSame(await namesAt('/workers'), ['Ann', 'Bob']);
    t.strictSame(await namesAt('/leaders'), ['Cleo', 'Dan']);
    t.strictSame(await namesAt('/chiefs'), ['Cleo']);
    t.equal(await QuerySet.of(orm.em.fork(), Leader as never).count(), 2);
    for (const url of [`/leaders/${worker.id}`, `/chiefs/${worker.id}`, `/workers/${chief.id}`]) {
      t.equal((await send('GET', url)).status, 404, url);
      t.equal((await send('PATCH', url, { name: 'x' })).status, 404, url);
      t.equal((await send('DELETE', url)).status, 404, url);
    }
    t.equal((await send('PATCH', `/leaders/${chief.id}`, { budget: 5 })).body.budget, 5);
  });

  t.test('a reference accepts only records of its class', async (t) => {
    const made = await send('POST', '/teams', { name: 'a', boss: 'Cleo', helpers: ['Bob', 'Ann'] });
    t.match(made, { status: 201, body: { boss: 'Cleo', helpers: ['Ann', 'Bob'] } });
    const wrong = await send('POST', '/teams', { name: 'a', boss: 'Ann', helpers: ['Ann', 'Cleo'] });
    t.strictSame(
      wrong.body.details.map(({ path }: { path: string }) => path),
      ['/boss', '/helpers/1'],
    );
    await send('PATCH', `/teams/${made.body.id}`, { helpers: [] });
  });

  t.test('a hook may decide the class', async (t) => {
    t.match((await send('POST', '/any', { name: 'Eve', isWorker: false })).body, { kind: 'manager', name: 'Eve' });
    t.match((await send('POST', '/any', { name: 'Fay', isWorker: true })).body, { kind: 'worker', name: 'Fay' });
    t.strictSame(await namesAt('/workers'), ['Ann', 'Bob', 'Fay']);
  });

  t.test('a record is deleted by a view of any of its classes', async (t) => {
    t.equal((await send('DELETE', `/people/${second.id}`)).status, 204);
    t.strictSame(await namesAt('/workers'), ['Ann', 'Fay']);
  });
});

t.test('views whose records cannot be stored fail at start', async (t) => {
  const orm = await openSqlite(t, { entities: ENTITIES });
  const write = writeShape(Person, ['name']);
  const create = class extends ModelViewSet(Person, { read: readShape(Person, ['id']), write }) {};
  const between = class extends ModelViewSet(Leader, {
    read: readShape(Leader, ['id']),
    write: writeShape(Leader, ['name']),
  }) {};
  const kind = class extends ModelViewSet(Worker, {
    read: readShape(Worker, ['id']),
    write: Type.Object({ name: Type.String(), kind: Type.String() }) as never,
  }) {};
  const filled = class extends ModelViewSet(Worker, {
    read: readShape(Worker, ['id']),
    write: writeShape(Worker, ['name']),
    fill: { kind: () => 'chief' } as never,
  }) {};
  const children = class extends ModelViewSet(Team, {
    read: readShape(Team, ['id']),
    write: writeShape(Team, ['name'], { people: nested(write) }),
  }) {};
  const created = class extends ModelViewSet(Team, {
    read: readShape(Team, ['id']),
    write: writeShape(Team, ['name'], { boss: 'boss.name' }),
  }) {};
  const messages: readonly (readonly [new () => ViewSet, RegExp | undefined])[] = [
    [create, /a new Person cannot be stored, since the class is abstract/],
    [between, /a new Leader cannot be stored, since the class is abstract/],
    [kind, /option "write": Worker\.kind tells the class of a record, so nothing can write it/],
    [filled, /Worker\.kind tells the class of a record, so nothing can write it/],
    [children, /a new Person cannot be stored, since the class is abstract/],
    [created, undefined],
  ];
  for (const [View, message] of messages) {
    const found = await errorAtStart(t, orm, View);
    if (message === undefined) t.equal(found, undefined);
    else t.match(found, message);
  }
  t.throws(() => writeShape(Person, ['name', 'kind']), { message: /Person\.kind tells the class of a record/ });
});
