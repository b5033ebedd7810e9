/** The document of a view that shows deleted records: a list of them, and an action that restores one. */
import { defineEntity, p } from '@mikro-orm/core';
import { IsAuthenticated, IsRoleAdminUser, ModelViewSet, readShape, Router, writeShape } from '@viewset/core';
import t from 'tap';
import { openSqlite } from '../../core/test/support/databases.ts';
import { documentOf, startApp } from './support/app.ts';
import { isValidDocument } from './support/valid-document.ts';

const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary(), title: p.string().length(20), deleted_at: p.datetime().nullable() },
});
const declared = {
  read: readShape(Note, ['id', 'title']),
  write: writeShape(Note, ['title']),
  searchFields: ['title'],
  permissionClasses: [IsAuthenticated],
} as const;
class Notes extends ModelViewSet(Note, {
  ...declared,
  softDelete: { property: 'deleted_at', visibleTo: [IsRoleAdminUser] },
}) {}
class Hidden extends ModelViewSet(Note, { ...declared, softDelete: 'deleted_at' }) {}

t.test('the document has the actions of a view with visibleTo', async (t) => {
  const orm = await openSqlite(t, { entities: [Note] });
  const router = new Router({ prefix: 'api' }).register('notes', Notes).register('hidden', Hidden);
  const app = await startApp(t, orm, (made) => void made.register(router.plugin));
  const document = await documentOf(app);
  await isValidDocument(t, document);
  const restore = document.paths['/api/notes/{pk}/restore']!.post!;
  t.match(restore, { operationId: 'restoreNote', 'x-viewset': { action: 'restore' } });
  t.strictSame(
    Object.keys(restore.responses).filter((status) => /20|40[134]|409/.test(status)),
    ['200', '401', '403', '404', '409'],
  );
  const deleted = document.paths['/api/notes/deleted']!.get!;
  t.match(deleted, { operationId: 'deletedNotes', 'x-viewset': { action: 'deleted' } });
  const listed = document.paths['/api/notes']!.get!;
  t.strictSame(deleted.parameters, listed.parameters);
  const schemaOf = ({ responses }: typeof listed): unknown =>
    (responses as never as Record<string, { content: unknown }>)['200']!.content;
  t.strictSame(schemaOf(deleted), schemaOf(listed));
  t.strictSame(
    Object.keys(document.paths).filter((path) => path.startsWith('/api/hidden')),
    ['/api/hidden', '/api/hidden/{pk}'],
  );
});
