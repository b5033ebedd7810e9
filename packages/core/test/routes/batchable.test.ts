/** Which operations may be parts of a batch, and actions at the path of their view. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import t from 'tap';
import { action, ModelViewSet, readShape, Router, ViewSet, writeShape } from '../../src/index.ts';
import { openSqlite } from '../support/databases.ts';
import { Book, errorAtStart, LIBRARY, testApp } from '../support/library.ts';

const read = readShape(Book, ['id', 'title']);
const write = writeShape(Book, ['title']);

class Books extends ModelViewSet(Book, { read, write, bulk: 10, exports: ['csv'] }) {
  quiet = action({ methods: ['post'] }, () => ({}));
  said = action({ methods: ['post'], batchable: true }, () => ({}));
}
class CustomBooks extends ModelViewSet(Book, { read, write, operations: ['list', 'retrieve'] }) {
  override retrieve(request: FastifyRequest, reply: FastifyReply) {
    return super.retrieve(request, reply);
  }
}
class Closed extends ModelViewSet(Book, { read, operations: ['list'], batchable: false }) {}
class Status extends ViewSet {
  override list() {
    return { up: true };
  }
  ask = action({ methods: ['post'], urlPath: '/' }, () => ({ asked: true }));
}
class OpenStatus extends Status {
  override batchable = true;
}

t.test('operations of the library and actions with batchable: true can be part of a batch', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  const router = new Router()
    .register('books', Books)
    .register('own', CustomBooks)
    .register('closed', Closed)
    .register('status', Status)
    .register('open', OpenStatus);
  const app = await testApp(t, orm, [router]);
  const may = app.viewset.operations
    .filter(({ batchable }) => batchable)
    .map(({ method, path }) => `${method} ${path}`);
  t.strictSame(may.toSorted(), [
    'DELETE /books',
    'DELETE /books/:pk',
    'GET /books',
    'GET /books/:pk',
    'GET /open',
    'GET /own',
    'PATCH /books',
    'PATCH /books/:pk',
    'POST /books',
    'POST /books.bulk',
    'POST /books/said',
    'PUT /books/:pk',
  ]);
  t.strictSame((await app.inject({ method: 'POST', url: '/status' })).json(), { asked: true });
  t.strictSame((await app.inject('/status')).json(), { up: true });
});

t.test('an action has the path of its view only in a view without an entity', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  class Wrong extends ModelViewSet(Book, { read }) {
    ask = action({ methods: ['post'], urlPath: '/' }, () => ({}));
  }
  t.match(await errorAtStart(t, orm, Wrong), /Wrong\.ask: option "urlPath" must be a path/);
  class Twice extends Status {
    again = action({ methods: ['post'], urlPath: '/' }, () => ({}));
  }
  t.match(await errorAtStart(t, orm, Twice), /another route has POST \/books already/);
});

t.test('an action that may not be in a transaction cannot be a part of a batch', async (t) => {
  t.throws(() => action({ methods: ['get', 'post'], batchable: true, transaction: false }, () => ({})), {
    message: /"batchable" lets the action run in the transaction of a batch/,
  });
  t.throws(() => action({ methods: ['post'], batchable: true, contentTypes: ['text/csv'] }, () => ({})), {
    message: /"batchable" needs a body of JSON/,
  });
  t.doesNotThrow(() => action({ batchable: true, transaction: false }, () => ({})));
});
