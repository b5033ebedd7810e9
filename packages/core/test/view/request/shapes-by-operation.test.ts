/** Read shapes by operation and by user. */
import type { InferEntity } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { createHash } from 'node:crypto';
import t from 'tap';
import { Type } from 'typebox';
import {
  action,
  computed,
  Forbidden,
  ModelViewSet,
  Permission,
  readShape,
  Router,
  writeShape,
} from '../../../src/index.ts';
import { recordQueries } from '../../query/record-queries.ts';
import { forEachDatabase, openSqlite } from '../../support/databases.ts';
import { Book, fillLibrary, LIBRARY, Publisher, testApp } from '../../support/library.ts';

type BookRecord = InferEntity<typeof Book>;

const brief = readShape(Book, ['id', 'title']);
const whole = readShape(Book, ['id', 'title', 'pages', 'price'], { publisher: readShape(Publisher, ['id', 'name']) });
const made = readShape(Book, ['id', 'pages']);
const changed = readShape(Book, ['id', 'price']);
const staff = readShape(Book, ['id', 'title', 'in_print'], {
  stock: computed(Type.String(), ['pages'], ({ pages }) => `${pages} pages`),
});
const write = writeShape(Book, ['title', 'pages', 'price']);

class ByOperationViewSet extends ModelViewSet(Book, {
  read: { default: whole, list: brief, create: made, update: changed },
  write,
  etags: true,
}) {
  shelf = action({}, async (request) => ({ results: await this.rows(this.getQueryset(request).slice(0, 1)) }));
  one = action({ detail: true }, async (request) => this.represent(await this.getObject(request)));
  made = action({ detail: true }, async (request) => {
    const { pages } = this.represent(await this.getObject(request), request, 'create');
    return { pages, listed: this.represent(await this.getObject(request), request, 'list') };
  });
}
class AllNamedViewSet extends ModelViewSet(Book, { read: { list: brief, retrieve: whole }, pagination: null }) {}
class ByUserViewSet extends ModelViewSet(Book, { read: { default: brief, list: made, staff }, write, etags: true }) {
  override readShapeFor(request: FastifyRequest) {
    return request.user === null ? undefined : ('staff' as const);
  }
}
class LyingViewSet extends ModelViewSet(Book, { read: { default: brief, staff } }) {
  override readShapeFor(request: FastifyRequest) {
    return request.headers['x-shape'] as 'staff';
  }
}
/** Its records are made of entities, and it does not know for which operation. */
class ShoutingViewSet extends ModelViewSet(Book, { read: { default: whole, list: brief }, write }) {
  override represent(book: BookRecord, request?: FastifyRequest) {
    return { ...super.represent(book, request), title: book.title.toUpperCase() };
  }
}
/** It looks at every record, so that it answers with entities. */
class Watched extends Permission {
  override hasObjectPermission() {
    return true;
  }
}
class WatchedViewSet extends ModelViewSet(Book, {
  read: { default: brief, retrieve: whole },
  write,
  etags: true,
  permissionClasses: [Watched],
}) {}

