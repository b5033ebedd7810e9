/** A nested record of a one-to-one relation together with each feature that reads or writes records. */
import { defineEntity, p, type MikroORM } from '@mikro-orm/core';
import type { FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import {
  ALL_TENANTS,
  AllowAny,
  IsAuthenticated,
  ModelViewSet,
  nested,
  readShape,
  Router,
  scoped,
  tenant,
  writeShape,
} from '../../../src/index.ts';
import { BatchViewSet } from '../../../../batch/src/index.ts';
import { history, HistoryEntry } from '../../../../history/src/index.ts';
import { IdempotencyKeys, IdempotencyRecord } from '../../../../idempotency/src/index.ts';
import { outbox, OutboxEvent } from '../../../../outbox/src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const FirmSchema = defineEntity({
  name: 'Firm',
  properties: { id: p.integer().primary().autoincrement(false), name: p.string() },
});
class Firm extends FirmSchema.class {}
FirmSchema.setClass(Firm);

/** A person has a badge, which refers to the person, and a desk, to which the person refers. */
const PersonSchema = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(30),
    version: p.integer().version(),
    gone_at: p.datetime().nullable(),
    firm: () => p.manyToOne(Firm).nullable(),
    badge: () => p.oneToOne(Badge).mappedBy('person').nullable(),
    desk: () => p.oneToOne(Desk).owner().nullable(),
  },
});
class Person extends PersonSchema.class {}
PersonSchema.setClass(Person);
const BadgeSchema = defineEntity({
  name: 'Badge',
  properties: {
    id: p.integer().primary(),
    code: p.string().length(20).unique(),
    level: p.integer().default(1),
    firm: () => p.manyToOne(Firm).nullable(),
    person: () => p.oneToOne(Person).owner().deleteRule('cascade'),
  },
});
class Badge extends BadgeSchema.class {}
BadgeSchema.setClass(Badge);
const DeskSchema = defineEntity({
  name: 'Desk',
  properties: {
    id: p.integer().primary(),
    city: p.string().length(20),
    floor: p.integer().nullable(),
    firm: () => p.manyToOne(Firm).nullable(),
  },
});
class Desk extends DeskSchema.class {}
DeskSchema.setClass(Desk);

const read = readShape(Person, ['id', 'name'], {
  badge: readShape(Badge, ['id', 'code', 'level']),
  desk: readShape(Desk, ['id', 'city', 'floor']),
});
const write = writeShape(Person, ['name'], {
  badge: nested(writeShape(Badge, ['code', 'level']), { update: true }),
  desk: nested(writeShape(Desk, ['city', 'floor']), { update: true }),
});

class PersonViewSet extends ModelViewSet(Person, { read, write, bulk: 10 }) {}
const InBern = scoped(Person, () => ({ desk__city: 'Bern' }));
class ScopedViewSet extends ModelViewSet(Person, {
  read,
  write,
  bulk: 10,
  permissionClasses: [IsAuthenticated.and(InBern)],
}) {}
class HistoryViewSet extends ModelViewSet(Person, { read, write, bulk: 10, history: { revert: true } }) {}
class SoftViewSet extends ModelViewSet(Person, {
  read,
  write,
  softDelete: { property: 'gone_at', visibleTo: [AllowAny] },
  history: { revert: true },
}) {}
class EventViewSet extends ModelViewSet(Person, { read, write, bulk: 10, emits: ['created', 'updated', 'deleted'] }) {}
class Batch extends BatchViewSet({ maxOperations: 10 }) {}

const entities = [Firm, Person, Badge, Desk, HistoryEntry, IdempotencyRecord, OutboxEvent];

async function start(t: Test, orm: MikroORM, before?: (app: FastifyInstance) => unknown) {
  const router = new Router()
    .register('people', PersonViewSet)
    .register('scoped', ScopedViewSet)
    .register('recorded', HistoryViewSet)
    .register('soft', SoftViewSet)
    .register('events', EventViewSet)
    .register('batch', Batch);
  const app = await testApp(t, orm, [router], {
    options: { idempotency: new IdempotencyKeys({ account: () => 'everybody' }) },
    before: async (app) => {
      await before?.(app);
      await app.register(history);
      await app.register(outbox);
    },
  });
  const send = async (
    method: 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT',
    url: string,
    payload?: object,
    headers: Readonly<Record<string, string>> = {},
  ) => {
    const response = await app.inject({ method, url, headers, ...(payload && { payload }) });
    const body = response.body === '' ? undefined : response.json();
    return { status: response.statusCode, body, headers: response.headers };
  };
  return { app, send };
}

