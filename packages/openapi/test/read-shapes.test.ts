/** The components of views with several read shapes. */
import { ModelViewSet, readShape, Router, writeShape } from '@viewset/core';
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { Type } from 'typebox';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Book, documentOf, Publisher, startApp } from './support/app.ts';
import { isValidDocument } from './support/valid-document.ts';

const whole = readShape(Book, ['id', 'title', 'price'], { publisher: readShape(Publisher, ['id', 'name']) });
const brief = readShape(Book, ['id', 'title']);
const write = writeShape(Book, ['title', 'price']);

class BookViewSet extends ModelViewSet(Book, {
  read: { default: whole, list: brief, create: readShape(Book, ['id']), update: readShape(Book, ['id', 'price']) },
  write,
}) {}
class AllNamedViewSet extends ModelViewSet(Publisher, {
  read: { retrieve: readShape(Publisher, ['id', 'name']), list: readShape(Publisher, ['name']) },
}) {}
class ByUserViewSet extends ModelViewSet(Book, {
  read: { default: brief, retrieve: brief, list: readShape(Book, ['title']), staff: whole },
  fieldWords: { title: { description: 'As on the cover' } },
}) {
  override readShapeFor() {
    return 'staff' as const;
  }
}

const Place = defineEntity({
  name: 'Place',
  properties: { id: p.integer().primary(), hours: p.json<unknown>().nullable(), spot: p.json<unknown>() },
});
const Hours = Type.Array(Type.Object({ from: Type.String() }));
const Spot = Type.Object({ x: Type.Number() });
class PlaceViewSet extends ModelViewSet(Place, {
  read: readShape(Place, ['id'], { hours: Hours, spot: Spot }),
  write: writeShape(Place, [], { hours: Type.Optional(Hours), spot: Spot }),
}) {}

forEachDatabase(t, { entities: [Publisher, Book, Place], only: ['sqlite'] }, async (t, orm) => {
  const open = (views: Router) => startApp(t, orm, (app) => void app.register(views.plugin));
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

  t.test('every shape has a name, derived from the operation that returns it', async (t) => {
    const document = await documentOf(
      await open(new Router().register('books', BookViewSet).register('publishers', AllNamedViewSet)),
    );
    await isValidDocument(t, document);
    const { schemas } = document.components;
    const names = Object.keys(schemas!).filter((name) => /^(?:Book|Publisher)/.test(name));
    t.strictSame(
      names.toSorted(),
      [
        'Book',
        'BookCreated',
        'BookInput',
        'BookListItem',
        'BookPage',
        'BookPatch',
        'BookUpdated',
        'Publisher',
        'PublisherListItem',
        'PublisherPage',
      ],
      'and a record as a whole is called after its entity',
    );
    t.match(schemas!['BookPage'], { properties: { results: { items: ref('BookListItem') } } });
    t.match(schemas!['Book'], { properties: { publisher: { anyOf: [ref('Publisher')] } } });
    const { get, post, put } = { ...document.paths['/books'], ...document.paths['/books/{pk}'] };
    t.match(put!.responses['200'], { content: { 'application/json': { schema: ref('BookUpdated') } } });
    t.match(post!.responses['201'], { content: { 'application/json': { schema: ref('BookCreated') } } });
    t.match(get!.responses['200'], { content: { 'application/json': { schema: ref('Book') } } });
  });

  t.test('shapes that a view selects per request are a union', async (t) => {
    const document = await documentOf(await open(new Router().register('books', ByUserViewSet)));
    await isValidDocument(t, document);
    const { schemas } = document.components;
    t.match(schemas!['BookPage'], {
      properties: { results: { items: { anyOf: [ref('BookListItem'), ref('BookStaff')] } } },
    });
    const schema = { anyOf: [ref('Book'), ref('BookStaff')] };
    t.match(document.paths['/books/{pk}']!['get']!.responses['200'], { content: { 'application/json': { schema } } });
    for (const name of ['Book', 'BookStaff']) {
      t.match(schemas![name], { properties: { title: { description: 'As on the cover' } } }, name);
    }
  });

  t.test('a column with a schema is documented by it', async (t) => {
    const document = await documentOf(await open(new Router().register('places', PlaceViewSet)));
    await isValidDocument(t, document);
    const { schemas } = document.components;
    t.match(schemas!['Place'], {
      properties: { hours: { type: ['array', 'null'], items: ref('PlaceHours') }, spot: ref('PlaceSpot') },
      required: ['id', 'hours', 'spot'],
    });
    t.match(schemas!['PlaceInput'], { properties: { spot: ref('PlaceSpot') }, required: ['spot'] });
    t.match(schemas!['PlaceHours'], { properties: { from: { type: 'string' } }, required: ['from'] });
    t.match(schemas!['PlaceSpot'], { properties: { x: { type: 'number' } }, required: ['x'] });
  });
});
