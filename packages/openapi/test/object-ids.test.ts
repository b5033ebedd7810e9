/** Keys that MongoDB makes, in documents: texts with a pattern. */
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { NOTES, notesRouter } from '../../core/test/support/notes.ts';
import { documentOf, resolve, startApp } from './support/app.ts';
import { isValidDocument } from './support/valid-document.ts';

const KEY = { type: 'string', pattern: '^[0-9a-f]{24}$' };

forEachDatabase(t, { entities: NOTES, only: ['mongodb'] }, async (t, orm) => {
  const app = await startApp(t, orm, async (made) => {
    await made.register(notesRouter().plugin);
  });
  const document = await documentOf(app);
  await isValidDocument(t, document);
  const parametersOf = (path: string, method: string): Record<string, unknown> => {
    const parameters = document.paths[path]![method]!.parameters.map((each) => resolve(document, each));
    return Object.fromEntries(parameters.map(({ name, schema }) => [String(name), schema]));
  };
  const { schemas } = document.components as { schemas: Record<string, { properties: Record<string, object> }> };

  t.test('the parameters of paths', async (t) => {
    t.match(parametersOf('/api/notes/{pk}', 'get'), { pk: KEY });
    t.match(parametersOf('/api/notes/{note}/scans/{pk}/file', 'get'), { note: KEY, pk: KEY });
  });

  t.test('filters, and lists of keys', async (t) => {
    const filters = parametersOf('/api/notes', 'get');
    t.strictSame([filters['id'], filters['ne']], [KEY, KEY]);
    t.strictSame(filters['in'], { type: 'array', items: KEY });
    t.strictSame(filters['author'], { ...KEY, 'x-reference': { entity: 'Author', field: 'id' } });
    t.match(parametersOf('/api/notes', 'delete')['pk'], { type: 'array', items: KEY });
  });

  t.test('the fields of bodies and responses', async (t) => {
    const author = { entity: 'Author', field: 'id' };
    t.strictSame(schemas['NoteInput']!.properties['author'], {
      type: ['string', 'null'],
      pattern: KEY.pattern,
      'x-reference': author,
    });
    t.match(schemas['NoteInput']!.properties['tags'], { items: { ...KEY, 'x-reference': { entity: 'Tag' } } });
    t.strictSame(schemas['NoteBulkPatch']!.properties['id'], KEY);
    t.match(schemas['AllScanForm']!.properties['note'], { ...KEY, 'x-reference': { entity: 'Note', field: 'id' } });
    t.match(schemas['Note']!.properties, { id: { type: 'string' }, author: { type: ['string', 'null'] } });
  });
});
