/** The document of a view whose record follows from the request. */
import { ModelViewSet, readShape, Router, writeShape } from '@viewset/core';
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Book, documentOf, Publisher, startApp } from './support/app.ts';
import { isValidDocument } from './support/valid-document.ts';

class CurrentBook extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title']),
  write: writeShape(Book, ['title', 'price']),
  singleton: () => ({ id: 1 }),
  operations: ['create', 'retrieve', 'update', 'destroy'],
  etags: true,
}) {}

forEachDatabase(t, { entities: [Publisher, Book], only: ['sqlite'] }, async (t, orm) => {
  const router = new Router({ prefix: 'api' }).register('current', CurrentBook);
  const app = await startApp(t, orm, (made) => void made.register(router.plugin));
  const document = await documentOf(app);

  t.test('it has one path, and its operations have no key', async (t) => {
    await isValidDocument(t, document);
    t.strictSame(
      Object.keys(document.paths).filter((path) => !path.startsWith('/health')),
      ['/api/current', '/api'],
    );
    const operations = document.paths['/api/current']!;
    t.strictSame(
      Object.entries(operations).map(([method, { operationId, summary }]) => [method, operationId, summary]),
      [
        ['post', 'createCurrent', 'Create the current'],
        ['get', 'retrieveCurrent', 'Retrieve the current'],
        ['put', 'replaceCurrent', 'Replace the current'],
        ['patch', 'updateCurrent', 'Update the current'],
        ['delete', 'destroyCurrent', 'Delete the current'],
      ],
    );
    const parameters = Object.values(operations).flatMap((operation) => operation.parameters ?? []);
    t.notOk(parameters.some((parameter) => (parameter as { in: string }).in === 'path'));
    t.strictSame(operations.post?.parameters, undefined, 'there is no collection to have conditions on');
    t.ok(operations.get?.responses['404']);
  });
});
