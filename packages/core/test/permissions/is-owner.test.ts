/** Records that belong to the user who has created them: `IsOwner`. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import {
  action,
  AllowAny,
  IsOwner,
  IsRoleAdminUser,
  IsSafeMethodOnly,
  ModelViewSet,
  nested,
  type PermissionClass,
  readShape,
  refs,
  Router,
  type UserPermissionClass,
  ViewSet,
  writeShape,
} from '../../src/index.ts';
import { forEachDatabase, openSqlite } from '../support/databases.ts';
import { errorAtStart, testApp } from '../support/library.ts';

const User = defineEntity({
  name: 'User',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    notes: () => p.oneToMany(Note).mappedBy('owner'),
  },
});

const Line = defineEntity({
  name: 'Line',
  properties: { id: p.integer().primary(), text: p.string(), note: () => p.manyToOne(Note).deleteRule('cascade') },
});

const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary(),
    title: p.string(),
    owner: () => p.manyToOne(User),
    writer: p.string().nullable(),
    lines: () => p.oneToMany(Line).mappedBy('note'),
    links: () => p.manyToMany(Note),
  },
});

const read = readShape(Note, ['id', 'title', 'owner']);
const write = writeShape(Note, ['title', 'owner'], {
  lines: nested(writeShape(Line, ['text']), { update: true }),
  links: refs('links'),
});

class NoteViewSet extends ModelViewSet(Note, {
  read,
  write,
  bulk: 5,
  permissionClasses: [IsOwner('owner').or(IsRoleAdminUser)],
}) {
  publish = action({ detail: true, methods: ['post'] }, async () => ({ done: true }));
  look = action({ detail: true }, async () => ({ done: true }));
}

class CustomViewSet extends ModelViewSet(Note, {
  read,
  write,
  permissionClasses: [IsOwner('owner', { scope: true })],
  referencePermissions: { links: [IsOwner('owner')] },
}) {}

class WrittenViewSet extends ModelViewSet(Note, {
  read: readShape(Note, ['id', 'writer']),
  write: writeShape(Note, ['title']),
  fill: { owner: () => 1 },
  permissionClasses: [IsSafeMethodOnly.or(IsOwner('writer'))],
}) {}

class OpenViewSet extends ModelViewSet(Note, {
  read,
  write,
  permissionClasses: [AllowAny.or(IsOwner('owner'))],
}) {}

class UserViewSet extends ModelViewSet(User, { read: readShape(User, ['id', 'name']) }) {}

class LineViewSet extends ModelViewSet(Line, { read: readShape(Line, ['text']), write: writeShape(Line, ['text']) }) {}

forEachDatabase(t, { entities: [User, Note, Line] }, async (t, orm) => {
  const router = new Router()
    .register('notes', NoteViewSet)
    .register('notes/:note/lines', LineViewSet)
    .register('own', CustomViewSet)
    .register('written', WrittenViewSet)
    .register('open', OpenViewSet)
    .register('users', UserViewSet)
    .register('users/:owner/notes', NoteViewSet);
  const app = await testApp(t, orm, [router], {
    before: (instance) => {
      // By their ids as texts, as tokens have them.
      instance.addHook('onRequest', async (request) => {
        const { user } = request.headers;
        if (typeof user !== 'string') return;
        request.user = { id: user, role: { name: user === '3' ? 'admin' : 'member' } };
      });
    },
  });
  const send = async (
    method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE',
    url: string,
    user?: string,
    payload?: object,
  ) => {
    const headers = user === undefined ? {} : { user };
    const response = await app.inject({ method, url, headers, ...(payload !== undefined && { payload }) });
    return [response.statusCode, response.body === '' ? undefined : response.json<Record<string, unknown>>()] as const;
  };
  const statusOf = async (...call: Parameters<typeof send>): Promise<number> => (await send(...call))[0];
  t.beforeEach(async () => {
    await orm.schema.clear();
    const em = orm.em.fork();
    for (const id of [1, 2, 3]) em.create(User, { id, name: `user ${id}` });
    await em.flush();
    em.create(Note, { id: 1001, title: 'of one', owner: 1, writer: '1', lines: [{ id: 1001, text: 'first' }] });
    em.create(Note, { id: 1002, title: 'of two', owner: 2, writer: '2' });
    await em.flush();
  });

  t.test('a new record belongs to its creator, with any owner in the body', async (t) => {
    const [status, note] = await send('POST', '/notes', '2', { title: 'new', owner: 1 });
    t.strictSame([status, note?.['owner']], [201, 2]);
    t.equal(await statusOf('POST', '/notes', undefined, { title: 'new' }), 401);
    t.equal(await statusOf('POST', '/notes', '9', { title: 'of a user who is gone' }), 409);
    t.equal(await statusOf('POST', '/notes', 'no number', { title: 'new' }), 403);
    const [bulk, notes] = await send('POST', '/notes', '1', [{ title: 'a', owner: 2 }, { title: 'b' }]);
    t.equal(bulk, 201);
    t.match(notes, [{ owner: 1 }, { owner: 1 }]);
    const [asAdmin, own] = await send('POST', '/notes', '3', { title: 'new', owner: 1 });
    t.strictSame([asAdmin, own?.['owner']], [201, 3]);
  });

  t.test('everybody reads, the owner writes', async (t) => {
    t.equal(await statusOf('GET', '/notes/1001'), 200);
    t.equal(await statusOf('GET', '/notes/1001/look', '2'), 200);
    t.match(await send('GET', '/notes'), [200, { count: 2 }]);
    for (const method of ['PATCH', 'PUT'] as const) {
      t.equal(await statusOf(method, '/notes/1001', undefined, { title: 'x' }), 401);
      t.equal(await statusOf(method, '/notes/1001', '2', { title: 'x' }), 403);
      t.match(await send(method, '/notes/1001', '1', { title: method, owner: 2 }), [200, { title: method, owner: 1 }]);
      t.match(
        await send(method, '/notes/1001', '3', { title: 'x', owner: 3 }),
        [200, { owner: 1 }],
        'an administrator',
      );
    }
    t.equal(await statusOf('POST', '/notes/1001/publish', '2'), 403);
    t.equal(await statusOf('POST', '/notes/1001/publish', '1'), 200);
    t.equal(await statusOf('DELETE', '/notes/1001', '2'), 403);
    t.equal(await statusOf('DELETE', '/notes/1001', '1'), 204);
  });

  t.test('children and bulk requests', async (t) => {
    t.equal(await statusOf('PATCH', '/notes/1001', '2', { lines: [] }), 403);
    t.equal(await statusOf('PATCH', '/notes/1001', '1', { lines: [{ text: 'one' }, { text: 'two' }] }), 200);
    t.equal(
      await statusOf('PATCH', '/notes', '1', [
        { id: 1001, title: 'x' },
        { id: 1002, title: 'x' },
      ]),
      403,
    );
    t.equal(await statusOf('PATCH', '/notes', '1', [{ id: 1001, title: 'y', owner: 2 }]), 200);
    t.equal(await statusOf('DELETE', '/notes?pk=1001,1002', '2'), 403);
    t.match(await send('GET', '/notes/1001'), [200, { title: 'y', owner: 1 }]);
    t.equal(
      await statusOf('POST', '/notes/1001/lines', '2', { text: 'a comment' }),
      201,
      'the view of the lines decides',
    );
  });

  t.test('a path parameter cannot create or show a record of another user', async (t) => {
    t.match(await send('GET', '/users/1/notes', '2'), [200, { count: 1 }]);
    t.equal(await statusOf('POST', '/users/1/notes', '2', { title: 'new' }), 403);
    t.match(await send('POST', '/users/2/notes', '2', { title: 'new' }), [201, { owner: 2 }]);
  });

  t.test('with scope: true records of other users return 404', async (t) => {
    t.equal(await statusOf('GET', '/own'), 401);
    t.match(await send('GET', '/own', '2'), [200, { count: 1, results: [{ id: 1002 }] }]);
    t.equal(await statusOf('GET', '/own/1001', '2'), 404);
    t.equal(await statusOf('PATCH', '/own/1001', '2', { title: 'x' }), 404);
    t.match(await send('PATCH', '/own/1002', '2', { title: 'x', owner: 1 }), [200, { owner: 2 }]);
    t.match(await send('POST', '/own', '2', { title: 'new', owner: 1 }), [201, { owner: 2 }]);
    t.match(await send('GET', '/own', 'no number'), [200, { count: 0 }]);
    t.equal(await statusOf('POST', '/own', '1', { title: 'new', links: [1001] }), 201);
    t.equal(await statusOf('POST', '/own', '1', { title: 'new', links: [1002] }), 400, 'what a body may refer to');
  });

  t.test('a column holds the id', async (t) => {
    const [, note] = await send('POST', '/written', '2', { title: 'new' });
    t.match(note, { writer: '2' });
    t.equal(await statusOf('PATCH', `/written/${String(note?.['id'])}`, '1', { title: 'x' }), 403);
    t.equal(await statusOf('PATCH', `/written/${String(note?.['id'])}`, '2', { title: 'x' }), 200);
    await orm.em.fork().nativeUpdate(Note, { id: 1001 }, { writer: null });
    t.equal(await statusOf('PATCH', '/written/1001', 'null', { title: 'x' }), 403, 'a user of that name owns nothing');
  });

  t.test('an anonymous user cannot create a record', async (t) => {
    t.equal(await statusOf('POST', '/open', undefined, { title: 'new' }), 401);
    t.equal(await statusOf('PATCH', '/open/1001', undefined, { title: 'x' }), 200);
  });
});

t.test('declarations that do not fit', async (t) => {
  const orm = await openSqlite(t, { entities: [User, Note, Line] });
  const problemOf = (permission: PermissionClass): Promise<string | undefined> =>
    errorAtStart(t, orm, ModelViewSet(Note, { read, write, permissionClasses: [permission] }));
  t.match(await problemOf(IsOwner('onwer')), /did you mean "owner"/);
  t.match(await problemOf(IsOwner('owner.id')), /IsOwner\('owner.id'\) has to name a column of Note itself/);
  t.match(
    await problemOf(IsOwner('links')),
    /IsOwner\('links'\) has to name a column of Note itself, or a relation to one/,
  );
  t.match(
    await problemOf(IsOwner('owner').not()),
    /\(not IsOwner\(owner\)\) would set "owner" of new records to a user whom it refuses/,
  );
  t.match(await problemOf(IsOwner('owner').and(IsRoleAdminUser).not()), /would set "owner"/);
  class PlainViewSet extends ViewSet {
    override permissionClasses = [IsOwner('owner')];
    all = action({}, async () => []);
  }
  t.match(await errorAtStart(t, orm, PlainViewSet), /IsOwner\('owner'\) stands at a view of no entity/);
  t.throws(() => IsOwner(''), /IsOwner\(\): option "field" must be the name of a field/);
  t.throws(() => IsOwner('owner', { scpoe: true } as never), /did you mean "scope"/);
});

t.test('IsOwner with scope: true requires a login, and its type says so', async (t) => {
  const alone: UserPermissionClass = IsOwner('owner', { scope: true });
  // @ts-expect-error -- everybody reads
  const open: UserPermissionClass = IsOwner('owner');
  t.equal(alone.name, open.name);
});
