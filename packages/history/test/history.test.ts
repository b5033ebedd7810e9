/** The history of records: one entry of each write that is committed, with the values that a request may see. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyInstance, FastifyRequest, InjectOptions } from 'fastify';
import t, { type Test } from 'tap';
import {
  action,
  AllowAny,
  computed,
  HasRole,
  many,
  ModelViewSet,
  Permission,
  type PermissionView,
  readShape,
  Router,
  ServiceUnavailable,
  type ViewSet,
  writeShape,
} from '@viewset/core';
import { Type } from 'typebox';
import { forEachDatabase, openSqlite } from '../../core/test/support/databases.ts';
import { errorAtStart, testApp } from '../../core/test/support/library.ts';
import { history, HistoryEntry, pruneHistory } from '../src/index.ts';

const Shelf = defineEntity({
  name: 'Shelf',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20),
    notes: () => p.oneToMany(Note).mappedBy('shelf'),
  },
});
const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(20).unique(),
    secret: p.string().length(20).hidden().nullable(),
    salary: p.integer().nullable(),
    owner: p.string().length(20).default('ann'),
    price: p.decimal('number').precision(8).scale(2).nullable(),
    number: p.bigint('bigint').nullable(),
    due_at: p.datetime().length(3).nullable(),
    day: p.date().nullable(),
    labels: p.json<string[]>().nullable(),
    shelf: () => p.manyToOne(Shelf).nullable(),
    deleted_at: p.datetime().length(3).nullable(),
  },
});
type NoteRecord = InferEntity<typeof Note>;

const plain = readShape(Note, ['id', 'title', 'price', 'number', 'due_at', 'day', 'labels', 'shelf']);
const read = plain.extend([], {
  shelf_name: 'shelf.name',
  length: computed(Type.Integer(), ['title'], ({ title }) => title.length),
});
const write = writeShape(Note, ['title', 'secret', 'price', 'number', 'due_at', 'day', 'labels', 'shelf']);

class OwnedByUser extends Permission {
  override scope(request: FastifyRequest, view: PermissionView) {
    const user = request.user as { role: { name: string } } | null;
    return this.records<NoteRecord>(view, { owner: user?.role.name ?? 'nobody' });
  }
}

const withHistory = async (app: FastifyInstance): Promise<void> => {
  await app.register(history);
};

forEachDatabase(t, { entities: [Shelf, Note, HistoryEntry] }, async (t, orm) => {
  const start = async (t: Test, ...views: (new () => ViewSet)[]) => {
    await orm.schema.clear();
    const router = new Router();
    for (const [index, View] of views.entries()) router.register(index === 0 ? 'notes' : `notes-${index}`, View);
    const app = await testApp(t, orm, [router], { before: withHistory });
    return async (method: string, url: string, payload?: object, user?: string) => {
      const headers: Record<string, string> = user === undefined ? {} : { 'x-user': user };
      const answer = await app.inject({
        method: method as InjectOptions['method'] & 'GET',
        url,
        headers,
        ...(payload && { payload }),
      });
      return { status: answer.statusCode, body: answer.body === '' ? undefined : answer.json() };
    };
  };
  const entries = () => orm.em.fork().findAll(HistoryEntry, { orderBy: { id: 'asc' } });
  t.test(
    'with permissions by operation, the history has those of retrieve, and a revert those of update',
    async (t) => {
      class Notes extends ModelViewSet(Note, {
        read,
        write,
        history: { revert: true },
        permissionClasses: {
          default: [AllowAny],
          retrieve: [HasRole('reader', 'editor')],
          update: [HasRole('editor')],
        },
      }) {}
      const send = await start(t, Notes);
      const { body } = await send('POST', '/notes', { title: 'Tea' });
      t.equal((await send('GET', `/notes/${body.id}/history`, undefined, 'boss')).status, 403);
      const { status, body: page } = await send('GET', `/notes/${body.id}/history`, undefined, 'reader');
      t.equal(status, 200);
      const [{ id: entry }] = page.results as [{ id: number }];
      t.equal((await send('POST', `/notes/${body.id}/revert`, { entry }, 'reader')).status, 403);
      t.equal((await send('POST', `/notes/${body.id}/revert`, { entry }, 'editor')).status, 200);
    },
  );

  const makeShelf = async (name: string) => {
    const em = orm.em.fork();
    const shelf = em.create(Shelf, { name });
    await em.flush();
    return shelf.id;
  };

  t.test('each write is an entry with its changes, newest first', async (t) => {
    class Notes extends ModelViewSet(Note, { read, write, history: true }) {}
    const send = await start(t, Notes);
    const shelf = await makeShelf('North');
    const first = {
      title: 'Tea',
      secret: 'hush',
      price: 1.5,
      number: '9007199254740993',
      due_at: '2026-01-02T03:04:05.678Z',
      day: '2026-02-03',
      labels: ['a'],
      shelf,
    };
    const made = await send('POST', '/notes', first, 'ann');
    t.equal(made.status, 201);
    const { id } = made.body;
    t.match(await send('PATCH', `/notes/${id}`, { title: 'Rum', price: null, secret: 'x' }), { status: 200 });
    t.match(await send('PATCH', `/notes/${id}`, { secret: 'y' }, 'eve'), { status: 200 });
    const { secret: _secret, ...kept } = { id, ...first };
    const now = { ...kept, title: 'Rum', price: null };
    const { status, body } = await send('GET', `/notes/${id}/history`);
    t.equal(status, 200, JSON.stringify(body));
    t.match(body, { count: 3, next: false, previous: false });
    const shown = body.results.map(({ id: _id, written_at, ...entry }: { id: string; written_at: string }) => {
      t.ok(Math.abs(Date.parse(written_at) - Date.now()) < 60_000);
      return entry;
    });
    t.strictSame(shown, [
      { kind: 'updated', action: 'update', user: '3', changes: {}, record: now },
      {
        kind: 'updated',
        action: 'update',
        user: null,
        changes: { title: { from: 'Tea', to: 'Rum' }, price: { from: 1.5, to: null } },
        record: now,
      },
      { kind: 'created', action: 'create', user: '3', changes: {}, record: kept },
    ]);
    const pages = await send('GET', `/notes/${id}/history?page=2&page_size=1`);
    t.match(pages.body, { count: 3, next: true, previous: true, results: [{ record: { title: 'Rum' } }] });
    for (const query of ['page=0', 'page_size=101', 'pages=1']) {
      t.match(await send('GET', `/notes/${id}/history?${query}`), { status: 400 }, query);
    }
    t.notMatch(JSON.stringify(await entries()), /hush/);
    t.match(await entries(), [{ entity: 'Note', record: String(id), request: /./ }]);
  });

  t.test('bulk requests store an entry for each record; a rollback stores none', async (t) => {
    class Notes extends ModelViewSet(Note, { read, write, bulk: 5, history: true }) {}
    class Failing extends ModelViewSet(Note, { read, write, history: true }) {
      override async performUpdate(...args: Parameters<InstanceType<typeof Notes>['performUpdate']>): Promise<never> {
        await super.performUpdate(...args);
        throw new ServiceUnavailable('not now');
      }
    }
    const send = await start(t, Notes, Failing);
    const made = await send('POST', '/notes', [{ title: 'A' }, { title: 'B' }]);
    const [a, b] = made.body.map(({ id }: { id: number }) => id);
    await send('PATCH', '/notes', [
      { id: b, title: 'b' },
      { id: a, title: 'a' },
    ]);
    t.match(await send('PATCH', `/notes-1/${a}`, { title: 'c' }), { status: 503 });
    t.match(await send('DELETE', `/notes?pk=${a},${b}`), { status: 204 });
    const told = (await entries()).map(({ kind, record, values, values_before }) => [
      kind,
      record,
      values['title'],
      values_before,
    ]);
    t.strictSame(told, [
      ['created', `${a}`, 'A', null],
      ['created', `${b}`, 'B', null],
      ['updated', `${b}`, 'b', { title: 'B' }],
      ['updated', `${a}`, 'a', { title: 'A' }],
      ['deleted', `${a}`, 'a', null],
      ['deleted', `${b}`, 'b', null],
    ]);
    t.match(await send('GET', `/notes/${a}/history`), { status: 404 });
  });

  t.test('a user who may not retrieve a record or a field does not see its history', async (t) => {
    class Notes extends ModelViewSet(Note, {
      read: { default: plain.extend(['salary']), brief: readShape(Note, ['id'], { name: 'title' }) },
      write: writeShape(Note, ['title', 'salary']),
      permissionClasses: [OwnedByUser],
      history: true,
    }) {
      override readShapeFor(request: FastifyRequest) {
        return request.headers['x-user'] === 'ann' ? undefined : ('brief' as const);
      }
    }
    const send = await start(t, Notes);
    const { id } = (await send('POST', '/notes', { title: 'A', salary: 5 }, 'ann')).body;
    await send('PATCH', `/notes/${id}`, { title: 'B', salary: 6 }, 'ann');
    const whole = await send('GET', `/notes/${id}/history`, undefined, 'ann');
    t.match(whole.body.results[0], { changes: { salary: { from: 5, to: 6 } }, record: { salary: 6 } });
    t.match(await send('GET', `/notes/${id}/history`, undefined, 'ben'), { status: 404 });
    const em = orm.em.fork();
    await em.nativeUpdate(Note, { id }, { owner: 'ben' });
    const brief = await send('GET', `/notes/${id}/history`, undefined, 'ben');
    t.strictSame(brief.body.results[0].record, { id, title: 'B' });
    t.strictSame(brief.body.results[0].changes, { title: { from: 'A', to: 'B' } });
    t.match(await send('GET', `/notes/${id}/history`, undefined, 'ann'), { status: 404 });
  });

  t.test('permissions and shapes that depend on the operation are evaluated as for retrieve', async (t) => {
    class RetrievedByAnn extends Permission {
      override hasPermission(request: FastifyRequest, view: PermissionView) {
        return view.getAction(request) !== 'retrieve' || request.headers['x-user'] === 'ann';
      }
    }
    class Notes extends ModelViewSet(Note, {
      read: { default: plain.extend(['salary']), brief: readShape(Note, ['id', 'title']) },
      write: writeShape(Note, ['title', 'salary']),
      permissionClasses: [RetrievedByAnn],
      history: { revert: true },
    }) {
      override readShapeFor(request: FastifyRequest) {
        return this.getAction(request) === 'retrieve' ? ('brief' as const) : undefined;
      }
    }
    const send = await start(t, Notes);
    const { id } = (await send('POST', '/notes', { title: 'A', salary: 5 }, 'ben')).body;
    const [entry] = await entries();
    t.match(await send('PATCH', `/notes/${id}`, { title: 'B', salary: 6 }, 'ben'), { status: 200 });
    t.match(await send('GET', `/notes/${id}`, undefined, 'ben'), { status: 403 });
    t.match(await send('GET', `/notes/${id}/history`, undefined, 'ben'), { status: 403 });
    t.match(await send('GET', `/notes/${id}/history`), { status: 401 });
    t.match(await send('POST', `/notes/${id}/revert`, { entry: entry!.id }, 'ben'), { status: 403 });
    const listed = await send('GET', `/notes/${id}/history`, undefined, 'ann');
    t.strictSame(listed.body.results[0].record, { id, title: 'B' });
    t.match(await send('POST', `/notes/${id}/revert`, { entry: entry!.id }, 'ann'), { status: 200 });
    t.match(await orm.em.fork().findAll(Note), [{ title: 'A', salary: 6 }], 'a field that is not seen stays');
  });

  t.test('a revert needs the token that an update needs', async (t) => {
    class Notes extends ModelViewSet(Note, { read: plain, write, history: { revert: true }, allowAnonymous: true }) {}
    await orm.schema.clear();
    const app = await testApp(t, orm, [new Router().register('notes', Notes)], {
      before: async (made) => {
        await withHistory(made);
        made.addHook('onRoute', (route) => {
          if (route.config?.viewset?.action !== 'update') return;
          route.config = { ...route.config, needsToken: true, needsTokenAt: () => true };
        });
      },
    });
    const made = await app.inject({ method: 'POST', url: '/notes', payload: { title: 'A' } });
    const { id } = made.json<{ id: number }>();
    const [entry] = await entries();
    const revert = (headers: Record<string, string>) =>
      app.inject({ method: 'POST', url: `/notes/${id}/revert`, headers, payload: { entry: entry!.id } });
    t.equal((await revert({})).statusCode, 401);
    t.equal((await revert({ 'x-user': 'ann' })).statusCode, 200);
  });

  t.test('a user who may not update a record cannot revert it', async (t) => {
    class UpdatedByAnn extends Permission {
      #isRefused(request: FastifyRequest, view: PermissionView) {
        const user = request.user as { role: { name: string } } | null;
        return view.getAction(request) === 'update' && user?.role.name !== 'ann';
      }
      override hasPermission(request: FastifyRequest, view: PermissionView) {
        return !view.name.startsWith('All') || !this.#isRefused(request, view);
      }
      override hasObjectPermission(request: FastifyRequest, view: PermissionView) {
        return !view.name.startsWith('Each') || !this.#isRefused(request, view);
      }
      override scope(request: FastifyRequest, view: PermissionView) {
        if (!view.name.startsWith('Some') || !this.#isRefused(request, view)) return undefined;
        return this.records<NoteRecord>(view, { owner: 'nobody' });
      }
    }
    const common = { read: plain, write, history: { revert: true }, permissionClasses: [UpdatedByAnn] } as const;
    class AllNotes extends ModelViewSet(Note, common) {}
    class EachNotes extends ModelViewSet(Note, common) {}
    class SomeNotes extends ModelViewSet(Note, common) {}
    for (const [View, status] of [
      [AllNotes, 403],
      [EachNotes, 403],
      [SomeNotes, 404],
    ] as const) {
      const send = await start(t, View);
      const { id } = (await send('POST', '/notes', { title: 'Tea' }, 'ann')).body;
      await send('PATCH', `/notes/${id}`, { title: 'Rum' }, 'ann');
      const { results } = (await send('GET', `/notes/${id}/history`, undefined, 'eve')).body;
      const entry = { entry: results[1].id };
      t.match(await send('PATCH', `/notes/${id}`, { title: 'Tea' }, 'eve'), { status });
      t.match(await send('POST', `/notes/${id}/revert`, entry, 'eve'), { status });
      t.match(await send('GET', `/notes/${id}`), { body: { title: 'Rum' } });
      t.match(await send('POST', `/notes/${id}/revert`, entry, 'ann'), { status: 200, body: { title: 'Tea' } });
    }
  });

  t.test('?at returns the record at that time', async (t) => {
    class Notes extends ModelViewSet(Note, {
      read: plain,
      write,
      expand: { shelf_name: 'shelf.name' },
      history: { at: true },
    }) {}
    const send = await start(t, Notes);
    const shelf = await makeShelf('North');
    const first = { title: 'A', price: 2.25, number: '7', due_at: '2026-01-02T03:04:05.678Z', labels: ['x'], shelf };
    const made = await send('POST', '/notes', first);
    const { id } = made.body;
    await send('PATCH', `/notes/${id}`, { title: 'B', shelf: null });
    await send('PATCH', `/notes/${id}`, { title: 'C' });
    const em = orm.em.fork();
    for (const [index, { id: entry }] of (await entries()).entries()) {
      await em.nativeUpdate(HistoryEntry, { id: entry }, { written_at: new Date(Date.UTC(2026, index, 10)) });
    }
    const at = (text: string, more = '') => send('GET', `/notes/${id}?at=${encodeURIComponent(text)}${more}`);
    t.strictSame((await at('2026-01-10')).body, made.body);
    t.match(await at('2026-02-11'), { body: { title: 'B', shelf: null, price: 2.25 } });
    t.match(await at('2026-02-10T01:00:00+02:00'), { body: { title: 'A', shelf } });
    t.match(await at('2999-01-01'), { body: { title: 'C' } });
    t.match(await at('2026-01-09T23:59:59.999Z'), { status: 404 });
    for (const wrong of ['yesterday', '2026-02-30', '2026-1-1', "2026-01-01'"]) {
      t.match(await at(wrong), { status: 400, body: { details: [{ in: 'query', path: '/at' }] } }, wrong);
    }
    t.strictSame((await at('2026-02-11', '&fields=title')).body, { title: 'B' });
    t.match(await at('2026-02-11', '&expand=shelf_name'), { status: 400 });
    t.match(await send('GET', `/notes/999?at=2026-02-11`), { status: 404 });
    t.match(await send('GET', `/notes?at=2026-02-11`), { status: 400 });
  });

  t.test('revert writes the values of an entry, as a PATCH would', async (t) => {
    class Notes extends ModelViewSet(Note, {
      read,
      write: { default: write, strict: writeShape(Note, ['price']) },
      validate: (_data, problems, _request, _record, { title }) => {
        if (title === 'Bad') problems.add('/title', 'is bad');
      },
      history: { revert: true },
    }) {
      override writeShapeFor(request: FastifyRequest) {
        return request.headers['x-user'] === 'ben' ? ('strict' as const) : undefined;
      }
    }
    const send = await start(t, Notes);
    const shelf = await makeShelf('North');
    const first = { title: 'A', secret: 's', price: 2.25, number: '7', day: '2026-02-03', labels: ['x'], shelf };
    const made = await send('POST', '/notes', first);
    const { id } = made.body;
    await send('PATCH', `/notes/${id}`, { title: 'B', secret: 't', shelf: null, number: null, labels: [], price: 3 });
    const [created, changed] = await entries();
    const revert = (entry: string, user?: string) => send('POST', `/notes/${id}/revert`, { entry }, user);
    t.match(await revert(created!.id, 'ben'), { status: 200, body: { title: 'B', price: 2.25 } });
    const reverted = await revert(created!.id);
    t.strictSame([reverted.status, reverted.body], [200, made.body]);
    const [note] = await orm.em.fork().findAll(Note);
    t.equal(note!.secret, 't', 'what the history does not keep stays');
    const listed = (await send('GET', `/notes/${id}/history`)).body;
    t.match(listed, { count: 4, results: [{ kind: 'updated', changes: { title: { from: 'B', to: 'A' } } }] });
    // Another record has taken the value, a rule refuses it, and the related record is gone.
    const other = (await send('POST', '/notes', { title: 'B' })).body.id;
    const taken = await revert(changed!.id);
    t.match(taken, { status: 409, body: { code: 'conflict' } });
    t.strictSame(taken.body.details, [{ in: 'body', path: '/title', message: 'is taken' }]);
    await orm.em.fork().nativeUpdate(HistoryEntry, { id: changed!.id }, { values: { title: 'Bad' } });
    t.match(await revert(changed!.id), { status: 400, body: { details: [{ path: '/title', message: 'is bad' }] } });
    await orm.em.fork().nativeUpdate(Note, { id }, { shelf: null });
    await orm.em.fork().nativeDelete(Shelf, { id: shelf });
    t.match(await revert(created!.id), { status: 400, body: { details: [{ path: '/shelf' }] } });
    // An entry of another record is none of this one.
    t.match(await send('POST', `/notes/${other}/revert`, { entry: created!.id }), { status: 404 });
    t.match(await revert('none'), { status: 404 });
    t.match(await send('POST', `/notes/${id}/revert`, {}), { status: 400 });
    t.match(await send('POST', `/notes/${id}/revert`), { status: 400 });
    t.match(await send('POST', `/notes/999/revert`, { entry: created!.id }), { status: 404 });
  });

  t.test('a record that is deleted softly and restored keeps its history', async (t) => {
    class Notes extends ModelViewSet(Note, {
      read: plain,
      write,
      softDelete: { property: 'deleted_at', visibleTo: [AllowAny] },
      history: { at: true },
    }) {}
    const send = await start(t, Notes);
    const { id } = (await send('POST', '/notes', { title: 'A' })).body;
    await send('DELETE', `/notes/${id}`);
    t.match(await send('GET', `/notes/${id}/history`), { status: 404 });
    t.match(await send('GET', `/notes/${id}?at=2999-01-01`), { status: 404 });
    t.match(await send('POST', `/notes/${id}/restore`), { status: 200 });
    const { body } = await send('GET', `/notes/${id}/history`);
    t.strictSame(
      body.results.map(({ kind }: { kind: string }) => kind),
      ['updated', 'deleted', 'created'],
    );
    const em = orm.em.fork();
    for (const [index, { id: entry }] of (await entries()).entries()) {
      await em.nativeUpdate(HistoryEntry, { id: entry }, { written_at: new Date(Date.UTC(2026, index, 10)) });
    }
    t.match(await send('GET', `/notes/${id}?at=2026-01-11`), { status: 200 });
    t.match(await send('GET', `/notes/${id}?at=2026-02-11`), { status: 404 });
    t.match(await send('GET', `/notes/${id}?at=2026-03-11`), { status: 200 });
    for (const wrong of ['2026-01-01', 30, new Date('never'), null]) {
      const message = `pruneHistory(): "before" must be a valid Date, got ${String(wrong)}`;
      await t.rejects(pruneHistory(orm.em.fork(), wrong as Date), { name: 'TypeError', message });
    }
    t.equal((await entries()).length, 3, 'a wrong value deletes nothing');
    t.equal(await pruneHistory(orm.em.fork(), new Date(Date.UTC(2026, 1, 11))), 2);
    t.match(await send('GET', `/notes/${id}?at=2026-01-11`), { status: 404 });
  });
});

t.test('declarations that cannot be are refused at start', async (t) => {
  const orm = await openSqlite(t, { entities: [Shelf, Note, HistoryEntry] });
  class Unkept extends ModelViewSet(Note, { read, write, history: true }) {}
  t.match(await errorAtStart(t, orm, Unkept), 'Unkept: option "history" needs a plugin that keeps it');
  const without = await openSqlite(t, { entities: [Shelf, Note] });
  await t.rejects(
    testApp(t, without, [], { before: withHistory }),
    /history: the ORM needs the entity HistoryEntry of @viewset\/history/,
  );
  await t.rejects(
    testApp(t, orm, [], {
      before: async (app) => {
        await app.register(history, { ttl: 1 } as object);
      },
    }),
    /history: unknown option "ttl"/,
  );
  const related = readShape(Note, ['id', 'title'], { shelf_name: 'shelf.name' });
  const ofShelf = { read: readShape(Shelf, ['id'], { notes: many('notes.id') }), write: writeShape(Shelf, ['name']) };
  class Named extends ModelViewSet(Note, { read, history: true }) {
    history = action({}, () => ({}));
  }
  await t.rejects(testApp(t, orm, [new Router().register('notes', Named)], { before: withHistory }), {
    message: /Named: its options make an action "history", and the view has another action of this name; rename it/,
  });
  const faults: (readonly [new () => ViewSet, string])[] = [
    [
      class V extends ModelViewSet(Note, { read: related, history: { at: true } }) {},
      'the read shape of retrieve also has "shelf_name"; remove these fields from it, or let clients add them with "expand"',
    ],
    [
      class V extends ModelViewSet(Shelf, { ...ofShelf, history: { at: true } }) {},
      'the read shape of retrieve also has "notes"; remove',
    ],
    [
      class V extends ModelViewSet(Shelf, { ...ofShelf, history: { revert: true } }) {},
      'with "revert" has nothing to write',
    ],
    [class V extends ModelViewSet(Note, { read, history: { revert: true } }) {}, 'needs the operation "update"'],
    [
      class V extends ModelViewSet(Note, { read, operations: ['list'], history: true }) {},
      'needs the operation "retrieve"',
    ],
    [
      class V extends ModelViewSet(Note, { read, history: true }) {
        override represent(...args: [NoteRecord]) {
          return super.represent(...args);
        }
      },
      'would show what the override of represent() may hide; restrict records in getQueryset()',
    ],
    [
      class V extends ModelViewSet(Note, { read, write, history: true }) {
        override async destroy() {}
      },
      'the view has "history", but destroy does not call super.destroy(), so its writes would be missed',
    ],
    [
      class V extends ModelViewSet(Note, { read, history: { att: true } as object }) {},
      'V.history: unknown option "att"; did you mean "at"?',
    ],
  ];
  const withOptions = async (app: FastifyInstance): Promise<void> => {
    await app.register(history, { at: true } as object);
  };
  await t.rejects(testApp(t, orm, [], { before: withOptions }), {
    message: 'history: unknown option "at"; it has no options',
  });
  for (const [View, message] of faults) {
    await t.rejects(testApp(t, orm, [new Router().register('notes', View)], { before: withHistory }), {
      name: 'ImproperlyConfigured',
      message: new RegExp(message.replaceAll(/[()?]/g, String.raw`\$&`)),
    });
  }
});
