/** The document of a view whose lists can be followed. */
import { defineEntity, p } from '@mikro-orm/core';
import { liveFeature, ModelViewSet, readShape, Router, writeShape } from '@viewset/core';
import t from 'tap';
import { openSqlite } from '../../core/test/support/databases.ts';
import { documentOf, startApp } from './support/app.ts';
import { isValidDocument } from './support/valid-document.ts';

const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary(), title: p.string().length(20) },
});
const declared = { read: readShape(Note, ['id', 'title']), write: writeShape(Note, ['title']) };
class Notes extends ModelViewSet(Note, { ...declared, live: true }) {}
class Others extends ModelViewSet(Note, { ...declared, live: 'writes' }) {}

t.test('a live list is JSON for generated clients, and documents that it can be a stream', async (t) => {
  const orm = await openSqlite(t, { entities: [Note] });
  const router = new Router({ prefix: 'api' }).register('notes', Notes).register('others', Others);
  const app = await startApp(t, orm, (made) => {
    made.viewset.addFeature(liveFeature({ listener: async () => {}, send: async (_request, reply) => reply.send('') }));
    void made.register(router.plugin);
  });
  const document = await documentOf(app);
  await isValidDocument(t, document);
  const listAt = (path: string) => {
    const operation = document.paths[path]!.get! as never as {
      readonly responses: Readonly<Record<string, { readonly content: object; readonly description: string }>>;
      readonly 'x-viewset': { readonly live?: boolean };
    };
    const { content, description } = operation.responses['200']!;
    return { types: Object.keys(content), description, live: operation['x-viewset'].live };
  };
  t.match(listAt('/api/notes'), { types: ['application/json'], description: /text\/event-stream/, live: true });
  t.match(listAt('/api/others'), { types: ['application/json'], description: /^[^/]*$/, live: undefined });
});
