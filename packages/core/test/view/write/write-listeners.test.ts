/** The seam by which a plugin is told of the records that views write, within the transaction. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import t, { type Test } from 'tap';
import {
  eventsFeature,
  ModelViewSet,
  readShape,
  type RecordWrite,
  Router,
  ServiceUnavailable,
  type ViewSet,
  type WriteListener,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase, openSqlite } from '../../support/databases.ts';
import { Book, errorAtStart, LIBRARY, testApp } from '../../support/library.ts';

const read = readShape(Book, ['id', 'title']);
const write = writeShape(Book, ['title', 'pages']);

const startWith = (t: Test, orm: Parameters<typeof testApp>[1], View: new () => ViewSet, listener: WriteListener) =>
  testApp(t, orm, [new Router().register('books', View)], {
    before: (app) => app.viewset.addFeature(eventsFeature(listener)),
  });

forEachDatabase(t, { entities: LIBRARY }, async (t, orm) => {
  t.test('a listener receives every write before its commit, with the previous values', async (t) => {
    await orm.schema.clear();
    const told: (readonly RecordWrite[])[] = [];
    class BookViewSet extends ModelViewSet(Book, { read, write, bulk: 5, emits: ['created', 'updated', 'deleted'] }) {}
    const app = await startWith(t, orm, BookViewSet, async (writes) => {
      t.ok(writes[0]!.request.em.isInTransaction());
      told.push(writes);
    });
    const made = await app.inject({ method: 'POST', url: '/books', payload: { title: 'Ash', pages: 3 } });
    const { id } = made.json();
    await app.inject({ method: 'PATCH', url: `/books/${id}`, payload: { title: 'Birch' } });
    await app.inject({ method: 'PATCH', url: '/books', payload: [{ id, pages: 4 }] });
    await app.inject({ method: 'DELETE', url: `/books/${id}` });
    t.match(told, [
      [{ kind: 'created', key: id, record: { id, title: 'Ash' }, before: undefined, meta: { className: 'Book' } }],
      [{ kind: 'updated', key: id, record: { id, title: 'Birch' }, before: { title: 'Ash', pages: 3 } }],
      [{ kind: 'updated', key: id, record: { id, title: 'Birch' }, before: { title: 'Birch', pages: 3 } }],
      [{ kind: 'deleted', key: id, record: { id, title: 'Birch' }, before: { title: 'Birch', pages: 4 } }],
    ]);
  });

  t.test('an error of a listener rolls the write back', async (t) => {
    await orm.schema.clear();
    class BookViewSet extends ModelViewSet(Book, { read, write, emits: ['created'] }) {}
    const app = await startWith(t, orm, BookViewSet, async () => {
      throw new ServiceUnavailable('not now');
    });
    const { statusCode } = await app.inject({ method: 'POST', url: '/books', payload: { title: 'Ash' } });
    t.equal(statusCode, 503);
    t.equal(await orm.em.fork().count(Book), 0);
  });
});

t.test('a view that emits without a listener, or cannot emit, fails at start', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  class Unheard extends ModelViewSet(Book, { read, write, emits: ['created'] }) {}
  t.match(await errorAtStart(t, orm, Unheard), /Unheard: option "emits" needs a plugin that takes the events/);
  class ReadOnly extends ModelViewSet(Book, { read, emits: ['deleted'] }) {}
  class Custom extends ModelViewSet(Book, { read, write, emits: ['created'] }) {
    override async create(_request: FastifyRequest, _reply: FastifyReply) {
      return { id: 1, title: 'of its own' };
    }
  }
  class CustomMany extends ModelViewSet(Book, { read, write, bulk: 2, emits: ['deleted'] }) {
    override async destroyMany(_request: FastifyRequest, _reply: FastifyReply) {}
  }
  for (const [View, message] of [
    [ReadOnly, 'ReadOnly: option "emits" has "deleted", but the view has no operation "destroy"'],
    [Custom, 'Custom: the view has "emits", but create does not call super.create(), so its writes would be missed'],
    [
      CustomMany,
      'CustomMany: the view has "emits", but destroyMany does not call super.destroyMany(), so its writes would be missed',
    ],
  ] as const) {
    await t.rejects(
      startWith(t, orm, View, async () => {}),
      { name: 'ImproperlyConfigured', message },
    );
  }
});

t.test('a misspelt kind does not compile, and is refused', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  // @ts-expect-error the kinds are created, updated and deleted
  class Misspelt extends ModelViewSet(Book, { read, write, emits: ['create'] }) {}
  t.match(
    await errorAtStart(t, orm, Misspelt),
    /^Misspelt: option "emits\[0\]" must be created, updated or deleted, got "create"$/,
  );
  class NoList extends ModelViewSet(Book, { read, write, emits: 'created' as never }) {}
  t.match(
    await errorAtStart(t, orm, NoList),
    /^NoList: option "emits" must be a list of created, updated, deleted, got "created"$/,
  );
});

t.test('an option is served by one plugin', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  const listener: WriteListener = async () => {};
  const app = await testApp(t, orm, []);
  const feature = eventsFeature(listener);
  app.viewset.addFeature(feature);
  app.viewset.addFeature(feature);
  t.throws(() => app.viewset.addFeature(eventsFeature(async () => {})), {
    name: 'ImproperlyConfigured',
    message: 'feature "emits": views have an option of this name already',
  });
});
