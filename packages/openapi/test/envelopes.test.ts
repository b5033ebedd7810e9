/** The document of views whose records stand in members of their own, held against what the server does. */
import { LimitOffsetPagination, ModelViewSet, readShape, Router, writeShape } from '@viewset/core';
import t from 'tap';
import * as Schema from 'typebox/schema';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Book, type Document, documentOf, Publisher, resolve, startApp } from './support/app.ts';
import { isValidDocument } from './support/valid-document.ts';

const read = readShape(Book, ['id', 'title', 'price']);
const write = writeShape(Book, ['title', 'price']);
const envelope = { one: 'book', many: 'books', count: 'booksCount' } as const;
const pagination = LimitOffsetPagination.with({ names: { next: 'more', offset: 'skip' } });
class BookViewSet extends ModelViewSet(Book, {
  read,
  write,
  envelope,
  pagination,
  bulk: 3,
  fieldWords: { title: { description: 'As on the cover' } },
}) {}
class ArrayViewSet extends ModelViewSet(Publisher, {
  read: readShape(Publisher, ['id', 'name']),
  pagination: LimitOffsetPagination.with({ totalHeader: 'Content-Range', names: { limit: 'take' } }),
}) {}
class PlainViewSet extends ModelViewSet(Publisher, {
  read: readShape(Publisher, ['id', 'name']),
  write: writeShape(Publisher, ['name']),
}) {}
class UnpagedViewSet extends ModelViewSet(Publisher, {
  read: readShape(Publisher, ['id', 'name']),
  pagination: null,
  envelope: { many: 'publishers' },
}) {}

forEachDatabase(t, { entities: [Publisher, Book], only: ['sqlite'] }, async (t, orm) => {
  const router = new Router()
    .register('books', BookViewSet)
    .register('publishers', UnpagedViewSet)
    .register('arrays', ArrayViewSet);
  const enveloping = new Router({ prefix: 'all', envelope: { one: 'data', many: 'items' } })
    .register('plain', PlainViewSet)
    .register('publishers', UnpagedViewSet, { basename: 'all-publishers' });
  const app = await startApp(t, orm, (made) => void made.register(router.plugin).register(enveloping.plugin));
  const document = await documentOf(app);
  const { get, post, patch } = { ...document.paths['/books/{pk}'], ...document.paths['/books'] };
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  const inBook = (name: string) => ({
    type: 'object',
    required: ['book'],
    properties: { book: ref(name) },
  });

  t.test('a list that is an array has the header with its total', async (t) => {
    const { responses } = document.paths['/arrays']!.get!;
    t.match(responses['200'], {
      content: { 'application/json': { schema: { type: 'array', maxItems: 100, items: ref('Publisher') } } },
      headers: { 'Content-Range': { schema: { type: 'string' } } },
    });
  });

  t.test('records have their names within the envelope', async (t) => {
    await isValidDocument(t, document);
    const schemas = document.components.schemas!;
    const answer = post!.responses['201'] as unknown as { content: object; links: object };
    t.strictSame(answer.content, { 'application/json': { schema: ref('BookEnvelope') } });
    t.strictSame(schemas['BookEnvelope'], inBook('Book'));
    t.match(answer.links, { retrieveBook: { parameters: { pk: '$response.body#/book/id' } } });
    t.match(post!.requestBody, { content: { 'application/json': { schema: ref('BookInputEnvelope') } } });
    t.strictSame(schemas['BookInputEnvelope'], inBook('BookInput'));
    t.strictSame(schemas['BookPatchEnvelope'], inBook('BookPatch'));
    t.match(schemas['BookInput'], { properties: { title: { description: 'As on the cover' } } });
    t.match(schemas['Book'], { properties: { title: { description: 'As on the cover' } } });
    t.match(schemas['BookPage'], {
      required: ['booksCount', 'more', 'books'],
      properties: { books: { items: ref('Book') } },
    });
  });

  t.test('the extension x-viewset contains the names', async (t) => {
    const pageMembers = { results: 'books', count: 'booksCount', next: 'more', previous: null };
    t.match(get, { 'x-viewset': { pageMembers } });
    t.match(post, { 'x-viewset': { envelope: 'book' } });
    t.match(patch, { 'x-viewset': { envelope: 'books' } }, 'of several');
    t.match(document.paths['/publishers']!['get'], {
      'x-viewset': { pageMembers: { results: 'publishers', count: null } },
    });
  });

  t.test('the extension x-viewset says which parameters select the page', async (t) => {
    const parameters = get!['parameters'] as { name: string; 'x-viewset'?: object }[];
    const told = parameters.map(({ name, 'x-viewset': facts }) => [name, facts] as const);
    t.strictSame(
      told.filter(([, facts]) => facts !== undefined),
      [
        ['limit', { pages: 'size' }],
        ['skip', { pages: 'offset' }],
      ],
    );
  });

  t.test('the envelope of a router applies to its views', async (t) => {
    const plain = document.paths['/all/plain']!;
    t.match(plain['get'], { 'x-viewset': { pageMembers: { results: 'items', count: null } } });
    t.match(plain['post'], { 'x-viewset': { envelope: 'data' } });
    t.match(document.paths['/all/publishers']!['get'], { 'x-viewset': { pageMembers: { results: 'publishers' } } });
  });

  t.test('the responses of the server fit', async (t) => {
    const fits = (schema: object, url: string, payload?: object) =>
      t.test(url, async (t) => {
        const answer = await app.inject({ method: payload ? 'POST' : 'GET', url, ...(payload && { payload }) });
        t.ok(answer.statusCode < 300, answer.body);
        t.ok(Schema.Check(inlined(document, schema) as never, answer.json()), answer.body);
      });
    const schemaOf = (path: string, method: string, status: string) =>
      (document.paths[path]![method]!.responses[status] as unknown as { content: Record<string, { schema: object }> })
        .content['application/json']!.schema;
    await fits(schemaOf('/books', 'post', '201'), '/books', { book: { title: 'Ash', price: 5 } });
    await fits(schemaOf('/books.bulk', 'post', '201'), '/books.bulk', { books: [{ title: 'Elm', price: 5 }] });
    await fits(schemaOf('/books', 'get', '200'), '/books');
    await fits(schemaOf('/books/{pk}', 'get', '200'), '/books/1');
    await fits(schemaOf('/publishers', 'get', '200'), '/publishers');
    await fits(schemaOf('/all/plain', 'post', '201'), '/all/plain', { data: { name: 'Elm' } });
    await fits(schemaOf('/all/plain', 'get', '200'), '/all/plain');
  });
});

function inlined(document: Document, node: unknown): unknown {
  if (Array.isArray(node)) return node.map((each) => inlined(document, each));
  if (typeof node !== 'object' || node === null) return node;
  const whole = '$ref' in node ? resolve(document, node) : node;
  return Object.fromEntries(Object.entries(whole).map(([name, value]) => [name, inlined(document, value)]));
}