const taken = (path: string) => ({ status: 409, body: { details: [{ in: 'body', path, message: 'is taken' }] } });

forEachDatabase(t, { entities }, async (t, orm) => {
  const { send } = await start(t, orm);
  const ada = { 'x-user': 'ada' };
  const count = async () =>
    Promise.all([Person, Badge, Desk].map((entity) => orm.em.fork().count(entity as typeof Person)));

  t.test('a write that takes the record out of the scope stores nothing', async (t) => {
    t.equal((await send('POST', '/scoped', { name: 'A', desk: { city: 'Bern' } })).status, 401);
    for (const desk of [{ city: 'Zug' }, null, undefined]) {
      t.equal((await send('POST', '/scoped', { name: 'A', badge: { code: 'a' }, desk }, ada)).status, 403);
    }
    const many = [
      { name: 'A', desk: { city: 'Bern' } },
      { name: 'B', desk: { city: 'Zug' } },
    ];
    t.equal((await send('POST', '/scoped', many, ada)).status, 403);
    t.strictSame(await count(), [0, 0, 0]);
    const { body } = await send('POST', '/scoped', { name: 'A', badge: { code: 'a' }, desk: { city: 'Bern' } }, ada);
    const url = `/scoped/${body.id}`;
    for (const desk of [{ city: 'Zug' }, null]) {
      t.equal((await send('PATCH', url, { desk, badge: null }, ada)).status, 403);
      t.equal((await send('PUT', url, { name: 'B', desk }, ada)).status, 403);
      t.equal((await send('PATCH', '/scoped', [{ id: body.id, desk }], ada)).status, 403);
    }
    t.strictSame((await send('GET', url, undefined, ada)).body, body);
    const changed = await send('PATCH', url, { desk: { floor: 3 }, badge: { level: 2 } }, ada);
    t.match(changed.body, { desk: { ...body.desk, floor: 3 }, badge: { ...body.badge, level: 2 } });
    const other = (await send('POST', '/people', { name: 'Z', desk: { city: 'Zug' }, badge: { code: 'z' } })).body;
    t.equal((await send('PATCH', `/scoped/${other.id}`, { desk: { city: 'Bern' } }, ada)).status, 404);
    for (const stolen of [{ desk: { id: other.desk.id, floor: 1 } }, { badge: { id: other.badge.id, level: 9 } }]) {
      t.equal((await send('PATCH', url, stolen, ada)).status, 400);
    }
    t.strictSame((await send('GET', `/people/${other.id}`)).body, other);
  });

  t.test('a change of a nested record changes the tag of the record', async (t) => {
    const made = await send('POST', '/people', { name: 'T', desk: { city: 'Bern' }, badge: { code: 't' } });
    const url = `/people/${made.body.id}`;
    const tags = new Set([made.headers.etag]);
    for (const change of [{ badge: { level: 5 } }, { desk: { floor: 5 } }, { badge: null }, { desk: null }]) {
      const [latest] = [...tags].toReversed();
      const changed = await send('PATCH', url, change, { 'if-match': latest as string });
      t.equal(changed.status, 200);
      tags.add(changed.headers.etag);
      t.equal((await send('PATCH', url, change, { 'if-match': latest as string })).status, 412);
      t.equal((await send('GET', url)).headers.etag, changed.headers.etag);
    }
    t.equal(tags.size, 5);
  });

  t.test('the history has the key of the nested record, and a revert leaves the record alone', async (t) => {
    const made = (await send('POST', '/recorded', { name: 'H', desk: { city: 'Bern' }, badge: { code: 'h' } })).body;
    const url = `/recorded/${made.id}`;
    await send('PATCH', url, { desk: { floor: 2 }, badge: { level: 3 } });
    await send('PATCH', url, { name: 'HH', desk: null, badge: null });
    const entries = (await send('GET', `${url}/history`)).body.results;
    t.match(entries, [
      { changes: { name: { from: 'H', to: 'HH' }, desk: { from: made.desk.id, to: null } } },
      { changes: {} },
      { kind: 'created', record: { name: 'H', desk: made.desk.id } },
    ]);
    const first = { entry: entries[2].id };
    t.match(await send('POST', `${url}/revert`, first), { status: 200, body: { name: 'H', desk: null, badge: null } });
    const next = (await send('PATCH', url, { name: 'X', desk: { city: 'Chur' }, badge: { code: 'hh' } })).body;
    t.match(await send('POST', `${url}/revert`, first), { status: 200, body: { ...next, name: 'H' } });
    t.match(await send('POST', `${url}/revert`, { entry: entries[0].id }), { body: { ...next, name: 'HH' } });
  });

  t.test('soft delete keeps the nested records', async (t) => {
    const made = (await send('POST', '/soft', { name: 'S', desk: { city: 'Bern' }, badge: { code: 's' } })).body;
    const before = await count();
    t.equal((await send('DELETE', `/soft/${made.id}`)).status, 204);
    t.equal((await send('PATCH', `/soft/${made.id}`, { badge: { level: 9 }, desk: null })).status, 404);
    t.strictSame(await count(), before);
    t.strictSame((await send('GET', '/soft/deleted')).body.results, [made]);
    t.match(await send('POST', '/soft', { name: 'S', badge: { code: 's' } }), taken('/badge/code'));
    t.strictSame((await send('POST', `/soft/${made.id}/restore`)).body, made);
    t.match((await send('PATCH', `/soft/${made.id}`, { badge: { level: 9 } })).body.badge, { code: 's', level: 9 });
  });

  t.test('events have the nested records as they are after the write', async (t) => {
    const made = (await send('POST', '/events', { name: 'E', desk: { city: 'Bern' }, badge: { code: 'e' } })).body;
    const url = `/events/${made.id}`;
    await send('PATCH', url, { desk: { floor: 2 }, badge: { level: 3 } });
    t.equal((await send('PATCH', url, { desk: { city: '' } })).status, 400);
    t.match(await send('POST', '/events', { name: 'F', badge: { code: 'e' } }), taken('/badge/code'));
    await send('PATCH', '/events', [{ id: made.id, badge: null, desk: { floor: null } }]);
    await send('DELETE', url);
    const events = await orm.em.fork().find(OutboxEvent, {}, { orderBy: { id: 1 } });
    const left = { ...made, badge: null };
    t.strictSame(
      events.map(({ type, payload }) => [type, payload]),
      [
        ['person.created', made],
        ['person.updated', { ...made, badge: { ...made.badge, level: 3 }, desk: { ...made.desk, floor: 2 } }],
        ['person.updated', left],
        ['person.deleted', left],
      ],
    );
  });

  t.test('in bulk, unique values pass between nested records', async (t) => {
    const sent = [
      { name: 'B1', badge: { code: 'b1' }, desk: { city: 'a' } },
      { name: 'B2', badge: { code: 'b2' } },
    ];
    const { body: made } = await send('POST', '/people', sent);
    t.match(made, sent);
    const [one, two] = [made[0].id, made[1].id];
    const patch = (...changes: object[]) => send('PATCH', '/people', changes);
    const swapped = await patch(
      { id: one, badge: { code: 'b2' } },
      { id: two, badge: { code: 'b1' }, desk: { city: 'b' } },
    );
    t.match(swapped, {
      status: 200,
      body: [{ badge: { ...made[0].badge, code: 'b2' } }, { badge: { code: 'b1' }, desk: { city: 'b' } }],
    });
    t.match((await patch({ id: one, badge: null }, { id: two, badge: { code: 'b2' } })).body, [
      { badge: null },
      { badge: { ...made[1].badge, code: 'b2' } },
    ]);
    t.match((await patch({ id: one, badge: { code: 'b2' } }, { id: two, badge: null })).body, [
      { badge: { code: 'b2', level: 1 } },
      { badge: null },
    ]);
    const before = await count();
    t.match(await patch({ id: two, badge: { code: 'b9' } }, { id: one, badge: { code: 'z' } }), taken('/1/badge/code'));
    const twice = [
      { name: 'C', badge: { code: 'c' } },
      { name: 'D', badge: { code: 'c' } },
    ];
    t.match(await send('POST', '/people', twice), taken('/1/badge/code'));
    const wrong = await patch({ id: one, badge: { level: 'x' } }, { id: two, desk: { id: made[0].desk.id } });
    t.strictSame(
      wrong.body.details.map(({ path }: { path: string }) => path),
      ['/0/badge/level', '/1/desk/id'],
    );
    t.strictSame(await count(), before);
  });

  t.test('a repeated request and a batch write a nested record once', async (t) => {
    const key = { 'idempotency-key': '"8e03978e-40d5-43dd-bc93-6894a57f9324"' };
    const sent = { name: 'I', badge: { code: 'i' }, desk: { city: 'a' } };
    const first = await send('POST', '/people', sent, key);
    const before = await count();
    const second = await send('POST', '/people', sent, key);
    t.strictSame([second.status, second.body, second.headers['idempotent-replayed']], [201, first.body, 'true']);
    t.equal((await send('POST', '/people', { ...sent, badge: { code: 'j' } }, key)).status, 422);
    const operations = (code: string) => [
      { id: 'new', method: 'POST', path: '/people', body: { name: 'X', badge: { code: 'x' } } },
      {
        method: 'PATCH',
        path: '/people/{new.id}',
        body: { badge: { id: { $ref: 'new.badge.id' }, level: 7 }, desk: { city: 'x' } },
      },
      { method: 'PATCH', path: `/people/${first.body.id}`, body: { badge: { code } } },
    ];
    const failed = await send('POST', '/batch', { operations: operations('x') });
    t.match(failed, {
      status: 422,
      body: { details: [{ path: '/operations/2/body/badge/code', message: 'is taken' }] },
    });
    t.strictSame(await count(), before);
    const { body } = await send('POST', '/batch', { operations: operations('y') });
    t.match(body.answers, [
      { status: 201, body: { badge: { code: 'x', level: 1 }, desk: null } },
      { status: 200, body: { badge: { code: 'x', level: 7 }, desk: { city: 'x' } } },
      { status: 200, body: { badge: { ...first.body.badge, code: 'y' } } },
    ]);
  });
});

