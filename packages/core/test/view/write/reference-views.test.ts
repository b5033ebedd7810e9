/** The option `referenceViews`: nobody refers to a record that a view of it would not show them. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import {
  getCurrentUser,
  IsAuthenticated,
  ModelViewSet,
  nested,
  Permission,
  type PermissionView,
  readShape,
  refs,
  Router,
  ViewSet,
  writeShape,
} from '../../../src/index.ts';
import { recordQueries } from '../../query/record-queries.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Folder = defineEntity({
  name: 'Folder',
  filters: { open: { name: 'open', cond: { closed: false }, default: true } },
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20).unique(),
    owner: p.string().length(20),
    closed: p.boolean().default(false),
    parent: () => p.manyToOne(Folder).nullable(),
    notes: () => p.oneToMany(Note).mappedBy('folder'),
  },
});
const Tag = defineEntity({
  name: 'Tag',
  properties: { id: p.integer().primary(), label: p.string().length(20).unique(), secret: p.boolean().default(false) },
});
const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary(),
    text: p.string().length(20),
    folder: () => p.manyToOne(Folder).nullable(),
    tags: () => p.manyToMany(Tag),
  },
});
type FolderRecord = InferEntity<typeof Folder>;

const nameOf = (request: FastifyRequest) => getCurrentUser(request)?.role?.name ?? '';

class IsProjectOwner extends Permission {
  override scope(request: FastifyRequest, view: PermissionView) {
    return this.records<FolderRecord>(view, { owner: nameOf(request) });
  }
}
class NotLocked extends Permission {
  override hasObjectPermission(_request: FastifyRequest, _view: PermissionView, folder: object) {
    return !(folder as FolderRecord).name.startsWith('locked');
  }
}
const asked: (readonly [string, string, unknown])[] = [];
class FolderViewSet extends ModelViewSet(Folder, {
  read: readShape(Folder, ['id', 'name']),
  write: writeShape(Folder, ['name', 'owner'], { parent: 'parent.name' }),
  permissionClasses: [IsAuthenticated, IsProjectOwner, NotLocked],
  referenceViews: { parent: 'self' },
}) {
  override getQueryset(request: FastifyRequest) {
    asked.push([request.method, this.getAction(request), request.body]);
    return super.getQueryset(request).filter({ name__ne: 'unlisted' });
  }
}
class AnyFolderViewSet extends ModelViewSet(Folder, { read: readShape(Folder, ['id']) }) {
  override getQueryset(request: FastifyRequest) {
    return super.getQueryset(request).withFilters({ open: false });
  }
}
class TagViewSet extends ModelViewSet(Tag, { read: readShape(Tag, ['id']) }) {
  override getQueryset(request: FastifyRequest) {
    return super.getQueryset(request).filter({ secret: false });
  }
}

const read = readShape(Note, ['id', 'text']);
const tagged = { tags: refs('tags.label') };
class NoteViewSet extends ModelViewSet(Note, {
  read,
  write: writeShape(Note, ['text', 'folder'], tagged),
  referenceViews: { folder: FolderViewSet, tags: TagViewSet },
  bulk: 5,
}) {}
class NamedNoteViewSet extends ModelViewSet(Note, {
  read,
  write: writeShape(Note, ['text'], { folder: 'folder.name' }),
  referenceViews: { folder: FolderViewSet },
}) {}
class ClosedNoteViewSet extends ModelViewSet(Note, {
  read,
  write: writeShape(Note, ['text', 'folder']),
  referenceViews: { folder: AnyFolderViewSet },
  referencePermissions: { folder: [IsProjectOwner] },
}) {}
class FullFolderViewSet extends ModelViewSet(Folder, {
  read: readShape(Folder, ['id', 'name']),
  write: writeShape(Folder, ['name', 'owner'], { notes: nested(writeShape(Note, ['text'], tagged), { update: true }) }),
  referenceViews: { 'notes.tags': TagViewSet },
}) {}

forEachDatabase(t, { entities: [Folder, Tag, Note] }, async (t, orm) => {
  // The views that are named come last, and in another router.
  const app = await testApp(t, orm, [
    new Router()
      .register('notes', NoteViewSet)
      .register('named', NamedNoteViewSet)
      .register('closed', ClosedNoteViewSet)
      .register('whole', FullFolderViewSet) as Router,
    new Router({ prefix: 'api' })
      .register('folders', FolderViewSet)
      .register('any', AnyFolderViewSet)
      .register('tags', TagViewSet) as Router,
  ]);
  await orm.em.fork().insertMany(Folder, [
    { id: 201, owner: 'Ada', name: 'hers' },
    { id: 202, owner: 'Bob', name: 'his' },
    { id: 203, owner: 'Ada', name: 'unlisted' },
    { id: 204, owner: 'Ada', name: 'locked' },
    { id: 205, owner: 'Ada', name: 'closed', closed: true },
    { id: 206, owner: 'Bob', name: 'closed too', closed: true },
  ]);
  await orm.em.fork().insertMany(Tag, [
    { id: 201, label: 'red' },
    { id: 202, label: 'blue' },
    { id: 203, label: 'secret', secret: true },
  ]);
  await orm.em.fork().insert(Note, { id: 101, text: 'a' });
  const send = async (method: 'POST' | 'PATCH' | 'PUT', url: string, payload: object, user: string | null = 'Ada') => {
    const answer = await app.inject({ method, url, payload, ...(user !== null && { headers: { 'x-user': user } }) });
    return { status: answer.statusCode, body: answer.json() };
  };

  t.test('a reference to one record: hidden records are treated as missing', async (t) => {
    for (const [path, hidden, hers, unknown] of [
      ['/notes', [202, 203, 204, 205], 201, 99],
      ['/named', ['his', 'unlisted', 'locked', 'closed'], 'hers', 'nowhere'],
    ] as const) {
      for (const [method, url] of [
        ['POST', path],
        ['PUT', `${path}/101`],
        ['PATCH', `${path}/101`],
      ] as const) {
        const absent = await send(method, url, { text: 'b', folder: unknown });
        t.equal(absent.status, 400);
        t.equal(absent.body.details[0].path, '/folder');
        for (const folder of hidden) t.same(await send(method, url, { text: 'b', folder }), absent, `${folder}`);
        t.same(await send(method, url, { text: 'b', folder: hers }, null), absent, 'the view lets nobody in');
        t.ok((await send(method, url, { text: 'b', folder: hers })).status < 300);
        t.ok((await send(method, url, { text: 'b', folder: null })).status < 300);
      }
    }
  });

  t.test('the view is checked like a GET of the records', async (t) => {
    asked.length = 0;
    await send('POST', '/notes', { text: 'b', folder: 201 });
    t.strictSame(asked, [['GET', 'retrieve', undefined]]);
  });

  t.test('the filters that the view names apply, together with permissions', async (t) => {
    t.equal((await send('POST', '/closed', { text: 'b', folder: 205 })).status, 201);
    t.equal((await send('POST', '/closed', { text: 'b', folder: 206 })).status, 400);
    t.equal((await send('POST', '/closed', { text: 'b', folder: 202 })).status, 400);
  });

  t.test('a view may name itself', async (t) => {
    const made = await send('POST', '/api/folders', { name: 'inner', owner: 'Ada', parent: 'hers' });
    t.equal(made.status, 201, JSON.stringify(made.body));
    const refused = await send('PATCH', `/api/folders/${made.body.id}`, { parent: 'his' });
    t.same([refused.status, refused.body.details[0].path], [400, '/parent']);
    await orm.em.fork().nativeDelete(Folder, made.body.id);
  });

  t.test('lists of references and references of children, in one statement', async (t) => {
    const places = ({ status, body }: Awaited<ReturnType<typeof send>>) => [
      status,
      ...(body.details ?? []).map(({ path }: { path: string }) => path).toSorted(),
    ];
    t.same(places(await send('POST', '/notes', { text: 'b', tags: ['red', 'secret', 'none'] })), [
      400,
      '/tags/1',
      '/tags/2',
    ]);
    t.same(
      places(
        await send('POST', '/notes', [
          { text: 'b', tags: ['red'] },
          { text: 'c', folder: 202, tags: ['secret'] },
        ]),
      ),
      [400, '/1/folder', '/1/tags/0'],
    );
    const queries = recordQueries(orm);
    const made = await send('POST', '/notes', [
      { text: 'b', folder: 201, tags: ['red', 'blue'] },
      { text: 'c', folder: 201, tags: ['blue'] },
    ]);
    queries.stop();
    t.equal(made.status, 201, JSON.stringify(made.body));
    for (const table of ['tag', 'folder']) {
      t.equal(queries.readsOf(table).length, 1);
    }
    const notes = [
      { text: 'x', tags: ['red'] },
      { text: 'y', tags: ['blue', 'secret'] },
    ];
    t.same(places(await send('POST', '/whole', { name: 'w', owner: 'Ada', notes })), [400, '/notes/1/tags/1']);
    const whole = await send('POST', '/whole', { name: 'w', owner: 'Ada', notes: notes.slice(0, 1) });
    t.equal(whole.status, 201);
    t.same(places(await send('PATCH', `/whole/${whole.body.id}`, { notes })), [400, '/notes/1/tags/1']);
  });

  t.test('mistakes of a programmer are found at start', async (t) => {
    const starts = (View: new () => object, more: readonly [string, new () => object][], message: RegExp) => {
      const router = new Router().register('notes', View as never);
      for (const [path, Other] of more) router.register(path, Other as never);
      return t.rejects(testApp(t, orm, [router]), { name: 'ImproperlyConfigured', message });
    };
    const write = writeShape(Note, ['text', 'folder']);
    const prefixErrors = (folder: unknown) =>
      class Naming extends ModelViewSet(Note, { read, write, referenceViews: { folder } as never }) {};
    class Own extends ModelViewSet(Folder, { read: readShape(Folder, ['id']) }) {
      override getObject(): never {
        throw new Error('not asked');
      }
    }
    const Folders = class Folders extends ModelViewSet(Folder, { read: readShape(Folder, ['id']) }) {};
    await starts(prefixErrors(FolderViewSet), [], /names FolderViewSet for "folder", which is not registered/);
    await starts(
      prefixErrors(TagViewSet),
      [['tags', TagViewSet]],
      /whose records are of Tag, and those of the field of Folder/,
    );
    await starts(prefixErrors(Own), [['own', Own]], /names Own for "folder", which overrides getObject/);
    await starts(prefixErrors('folders'), [], /"folder" must be a view class, or "self"/);
    await starts(prefixErrors(class extends ViewSet {}), [], /which is not registered/);
    await starts(
      prefixErrors(Folders),
      [
        ['any', AnyFolderViewSet],
        ['any/:parent/folders', Folders],
      ],
      /registered below other records alone/,
    );
    await starts(
      class extends ModelViewSet(Note, { read, write, referenceViews: { foldre: Folders } as never }) {},
      [],
      /"referenceViews" names "foldre", which is no reference of the write shape; it has: folder/,
    );
  });
});
