/** Handlers for writes that no view emits never run, unless emit() has an event of this type. */
import fastify from 'fastify';
import t from 'tap';
import { ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Book, LIBRARY } from '../../core/test/support/library.ts';
import { outbox, OutboxEvent } from '../src/index.ts';

const options = { read: readShape(Book, ['id', 'title']), write: writeShape(Book, ['title']) } as const;

forEachDatabase(t, { entities: [...LIBRARY, OutboxEvent], only: ['sqlite'] }, async (t, orm) => {
  t.test('a handler for writes that no view emits is in the log at start', async (t) => {
    class BookViewSet extends ModelViewSet(Book, { ...options, emits: ['created'] }) {}
    const warnings: string[] = [];
    const stream = { write: (line: string) => void warnings.push((JSON.parse(line) as { msg: string }).msg) };
    const app = fastify(serverOptions({ logger: { level: 'warn', stream } }));
    t.teardown(() => app.close());
    const ignore = () => {};
    await app.register(viewset, { orm });
    await app.register(outbox, {
      handlers: [
        { 'book.created': ignore, 'book.*': ignore, '*': ignore },
        { 'book.deleted': ignore, 'book.praised': ignore, 'shop.created': ignore },
      ],
    });
    await app.register(new Router().register('books', BookViewSet).plugin);
    await app.ready();
    t.strictSame(warnings, [
      'outbox: no view of Book has "deleted" in its option "emits", so the handler "book.deleted" gets only events of emit()',
    ]);
  });
});
