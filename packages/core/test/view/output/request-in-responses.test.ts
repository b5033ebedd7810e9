/** Computed fields and `represent` that ask for the request. */
import type { InferEntity } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import { action, computed, ModelViewSet, readShape, Router, writeShape } from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { Book, fillLibrary, LIBRARY, Publisher, testApp } from '../../support/library.ts';

const asker = (request: FastifyRequest): string => String(request.headers['x-name'] ?? 'nobody');
const read = readShape(Book, ['id'], {
  greeting: computed(Type.String(), ['title'], ({ title }, request) => `${title} for ${asker(request)}`),
});
const write = writeShape(Book, ['title']);

class BookViewSet extends ModelViewSet(Book, { read, write, expand: { publisher: readShape(Publisher, ['name']) } }) {
  all = action({}, async (request) => ({ results: await this.rows(this.getQueryset(request).slice(0, 1), request) }));
  forgetful = action({}, async (request) => ({ results: await this.rows(this.getQueryset(request)) }));
}
class RepresentingViewSet extends ModelViewSet(Book, { read: readShape(Book, ['id', 'title']), write }) {
  override represent(book: InferEntity<typeof Book>, request?: FastifyRequest) {
    return {
      ...super.represent(book, request),
      title: `${book.title} by ${request === undefined ? '-' : asker(request)}`,
    };
  }
}
class PublisherViewSet extends ModelViewSet(Publisher, {
  read: readShape(Publisher, ['id'], {
    nested: computed(Type.String(), ['name'], (_record, request) => asker(request)),
  }),
}) {}

forEachDatabase(t, { entities: LIBRARY }, async (t, orm) => {
  await fillLibrary(orm);
  const router = new Router()
    .register('books', BookViewSet)
    .register('representing', RepresentingViewSet)
    .register('publishers', PublisherViewSet);
  const app = await testApp(t, orm, [router]);
  const asked = async (url: string, name: string, more: object = {}) =>
    (await app.inject({ url, headers: { 'x-name': name }, ...more })).json();

  t.test('a computed field with a second parameter receives the request of its response', async (t) => {
    const both = await Promise.all(['Ada', 'Bob'].map((name) => asked('/books/1', name)));
    t.strictSame(both, [
      { id: 1, greeting: 'Ash for Ada' },
      { id: 1, greeting: 'Ash for Bob' },
    ]);
    t.match((await asked('/books', 'Ada')).results[1], { greeting: 'Birch for Ada' });
    t.strictSame(await asked('/books/1?expand=publisher&fields=greeting,publisher', 'Ada'), {
      greeting: 'Ash for Ada',
      publisher: { name: 'North' },
    });
    const patch = { method: 'PATCH', payload: { title: 'Asp' } };
    t.strictSame(await asked('/books/1', 'Ada', patch), { id: 1, greeting: 'Asp for Ada' });
    t.strictSame(await asked('/books', 'Ada', { method: 'POST', payload: { title: 'Fir' } }), {
      id: 6,
      greeting: 'Fir for Ada',
    });
    t.strictSame(await asked('/books/all', 'Ada'), { results: [{ id: 1, greeting: 'Asp for Ada' }] });
    t.match(await asked('/books/forgetful', 'Ada'), { code: 'internal_error' }, 'an action has to pass it on');
    t.match((await asked('/publishers', 'Eve')).results[0], { nested: 'Eve' });
  });

  t.test('an override of represent receives the request of its response', async (t) => {
    t.strictSame(await asked('/representing/2', 'Ada'), { id: 2, title: 'Birch by Ada' });
    t.match((await asked('/representing', 'Bob')).results[1], { title: 'Birch by Bob' });
    const patch = { method: 'PATCH', payload: {} };
    t.strictSame(await asked('/representing/2', 'Eve', patch), { id: 2, title: 'Birch by Eve' });
  });
});
