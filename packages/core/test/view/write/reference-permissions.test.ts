import { defineEntity, p, type InferEntity } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import {
  getCurrentUser,
  IsAuthenticated,
  ModelViewSet,
  Permission,
  type PermissionView,
  readShape,
  Router,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Folder = defineEntity({
  name: 'Folder',
  properties: { id: p.integer().primary(), owner: p.string().length(20), name: p.string().length(20).unique() },
});
const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary(), text: p.string().length(20), folder: () => p.manyToOne(Folder).nullable() },
});
type FolderRecord = InferEntity<typeof Folder>;

const nameOf = (request: FastifyRequest) => getCurrentUser(request)?.role?.name ?? '';

class UserFolders extends Permission {
  override scope(request: FastifyRequest, view: PermissionView) {
    return this.records<FolderRecord>(view, { owner: nameOf(request) });
  }
}
class UserFoldersOnly extends Permission {
  override hasObjectPermission(request: FastifyRequest, _view: PermissionView, folder: object) {
    return (folder as FolderRecord).owner === nameOf(request);
  }
}

const read = readShape(Note, ['id', 'text'], { folder: 'folder.name' });

forEachDatabase(t, { entities: [Folder, Note] }, async (t, orm) => {
  await orm.em.fork().insertMany(Folder, [
    { id: 1, owner: 'Ada', name: 'Hers' },
    { id: 2, owner: 'Bob', name: 'His' },
  ]);
  await orm.em.fork().insert(Note, { id: 101, text: 'a' });

  for (const [write, hers, his, unknown] of [
    [writeShape(Note, ['text', 'folder']), 1, 2, 99],
    [writeShape(Note, ['text'], { folder: 'folder.name' }), 'Hers', 'His', 'Nowhere'],
  ] as const) {
    for (const Class of [UserFolders, UserFoldersOnly, UserFolders.and(IsAuthenticated)]) {
      t.test(`a reference by a ${typeof hers} to a record that ${Class.name} hides is rejected`, async (t) => {
        class NoteViewSet extends ModelViewSet(Note, {
          read,
          write: write as never,
          referencePermissions: { folder: [Class] },
        }) {}
        const app = await testApp(t, orm, [new Router().register('notes', NoteViewSet)]);
        const headers = { 'x-user': 'Ada' };
        for (const [method, url] of [
          ['POST', '/notes'],
          ['PUT', '/notes/101'],
          ['PATCH', '/notes/101'],
        ] as const) {
          const payload = { text: 'b', folder: his };
          const hidden = await app.inject({ method, url, headers, payload });
          t.equal(hidden.statusCode, 400, hidden.body);
          const absent = await app.inject({ method, url, headers, payload: { text: 'b', folder: unknown } });
          t.same(hidden.json(), absent.json(), 'it is as if it were not there');
          t.equal(hidden.json().details[0].path, '/folder');
          const own = await app.inject({ method, url, headers, payload: { text: 'b', folder: hers } });
          t.ok(own.statusCode < 300, own.body);
          t.match(own.json(), { folder: 'Hers' });
          t.ok((await app.inject({ method, url, headers, payload: { text: 'c', folder: null } })).statusCode < 300);
        }
        t.equal(
          (await app.inject({ method: 'POST', url: '/notes', payload: { text: 'b', folder: hers } })).statusCode,
          400,
        );
      });
    }
  }

  t.test('a field that is not a reference fails at start', async (t) => {
    class Wrong extends ModelViewSet(Note, {
      read,
      write: writeShape(Note, ['text', 'folder']),
      referencePermissions: { foldre: [UserFolders] } as never,
    }) {}
    await t.rejects(testApp(t, orm, [new Router().register('notes', Wrong)]), {
      name: 'ImproperlyConfigured',
      message: /"referencePermissions" names "foldre".*it has: folder/,
    });
    class None extends ModelViewSet(Note, {
      read,
      write: writeShape(Note, ['text', 'folder']),
      referencePermissions: { folder: ['x'] } as never,
    }) {}
    await t.rejects(testApp(t, orm, [new Router().register('notes', None)]), { name: 'ImproperlyConfigured' });
  });
});