const firms = tenant({
  entities: { firm: [Person, Badge, Desk], id: [Firm] },
  of: ({ headers }) => (headers['x-firm'] === undefined ? undefined : Number(headers['x-firm'])),
});

forEachDatabase(t, { entities, orm: { extensions: [firms] } }, async (t, orm) => {
  const { send } = await start(t, orm, (app) => app.register(firms.plugin));
  const [one, two] = [{ 'x-firm': '1' }, { 'x-firm': '2' }];
  await firms.fork(orm.em, ALL_TENANTS).insertMany(Firm, [
    { id: 1, name: 'one' },
    { id: 2, name: 'two' },
  ]);

  t.test('nested records belong to the tenant of the request', async (t) => {
    const nestedOf = { desk: { city: 'Bern', firm: 2 }, badge: { code: 'a', firm: 2 } };
    const made = (await send('POST', '/people', { name: 'A', firm: 2, ...nestedOf }, one)).body;
    t.equal((await send('POST', '/people', { name: 'N', desk: { city: 'Bern' } })).status, 401);
    for (const change of [{ desk: { floor: 1 } }, { badge: null }, { desk: null }]) {
      t.equal((await send('PATCH', `/people/${made.id}`, change, two)).status, 404);
    }
    const other = (await send('POST', '/people', { name: 'B' }, two)).body;
    for (const stolen of [{ desk: { id: made.desk.id, city: 'x' } }, { badge: { id: made.badge.id, code: 'x' } }]) {
      t.equal((await send('PATCH', `/people/${other.id}`, stolen, two)).status, 400);
    }
    t.strictSame((await send('GET', `/people/${made.id}`, undefined, one)).body, made);
    await send('PATCH', `/people/${other.id}`, { desk: { city: 'Zug' }, badge: { code: 'b' } }, two);
    await send('PATCH', '/people', [{ id: other.id, desk: { floor: 1 }, badge: { code: 'c' } }], two);
    for (const path of ['/events', '/recorded', '/soft']) {
      const sent = { name: 'E', desk: { city: 'x' }, badge: { code: path } };
      const answer = await send('POST', path, sent, two);
      t.match(answer, { status: 201, body: sent }, path);
      t.equal((await send('PATCH', `${path}/${answer.body.id}`, { desk: { floor: 2 } }, two)).status, 200, path);
    }
    for (const entity of [Person, Badge, Desk]) {
      const of = (id: number) => firms.fork(orm.em, id).count(entity as typeof Person);
      t.strictSame([await of(1), await of(2)], [1, 4], entity.name);
    }
  });

  t.test('a record with a generated key has a history', async (t) => {
    const { status, body } = await send('POST', '/recorded', { name: 'plain' }, two);
    t.equal(status, 201);
    await send('PATCH', `/recorded/${body.id}`, { name: 'changed' }, two);
    t.match((await send('GET', `/recorded/${body.id}/history`, undefined, two)).body.results, [
      { kind: 'updated', changes: { name: { from: 'plain', to: 'changed' } } },
      { kind: 'created' },
    ]);
    t.equal((await send('GET', `/recorded/${body.id}/history`, undefined, one)).status, 404);
  });
});
