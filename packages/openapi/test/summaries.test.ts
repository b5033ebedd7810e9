/** The document of a summary: the names that each parameter takes, and the groups of the answer. */
import { ModelViewSet, readShape, Router } from '@viewset/core';
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Book, documentOf, Publisher, startApp } from './support/app.ts';
import { isValidDocument } from './support/valid-document.ts';

class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title', 'price'], { publisher: readShape(Publisher, ['id', 'name']) }),
  filterFields: { min_price: 'price__gte' },
  orderingFields: { title: 'title' },
  summary: { group: ['title', 'publisher.name'], values: { price: ['sum', 'avg'] }, maxGroups: 50 },
}) {}

forEachDatabase(t, { entities: [Publisher, Book], only: ['sqlite'] }, async (t, orm) => {
  const router = new Router({ prefix: 'api' }).register('books', BookViewSet);
  const app = await startApp(t, orm, (made) => void made.register(router.plugin));
  const document = await documentOf(app);
  await isValidDocument(t, document);
  const { get } = document.paths['/api/books/summary']!;
  t.match(get, { operationId: 'summaryBooks', summary: 'Summarize the books', 'x-viewset': { action: 'summary' } });
  const parameters = (get!.parameters ?? []) as {
    name?: string;
    $ref?: string;
    explode?: boolean;
    schema?: { uniqueItems?: boolean; items?: { enum: string[] } };
  }[];
  t.strictSame(
    parameters.map(({ name, $ref, explode, schema }) => [
      name ?? $ref?.split('/').at(-1),
      explode,
      schema?.uniqueItems,
      schema?.items?.enum,
    ]),
    [
      ['group', false, true, ['title', 'publisher.name']],
      ['sum', false, true, ['price']],
      ['avg', false, true, ['price']],
      ['Filter', undefined, undefined, undefined],
      ['MinPrice', undefined, undefined, undefined],
    ],
  );
  const { schemas } = document.components as unknown as { schemas: Record<string, { properties: object }> };
  t.match(schemas['SummaryBooksResponse'], {
    required: ['results'],
    properties: { results: { type: 'array', maxItems: 50 } },
  });
  t.match(schemas['SummaryBooksResponseResults'], { required: ['group', 'count'] });
  t.match(schemas['SummaryBooksResponseResultsGroup']?.properties, {
    title: { type: 'string' },
    'publisher.name': { type: ['string', 'null'] },
  });
});
