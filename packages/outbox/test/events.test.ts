/** The events of views with `emits`: one of each record that a committed request has written, and none of any other. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t, { type Test } from 'tap';
import {
  action,
  type InputOf,
  inTransaction,
  many,
  ModelViewSet,
  nested,
  readShape,
  Router,
  ServiceUnavailable,
  type ViewSet,
  type WriteData,
  writeShape,
} from '@viewset/core';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { testApp } from '../../core/test/support/library.ts';
import { emit, OutboxEvent } from '../src/index.ts';
import { withOutbox } from './support/with-outbox.ts';

const Shelf = defineEntity({
  name: 'BookShelf',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20).unique(),
    secret: p.string().length(20).hidden().nullable(),
    opened_at: p.datetime().length(3).nullable(),
    weight: p.decimal('number').precision(8).scale(2).nullable(),
    number: p.bigint('bigint').nullable(),
    gone: p.boolean().default(false),
    books: () => p.oneToMany(Volume).mappedBy('shelf').orphanRemoval(),
  },
});
const Volume = defineEntity({
  name: 'Volume',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(20),
    shelf: () => p.manyToOne(Shelf).deleteRule('cascade'),
  },
});
type ShelfRecord = InferEntity<typeof Shelf>;

const read = readShape(Shelf, ['id', 'name', 'opened_at', 'weight', 'number'], { books: many('books.title') });
const byRole = { default: read, brief: readShape(Shelf, ['id']) };
const write = writeShape(Shelf, ['name', 'secret', 'opened_at', 'weight', 'number'], {
  books: nested(writeShape(Volume, ['title']), { update: true }),
});
type Data = WriteData<ShelfRecord, InputOf<typeof write>>;
const all = ['created', 'updated', 'deleted'] as const;

forEachDatabase(t, { entities: [Shelf, Volume, OutboxEvent] }, async (t, orm) => {
  const start = async (t: Test, View: new () => ViewSet) => {
    await orm.schema.clear();
    const app = await testApp(t, orm, [new Router().register('shelves', View)], {
      before: withOutbox(),
    });
    return async (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', url: string, payload?: object, headers = {}) =>
      app.inject({ method, url: `/shelves${url}`, headers, ...(payload && { payload }) });
  };
  const events = async () => orm.em.fork().findAll(OutboxEvent, { orderBy: { id: 'asc' } });
  const told = async () => (await events()).map(({ type, subject, payload }) => [type, subject, payload]);
  const told2 = async () => (await events()).map(({ type, subject }) => `${type} ${subject}`);

  class Shelves extends ModelViewSet(Shelf, { read: byRole, write, bulk: 10, emits: all }) {
    override readShapeFor() {
      return 'brief' as const;
    }
  }

  t.test('every write of a record stores one event, with the record as in retrieve', async (t) => {
    const send = await start(t, Shelves);
    const made = await send('POST', '', {
      name: 'A',
      secret: 'hush',
      opened_at: '2026-01-02T03:04:05.678Z',
      weight: 1.5,
      number: '9007199254740993',
      books: [{ title: 'One' }],
    });
    t.equal(made.statusCode, 201, made.body);
    const { id } = made.json();
    t.equal((await send('PATCH', `/${id}`, { name: 'B', books: [{ title: 'Two' }] })).statusCode, 200);
    t.equal((await send('DELETE', `/${id}`)).statusCode, 204);
    const first = { id, name: 'A', opened_at: '2026-01-02T03:04:05.678Z', weight: 1.5, number: '9007199254740993' };
    t.strictSame(await told(), [
      ['book_shelf.created', `BookShelf/${id}`, { ...first, books: ['One'] }],
      ['book_shelf.updated', `BookShelf/${id}`, { ...first, name: 'B', books: ['Two'] }],
      ['book_shelf.deleted', `BookShelf/${id}`, { ...first, name: 'B', books: ['Two'] }],
    ]);
    const [event] = await events();
    t.match(event!.id, /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    t.match(event, { status: 'waiting', attempts: 0, lease: null, delivered_at: null, last_error: null });
    t.ok(Math.abs(event!.created_at.getTime() - Date.now()) < 60_000);
  });

  t.test('requests about several records store an event of each, in their order', async (t) => {
    const send = await start(t, Shelves);
    const made = (await send('POST', '', [{ name: 'A' }, { name: 'B' }])).json();
    const [a, b] = made.map(({ id }: { id: number }) => id);
    const changed = await send('PATCH', '', [
      { id: b, name: 'b' },
      { id: a, name: 'a' },
    ]);
    t.equal(changed.statusCode, 200, changed.body);
    t.equal((await send('DELETE', `?pk=${a},${b}`)).statusCode, 204);
    const [, , second, first] = await events();
    t.match([second!.payload, first!.payload], [{ name: 'b' }, { name: 'a' }]);
    t.strictSame(await told2(), [
      ...[a, b].map((id) => `book_shelf.created BookShelf/${id}`),
      ...[b, a].map((id) => `book_shelf.updated BookShelf/${id}`),
      ...[a, b].map((id) => `book_shelf.deleted BookShelf/${id}`),
    ]);
    const failed = await send('POST', '', [{ name: 'C' }, { name: 'C' }]);
    t.equal(failed.statusCode, 409);
    t.equal((await events()).length, 6, 'none of a request that was rolled back');
  });

  t.test('overridden hooks emit the event of their operation, with any writes', async (t) => {
    class Hooked extends ModelViewSet(Shelf, { read, write, bulk: 10, emits: all }) {
      override async performCreate(request: FastifyRequest, data: Data) {
        if (data.name === 'refused') {
          await super.performCreate(request, data);
          throw new ServiceUnavailable('not this one');
        }
        const shelf = request.em.create(Shelf, data as never);
        request.em.persist(shelf);
        return shelf as never;
      }
      override async performDestroy(request: FastifyRequest, shelf: { gone: boolean }) {
        shelf.gone = true;
        await request.em.flush();
      }
    }
    const send = await start(t, Hooked);
    t.equal((await send('POST', '', { name: 'refused' })).statusCode, 503);
    t.strictSame(await events(), [], 'a rollback leaves no event');
    const { id } = (await send('POST', '', { name: 'A' })).json();
    t.equal((await send('POST', '', { name: 'A' })).statusCode, 409);
    t.equal((await send('DELETE', `/${id}`)).statusCode, 204);
    const [b] = (await send('POST', '', [{ name: 'B' }])).json();
    t.equal((await send('DELETE', `?pk=${b.id}`)).statusCode, 204);
    t.strictSame(await told2(), [
      `book_shelf.created BookShelf/${id}`,
      `book_shelf.deleted BookShelf/${id}`,
      `book_shelf.created BookShelf/${b.id}`,
      `book_shelf.deleted BookShelf/${b.id}`,
    ]);
    t.equal(await orm.em.fork().count(Shelf, { gone: true }), 2);
  });

  t.test('a view emits only the kinds that it names', async (t) => {
    class Deleting extends ModelViewSet(Shelf, { read, write, emits: ['deleted'] }) {}
    const send = await start(t, Deleting);
    const { id } = (await send('POST', '', { name: 'A' })).json();
    await send('PUT', `/${id}`, { name: 'B' });
    t.strictSame(await told2(), []);
    t.equal((await send('DELETE', `/${id}`)).statusCode, 204);
    t.strictSame(await told2(), [`book_shelf.deleted BookShelf/${id}`]);
  });

  t.test('an action stores custom events; a part that is rolled back stores none', async (t) => {
    class Acting extends ModelViewSet(Shelf, { read, write }) {
      open = action({ methods: ['post'], detail: false, transaction: true }, async (request) => {
        await emit(request, 'shelf.opened', { at: new Date(0), by: 7n }, { subject: 'hall' });
        if (request.headers['x-fail'] !== undefined) throw new ServiceUnavailable('no');
        await inTransaction(request, async () => {
          await emit(request, 'shelf.part', {});
          if (request.headers['x-part'] !== undefined) throw new ServiceUnavailable('no part');
        }).catch(() => request.em.clear());
        return {};
      });
    }
    const send = await start(t, Acting);
    t.equal((await send('POST', '/open', {}, { 'x-fail': '1' })).statusCode, 503);
    t.strictSame(await events(), []);
    t.equal((await send('POST', '/open', {})).statusCode, 200);
    t.strictSame(await told(), [
      ['shelf.opened', 'hall', { at: '1970-01-01T00:00:00.000Z', by: '7' }],
      ['shelf.part', null, {}],
    ]);
    const part = await send('POST', '/open', {}, { 'x-part': '1' });
    const isWhole = orm.em.getPlatform().usesPivotTable();
    t.equal(part.statusCode, isWhole ? 200 : 500, 'without savepoints all is rolled back');
    t.equal((await events()).length, isWhole ? 3 : 2);
    const em = orm.em.fork();
    for (const wrong of ['no type', undefined]) await t.rejects(emit({ em }, wrong as string, {}), TypeError);
    await t.rejects(emit(em as never, 'shelf.part', {}), /emit\(\): the first argument must be a request, or \{ em \}/);
    await t.rejects(
      emit({ em }, 'shelf.part', undefined),
      /emit\(\): a payload is any JSON except null, got undefined/,
    );
    await t.rejects(
      emit({ em }, 'shelf.part', {}, 'hall' as never),
      /emit\(\): the options must be an object, got "hall"/,
    );
    await t.rejects(
      emit({ em }, 'shelf.part', {}, { subject: 7 as never }),
      /option "subject" must be a string, got 7/,
    );
  });

  t.test('explain() names the reason', async (t) => {
    class Emitting extends ModelViewSet(Shelf, {
      read: readShape(Shelf, ['id', 'name']),
      write: writeShape(Shelf, ['name']),
      emits: ['created'],
    }) {
      plan = action({ detail: false }, () => this.explain().create);
    }
    await orm.schema.clear();
    const app = await testApp(t, orm, [new Router().register('shelves', Emitting)], {
      before: withOutbox(),
    });
    t.match((await app.inject('/shelves/plan')).json(), {
      oneStatement: false,
      reasons: ['Emitting has options that receive each write: emits'],
    });
  });
});