forEachDatabase(t, { entities: LIBRARY }, async (t, orm) => {
  await fillLibrary(orm);
  const router = new Router()
    .register('books', ByOperationViewSet)
    .register('named', AllNamedViewSet)
    .register('by-user', ByUserViewSet)
    .register('lying', LyingViewSet)
    .register('shouting', ShoutingViewSet)
    .register('watched', WatchedViewSet);
  const app = await testApp(t, orm, [router]);
  const asked = async (url: string, headers = {}) => {
    const queries = recordQueries(orm);
    const response = await app.inject({ url, headers });
    queries.stop();
    return { body: response.json(), texts: queries.texts, response };
  };
  const ash = { id: 1, title: 'Ash', pages: 100, price: 10, publisher: { id: 1, name: 'North' } };

  t.test('every operation returns its shape and reads only its columns', async (t) => {
    const list = await asked('/books?page_size=1');
    t.strictSame(list.body.results, [{ id: 1, title: 'Ash' }]);
    for (const text of list.texts) t.notMatch(text, /\bprice\b|\bpublisher/, 'a list reads no column of other shapes');
    t.strictSame((await asked('/books/1')).body, ash, 'the default of those that are not named');
    const created = await app.inject({ method: 'POST', url: '/books', payload: { title: 'Fir', pages: 7, price: 1 } });
    t.strictSame([created.statusCode, created.json()], [201, { id: 6, pages: 7 }]);
    for (const method of ['PUT', 'PATCH'] as const) {
      const updated = await app.inject({ method, url: '/books/6', payload: { title: 'Fir', price: 2 } });
      t.strictSame([updated.statusCode, updated.json()], [200, { id: 6, price: 2 }]);
    }
    t.equal((await app.inject({ method: 'DELETE', url: '/books/6' })).statusCode, 204);
    t.strictSame((await asked('/named')).body[1], { id: 2, title: 'Birch' });
    t.strictSame((await asked('/named/1')).body, ash);
  });

  t.test('a write whose response needs only columns is one statement, with any shape of retrieve', async (t) => {
    const queries = recordQueries(orm);
    await app.inject({ method: 'PATCH', url: '/books/1', payload: { price: 10 } });
    queries.stop();
    t.equal(queries.texts.length, 1);
    t.match(queries.texts[0], /^update .* returning (?:t0\.)?"id" as c0|^book\.findOneAndUpdate\(/);
  });

  t.test('actions on the collection use the shape of list, and detail actions that of retrieve', async (t) => {
    t.strictSame((await asked('/books/shelf')).body, { results: [{ id: 1, title: 'Ash' }] });
    t.strictSame((await asked('/books/1/one')).body, ash);
    t.strictSame((await asked('/books/1/made')).body, {
      pages: ash.pages,
      listed: { id: ash.id, title: ash.title },
    });
  });

  t.test(
    'an override of represent is called for every shape, and super.represent uses the current shape',
    async (t) => {
      t.strictSame((await asked('/shouting?page_size=1')).body.results, [{ id: 1, title: 'ASH' }]);
      t.strictSame((await asked('/shouting/1')).body, { ...ash, title: 'ASH' });
      const patched = await app.inject({ method: 'PATCH', url: '/shouting/1', payload: {} });
      t.strictSame(patched.json(), { ...ash, title: 'ASH' });
    },
  );

  t.test('a view chooses the shape by the user', async (t) => {
    const user = { 'x-user': 'ada' };
    t.strictSame((await asked('/by-user?page_size=1')).body.results, [{ id: 1, pages: 100 }]);
    t.strictSame((await asked('/by-user/1')).body, { id: 1, title: 'Ash' });
    const listed = await asked('/by-user?page_size=1', user);
    const seen = { id: 1, title: 'Ash', in_print: true, stock: '100 pages' };
    t.match(listed.body, { count: 5, results: [seen] });
    t.strictSame((await asked('/by-user/1', user)).body, seen);
    const patch = { method: 'PATCH', url: '/by-user/1', payload: { pages: 101 } } as const;
    t.strictSame((await app.inject({ ...patch, headers: user })).json(), { ...seen, stock: '101 pages' });
    t.strictSame((await app.inject({ ...patch, payload: { pages: 100 } })).json(), { id: 1, title: 'Ash' });
    const head = await app.inject({ method: 'HEAD', url: '/by-user/1', headers: user });
    t.equal(head.headers['content-length'], String(Buffer.byteLength(JSON.stringify(seen))));
    t.equal((await app.inject({ url: '/by-user/99', headers: user })).statusCode, 404, 'errors are as ever');
  });

  t.test('a shape that is not declared is an error of the program', async (t) => {
    t.equal((await asked('/lying/1', { 'x-shape': 'staff' })).response.statusCode, 200);
    for (const shape of ['stuff', 'default', 'constructor']) {
      const { response, body } = await asked('/lying/1', { 'x-shape': shape });
      t.strictSame([response.statusCode, body.code], [500, 'improperly_configured']);
    }
  });

  t.test('only the retrieve shape of a record has an ETag, and If-Match is compared with it', async (t) => {
    const created = await app.inject({ method: 'POST', url: '/books', payload: { title: 'Fir', pages: 7, price: 1 } });
    const url = created.headers.location as string;
    t.notOk('etag' in created.headers, 'another shape');
    const write = (etag: unknown, payload: object) =>
      app.inject({ method: 'PATCH', url, headers: { 'if-match': String(etag) }, payload });
    const read = await app.inject(url);
    t.match(read.headers.etag, /^"[\w-]{22}"$/);
    const updated = await write(read.headers.etag, { pages: 8 });
    t.equal(updated.statusCode, 200);
    t.notOk('etag' in updated.headers);
    t.equal((await write(read.headers.etag, { pages: 9 })).statusCode, 412);
    const again = (await app.inject(url)).headers.etag;
    for (const form of [
      { id: 6, pages: 8 },
      { id: 6, price: 1 },
      { id: 6, title: 'Fir' },
    ]) {
      const text = JSON.stringify({ ...form, id: created.json<{ id: number }>().id });
      const digest = createHash('sha256').update(text).digest('base64url').slice(0, 22);
      for (const tag of [`"${digest}"`, `"${digest}.create"`, `"${digest}.update"`, `"${digest}.fields=title"`]) {
        t.equal((await write(tag, { price: 5 })).statusCode, 412, 'a hash of what another form would be');
      }
    }
    t.equal((await write(`"x", ${String(again)}`, { price: 3 })).statusCode, 200, 'one of a list');
    const known = await app.inject({ url, headers: { 'if-none-match': String((await app.inject(url)).headers.etag) } });
    t.equal(known.statusCode, 304);
    t.equal((await app.inject({ method: 'DELETE', url, headers: { 'if-match': '*' } })).statusCode, 204);
  });

  t.test('a field that the sender does not retrieve cannot be guessed by its tag', async (t) => {
    const secret = 'at least thirty-two bytes of secret';
    class PinViewSet extends ModelViewSet(Book, {
      read: { default: readShape(Book, ['id', 'pages']), ada: readShape(Book, ['id', 'title']) },
      write,
      etags: true,
    }) {
      override readShapeFor(request: FastifyRequest) {
        return request.user === null ? undefined : ('ada' as const);
      }
    }
    const own = await testApp(t, orm, [new Router().register('pins', PinViewSet)], { options: { secret } });
    const other = await testApp(t, orm, [new Router().register('pins', PinViewSet)], { options: { secret } });
    const headers = { 'x-user': 'ada' };
    const tag = (await own.inject('/pins/1')).headers.etag as string;
    t.equal((await other.inject('/pins/1')).headers.etag, tag, 'the same in every process');
    const { pages } = (await own.inject('/pins/1')).json<{ pages: number }>();
    const patch = async (etag: string, more = {}) =>
      (await own.inject({ method: 'PATCH', url: '/pins/1', headers: { 'if-match': etag, ...more }, payload: {} }))
        .statusCode;
    t.equal(await patch(tag), 200);
    t.equal(await patch(tag, headers), 412, 'right, and of a shape that this user does not get');
    const digest = createHash('sha256')
      .update(JSON.stringify({ id: 1, pages }))
      .digest('base64url')
      .slice(0, 22);
    t.equal(await patch(`"${digest}"`), 412, 'a hash that anybody can compute');
    const guesses = Array.from({ length: 20 }, (_, guess) => `"${guess}"`).join();
    t.equal(await patch(`${guesses},${tag}`), 412, 'twenty tags of a header are read');
  });

  t.test('the same is true for entities, and for shapes chosen by the user', async (t) => {
    for (const [path, headers] of [
      ['/watched/2', {}],
      ['/by-user/2', { 'x-user': 'ada' }],
      ['/by-user/2', {}],
    ] as const) {
      const write = (etag: unknown, payload: object) =>
        app.inject({ method: 'PATCH', url: path, headers: { ...headers, 'if-match': String(etag) }, payload });
      const { etag } = (await app.inject({ url: path, headers })).headers;
      const updated = await write(etag, { title: 'Beech' });
      t.equal(updated.statusCode, 200);
      t.equal((await write(etag, { title: 'Oak' })).statusCode, 412);
      const current = (await app.inject({ url: path, headers })).headers.etag;
      if ('etag' in updated.headers) t.equal(updated.headers.etag, current);
      t.equal((await write(current, { title: 'Birch' })).statusCode, 200);
    }
    const ofStaff = (await app.inject({ url: '/by-user/2', headers: { 'x-user': 'ada' } })).headers.etag;
    const refused = await app.inject({
      method: 'PATCH',
      url: '/by-user/2',
      headers: { 'if-match': String(ofStaff) },
      payload: {},
    });
    t.equal(refused.statusCode, 412, 'nobody compares with what only others see');
  });
});

t.test('an override of retrieve or update receives an error of readShapeFor as a rejection', async (t) => {
  const caught: string[] = [];
  class RefusingViewSet extends ModelViewSet(Book, {
    read: { default: brief, staff },
    write: writeShape(Book, ['title']),
  }) {
    override readShapeFor(): never {
      throw new Forbidden();
    }
    override retrieve(...given: Parameters<RefusingViewSet['list']>) {
      return super.retrieve(...given).catch((error: unknown) => this.note('retrieve', error));
    }
    override update(...given: Parameters<RefusingViewSet['list']>) {
      return super.update(...given).catch((error: unknown) => this.note('update', error));
    }
    note(operation: string, error: unknown): never {
      caught.push(operation);
      throw error;
    }
  }
  const orm = await openSqlite(t, { entities: LIBRARY });
  const app = await testApp(t, orm, [new Router().register('books', RefusingViewSet)]);
  t.equal((await app.inject('/books/1')).statusCode, 403);
  t.equal((await app.inject({ method: 'PATCH', url: '/books/1', payload: { title: 'Ash' } })).statusCode, 403);
  t.strictSame(caught, ['retrieve', 'update']);
});

t.test('invalid declarations fail at start', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  const refused = (View: new () => never, message: RegExp) => {
    const router = new Router().register('books', View);
    return t.rejects(testApp(t, orm, [router]), { code: 'improperly_configured', message });
  };
  const view = (read: unknown, more = {}) => ModelViewSet(Book, { read: read as typeof brief, ...more }) as never;
  await refused(
    view({}),
    /option "read" must be a readShape\(\), a Type\.Object\(\), or an object of these by operation/,
  );
  await refused(view({ default: 3 }), /option "read\.default" must be a readShape\(\) or a Type\.Object\(\), got 3/);
  await refused(view({ list: brief }), /option "read" needs a shape of the name "default", or one for retrieve/);
  await refused(view({ default: brief, create: brief }), /a shape for "create", which the view does not offer/);
  await refused(view({ default: brief, lsit: brief }), /names a shape "lsit", .* did you mean "list"\?/);
  await refused(view({ default: brief, staff }), /names a shape "staff", .* only readShapeFor\(\) could choose it/);
});
