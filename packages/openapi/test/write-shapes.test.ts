/** The bodies of views with several write shapes. */
import { ModelViewSet, readShape, Router, type ViewSet, writeShape } from '@viewset/core';
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Book, documentOf, Publisher, startApp } from './support/app.ts';
import { isValidDocument } from './support/valid-document.ts';

const read = readShape(Book, ['id', 'title']);
const write = {
  default: writeShape(Book, ['title', 'price']),
  staff: writeShape(Book, ['title', 'price', 'pages']),
  priceSetter: writeShape(Book, ['price']),
};

class BookViewSet extends ModelViewSet(Book, {
  read,
  write,
  bulk: 5,
  fieldWords: { title: { description: 'As on the cover' } },
}) {
  override writeShapeFor() {
    return undefined;
  }
}
class EnvelopedViewSet extends ModelViewSet(Book, { read, write, envelope: { one: 'book', many: 'books' } }) {
  override writeShapeFor() {
    return undefined;
  }
}

forEachDatabase(t, { entities: [Publisher, Book], only: ['sqlite'] }, async (t, orm) => {
  const documented = async (View: new () => ViewSet) => {
    const document = await documentOf(
      await startApp(t, orm, (app) => void app.register(new Router().register('books', View).plugin)),
    );
    await isValidDocument(t, document);
    return document;
  };
  const any = (...names: readonly string[]) => ({
    anyOf: names.map((name) => ({ $ref: `#/components/schemas/${name}` })),
  });
  const json = (schema: object) => ({ content: { 'application/json': { schema } } });

  t.test('a body is any of the shapes, each with a name', async (t) => {
    const { paths, components } = await documented(BookViewSet);
    const [one, all] = [paths['/books/{pk}']!, paths['/books']!];
    t.match(all['post']!.requestBody, json(any('BookInput', 'BookStaffInput')), 'one has no title to create a book by');
    t.match(one['put']!.requestBody, json(any('BookInput', 'BookStaffInput', 'BookPriceSetterInput')));
    t.match(one['patch']!.requestBody, json(any('BookPatch', 'BookStaffPatch', 'BookPriceSetterPatch')));
    t.match(all['patch']!.requestBody, json({ type: 'array', items: { anyOf: { length: 3 } } }));
    t.match(components.schemas!['BookStaffInput'], {
      properties: { title: { description: 'As on the cover' }, pages: {} },
    });
    const { properties } = components.schemas!['BookInput'] as { properties: object };
    t.strictSame(Object.keys(properties), ['title', 'price']);
    t.match(one['patch'], { 'x-viewset': { writeShapes: ['default', 'staff', 'priceSetter'] } });
    t.notOk('writeShapes' in (one['get'] as unknown as { 'x-viewset': object })['x-viewset']);
  });

  t.test('the content of an envelope is any of the shapes', async (t) => {
    const { paths, components } = await documented(EnvelopedViewSet);
    const kinds = any('BookPatch', 'BookStaffPatch', 'BookPriceSetterPatch');
    t.match(paths['/books/{pk}']!['patch']!.requestBody, json({ $ref: '#/components/schemas/BookPatchEnvelope' }));
    t.match(components.schemas!['BookPatchEnvelope'], { properties: { book: kinds } });
  });
});
