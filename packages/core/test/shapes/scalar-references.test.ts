/** Columns that the entity keeps behind a `ScalarReference`, as MikroORM advises for those that are lazy. */
import { type Collection, defineEntity, p, type ScalarReference } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { many, ModelViewSet, nested, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const PageSchema = defineEntity({
  name: 'Page',
  properties: {
    id: p.integer().primary(),
    text: p.text().lazy().ref().nullable(),
    code: p.string().length(5).ref(),
    book: () => p.manyToOne(Book).nullable(),
  },
});
class Page extends PageSchema.class {}
PageSchema.setClass(Page);

const BookSchema = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    blurb: p.text().lazy().ref().nullable(),
    pages: () => p.oneToMany(Page).mappedBy('book'),
  },
});
class Book extends BookSchema.class {
  declare pages: Collection<Page>;
}
BookSchema.setClass(Book);

const page = readShape(Page, ['id', 'text', 'code']);

class PageViewSet extends ModelViewSet(Page, {
  read: page,
  write: writeShape(Page, ['text', 'code']),
  searchFields: ['text'],
  bulk: 2,
}) {}

class HookedViewSet extends ModelViewSet(Page, { read: page, write: writeShape(Page, ['text', 'code']) }) {
  seen: unknown[] = [];

  override async performUpdate(request: FastifyRequest, entity: Page, data: object) {
    const updated = await super.performUpdate(request, entity, data);
    this.seen.push((entity.text as ScalarReference<string | null>).unwrap(), entity.code.unwrap());
    return updated;
  }

  override represent(entity: Page) {
    return super.represent(entity);
  }
}

class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'blurb'], { pages: many(page) }),
  write: writeShape(Book, ['blurb'], {
    pages: nested(writeShape(Page, ['text', 'code']), { max: 3, update: true }),
  }),
}) {}

forEachDatabase(t, { entities: [Page, Book] }, async (t, orm) => {
  const router = new Router()
    .register('pages', PageViewSet)
    .register('hooked', HookedViewSet)
    .register('books', BookViewSet);
  const app = await testApp(t, orm, [router]);
  const send = async (method: 'POST' | 'PATCH' | 'PUT', url: string, payload: object) => {
    const answer = await app.inject({ method, url, payload });
    return [answer.statusCode, answer.json()] as const;
  };

  for (const path of ['pages', 'hooked']) {
    t.test(`${path}: a value behind a reference is created, changed, set to null and left unchanged`, async (t) => {
      const [status, made] = await send('POST', `/${path}`, { text: 'one', code: 'a' });
      t.strictSame([status, made], [201, { id: made.id, text: 'one', code: 'a' }]);
      const url = `/${path}/${made.id}`;
      t.strictSame(await send('PATCH', url, { text: 'two' }), [200, { ...made, text: 'two' }]);
      t.strictSame(await send('PATCH', url, { code: 'b' }), [200, { ...made, text: 'two', code: 'b' }]);
      t.strictSame(await send('PATCH', url, { text: null }), [200, { ...made, text: null, code: 'b' }]);
      t.strictSame(await send('PUT', url, { text: 'three', code: 'c' }), [200, { ...made, text: 'three', code: 'c' }]);
      t.strictSame((await app.inject(url)).json(), { ...made, text: 'three', code: 'c' }, 'it is stored');
    });
  }

  t.test('values behind references in bulk requests and in children', async (t) => {
    const [, pages] = await send('POST', '/pages', [{ code: 'x' }, { code: 'y', text: 'y' }]);
    const changes = [
      { id: pages[0].id, text: 'X' },
      { id: pages[1].id, text: null },
    ];
    const changed = [
      { ...pages[0], text: 'X' },
      { ...pages[1], text: null },
    ];
    t.strictSame(await send('PATCH', '/pages', changes), [200, changed]);
    const [, book] = await send('POST', '/books', { blurb: 'old', pages: [{ code: 'x', text: 'X' }, { code: 'y' }] });
    const [first, second] = book.pages;
    const kept = [
      { ...first, text: null },
      { ...second, text: 'Y' },
    ];
    t.strictSame(await send('PATCH', `/books/${book.id}`, { blurb: 'new', pages: kept }), [
      200,
      { id: book.id, blurb: 'new', pages: kept },
    ]);
    t.strictSame((await app.inject(`/books/${book.id}`)).json(), { id: book.id, blurb: 'new', pages: kept });
  });
});
