/** A response shows what is stored, also if a hook changes the record after the inherited method. */
import type { InferEntity } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { ModelViewSet, readShape, Router, type WriteData, writeShape } from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { Book, LIBRARY, testApp } from '../../support/library.ts';

type BookRecord = InferEntity<typeof Book>;

class LoudViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title', 'pages']),
  write: writeShape(Book, ['title', 'pages']),
  bulk: 5,
}) {
  override async performCreate(request: FastifyRequest, data: WriteData<BookRecord, { title: string }>) {
    const book = await super.performCreate(request, data as never);
    book.title = book.title.toUpperCase();
    return book;
  }
  override async performUpdate(request: FastifyRequest, book: BookRecord, data: WriteData<BookRecord, object>) {
    await super.performUpdate(request, book, data as never);
    book.title = book.title.toUpperCase();
    return book;
  }
}

forEachDatabase(t, { entities: LIBRARY }, async (t, orm) => {
  const app = await testApp(t, orm, [new Router().register('books', LoudViewSet)]);
  const send = async (method: 'POST' | 'PATCH', url: string, payload: object) => {
    const response = await app.inject({ method, url, payload });
    t.ok(response.statusCode < 300, response.body);
    return response.json();
  };
  const titles = async () => (await orm.em.fork().find(Book, {}, { orderBy: { id: 1 } })).map(({ title }) => title);

  t.test('on create, update and in bulk', async (t) => {
    const made = await send('POST', '/books', { title: 'low' });
    t.equal(made.title, 'LOW');
    t.strictSame(await titles(), ['LOW']);
    t.equal((await send('PATCH', `/books/${made.id}`, { title: 'lower' })).title, 'LOWER');
    t.strictSame(await titles(), ['LOWER']);
    const several = await send('POST', '/books', [{ title: 'a' }, { title: 'b' }]);
    t.strictSame(
      several.map(({ title }: { title: string }) => title),
      ['A', 'B'],
    );
    const changed = await send(
      'PATCH',
      '/books',
      several.map(({ id }: { id: number }) => ({ id, title: 'c' })),
    );
    t.strictSame(
      changed.map(({ title }: { title: string }) => title),
      ['C', 'C'],
    );
    t.strictSame(await titles(), ['LOWER', 'C', 'C']);
  });
});
