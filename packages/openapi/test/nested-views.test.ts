import { ModelViewSet, readShape, Router, writeShape } from '@viewset/core';
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Book, documentOf, Publisher, startApp } from './support/app.ts';
import { isValidDocument } from './support/valid-document.ts';

class PublisherViewSet extends ModelViewSet(Publisher, { read: readShape(Publisher, ['id', 'name']) }) {}
class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title']),
  write: writeShape(Book, ['title', 'price', 'publisher']),
}) {}

forEachDatabase(t, { entities: [Publisher, Book], only: ['sqlite'] }, async (t, orm) => {
  t.test('a view is described at both of its places', async (t) => {
    const router = new Router({ prefix: 'api' })
      .register('books', BookViewSet)
      .register('publishers', PublisherViewSet)
      .register('publishers/:publisher/books', BookViewSet);
    const document = await documentOf(
      await startApp(t, orm, async (app) => {
        await app.register(router.plugin);
      }),
    );
    await isValidDocument(t, document);
    const nested = document.paths['/api/publishers/{publisher}/books']!;
    t.match(nested['get'], { operationId: 'listPublisherBooks', summary: 'List the books of a publisher' });
    t.match(nested['post'], { operationId: 'createPublisherBook' });
    t.ok(nested['get']!.responses['404']);
    const { schemas, parameters } = document.components as Record<string, Record<string, object>>;
    t.match(schemas!['BookInput'], { properties: { title: {}, publisher: {} } });
    t.notHas(schemas!['PublisherBookInput'], { properties: { publisher: {} } }, 'the path says it');
    t.match(document.paths['/api/publishers']!['get']!.responses['200'], {
      links: { listPublisherBooks: { parameters: { publisher: '$response.body#/results/0/id' } } },
    });
    t.match(nested['get']!.responses['200'], {
      links: {
        retrievePublisherBook: {
          parameters: { publisher: '$request.path.publisher', pk: '$response.body#/results/0/id' },
        },
      },
    });
    t.match(parameters!['Publisher'], { in: 'path', name: 'publisher', schema: { type: 'integer' } });
  });
});
