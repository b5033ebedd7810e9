import t from 'tap';
import { Type } from 'typebox';
import {
  action,
  ImproperlyConfigured,
  IsAuthenticated,
  ModelViewSet,
  readShape,
  Router,
  ViewSet,
  writeShape,
} from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { Book, fillLibrary, LIBRARY, testApp } from '../support/library.ts';

class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title', 'pages']),
  write: writeShape(Book, ['title', 'pages']),
  filterFields: { min_pages: 'pages__gte' },
}) {
  longest = action({ response: Type.Object({ title: Type.String() }) }, async (request) => {
    const [book] = await this.rows(this.getQueryset(request).orderBy('-pages', 'title').slice(0, 1));
    return { title: book!.title };
  });

  search = action({ querystring: Type.Object({ q: Type.Optional(Type.String()) }) }, async (request) => {
    const found = this.getQueryset(request).filter({ title__icontains: request.query.q ?? '' });
    return this.paginate(request, found);
  });

  top = action({ querystring: Type.Object({ n: Type.Optional(Type.Integer({ minimum: 1 })) }) }, async (request) =>
    this.rows(this.getQueryset(request).slice(0, request.query.n ?? 2)),
  );

  rename = action(
    { detail: true, methods: ['post'], body: Type.Object({ title: Type.String({ minLength: 1 }) }) },
    async (request) => {
      const book = await this.getObject(request);
      book.title = request.body.title;
      await request.em.flush();
      return this.represent(book);
    },
  );

  pageCount = action(
    { detail: true, methods: ['get', 'delete'], urlPath: 'pages/count', urlName: 'count' },
    async (request) => {
      return { method: request.method, pk: request.params.pk };
    },
  );

  secret = action({ permissionClasses: [IsAuthenticated] }, async () => ({ open: 'sesame' }));
}

forEachDatabase(t, { entities: LIBRARY }, async (t, orm) => {
  await fillLibrary(orm);
  const router = new Router({ prefix: 'api' });
  router.register('books', BookViewSet);
  const app = await testApp(t, orm, [router]);

  t.test('the path of a collection action is its name in kebab-case', async (t) => {
    const response = await app.inject('/api/books/longest');
    t.equal(response.statusCode, 200);
    t.same(response.json(), { title: 'Cedar' });
    t.equal((await app.inject({ method: 'HEAD', url: '/api/books/longest' })).statusCode, 200);
  });

  t.test('a collection action beats the pk for every method', async (t) => {
    for (const method of ['PUT', 'PATCH', 'DELETE', 'POST'] as const) {
      const response = await app.inject({ method, url: '/api/books/longest' });
      t.equal(response.statusCode, 405, method);
      t.equal(response.headers['allow'], 'GET, HEAD, OPTIONS');
    }
    t.equal((await app.inject('/api/books/longestt')).statusCode, 404);
  });

  t.test('an action paginates its records, and the plan declares its parameters', async (t) => {
    const response = await app.inject('/api/books/search?q=E&page_size=1');
    t.equal(response.statusCode, 200);
    t.same(response.json(), {
      count: 3,
      next: true,
      previous: false,
      results: [{ id: 3, title: 'Cedar', pages: 300 }],
    });
    const unknown = await app.inject('/api/books/search?qq=E');
    t.equal(unknown.statusCode, 400);
    t.match(unknown.json().error, /"qq".*did you mean "q"/);
  });

  t.test('an empty query value counts as absent for an action too', async (t) => {
    const response = await app.inject('/api/books/top?n=');
    t.equal(response.statusCode, 200, response.body);
    t.equal(response.json().length, 2);
    t.equal((await app.inject('/api/books/top?n=1')).json().length, 1);
    t.equal((await app.inject('/api/books/top?n=x')).statusCode, 400);
  });

  t.test('a detail action acts on one record', async (t) => {
    const renamed = await app.inject({
      method: 'POST',
      url: '/api/books/1/rename',
      payload: { title: 'Alder', id: 9 },
    });
    t.equal(renamed.statusCode, 200);
    t.same(renamed.json(), { id: 1, title: 'Alder', pages: 100 });
    t.equal((await app.inject('/api/books/1')).json().title, 'Alder');
  });

  t.test('the body of an action is checked by its schema', async (t) => {
    const response = await app.inject({ method: 'POST', url: '/api/books/1/rename', payload: { title: '' } });
    t.equal(response.statusCode, 400);
    t.equal(response.json().details[0].path, '/title');
    t.equal((await app.inject({ method: 'POST', url: '/api/books/1/rename' })).json().code, 'parse_error');
  });

  t.test('a detail action on a missing record returns 404, even if the handler does not load the record', async (t) => {
    t.equal((await app.inject('/api/books/99/pages/count')).statusCode, 404);
    t.equal((await app.inject('/api/books/abc/pages/count')).statusCode, 404);
  });

  t.test('methods, urlPath and urlName are as declared', async (t) => {
    const response = await app.inject({ method: 'DELETE', url: '/api/books/2/pages/count' });
    t.same(response.json(), { method: 'DELETE', pk: '2' });
    t.equal(router.reverse('books-count', { pk: 2 }), '/api/books/2/pages/count');
    t.equal((await app.inject({ method: 'POST', url: '/api/books/2/pages/count' })).statusCode, 405);
  });

  t.test('the permission classes of an action replace those of the view', async (t) => {
    t.equal((await app.inject('/api/books/secret')).statusCode, 401);
    t.equal((await app.inject({ url: '/api/books/secret', headers: { 'x-user': 'anna' } })).statusCode, 200);
    t.equal((await app.inject('/api/books')).statusCode, 200);
  });
});

t.test('a mistake in an action is found when it is declared', async (t) => {
  const handler = async () => ({});
  t.throws(
    () => action({ method: ['get'] } as never, handler),
    new ImproperlyConfigured(
      'action(): unknown option "method"; did you mean "methods"? Known options: methods, detail, urlPath, urlName, body, querystring, response, permissionClasses, throttles, summary',
    ),
  );
  t.throws(() => action({ methods: [] }, handler), /option "methods" must be a list of get, post/);
  t.throws(() => action({ methods: ['fetch' as never] }, handler), /option "methods"/);
  t.throws(() => action({ urlPath: '/x' }, handler), /option "urlPath"/);
  t.throws(() => action({ urlPath: ':id' }, handler), /option "urlPath"/);
});

t.test('the compiler rejects a handler whose result does not fit its response schema', async () => {
  // @ts-expect-error a string is not an object with a title
  action({ response: Type.Object({ title: Type.String() }) }, async () => 'Ash');
  // @ts-expect-error the title is a string
  action({ response: Type.Object({ title: Type.String() }) }, async () => ({ title: 7 }));
  // @ts-expect-error the body has no such field
  action({ methods: ['post'], body: Type.Object({ title: Type.String() }) }, async (request) => request.body.titel);
});

t.test('a view without a model has the routes that it defines', async (t) => {
  class ClockViewSet extends ViewSet {
    override list() {
      return { now: 'noon' };
    }
    override retrieve(request: { params: unknown }) {
      return { zone: (request.params as { pk: string }).pk };
    }
    alarm = action({ methods: ['post'] }, async (_request, reply) => reply.code(202).send({ set: true }));
  }
  forEachDatabase(t, { entities: LIBRARY, only: ['sqlite'] }, async (t, orm) => {
    const app = await testApp(t, orm, [new Router().register('clock', ClockViewSet)]);
    t.same((await app.inject('/clock')).json(), { now: 'noon' });
    t.same((await app.inject('/clock/utc')).json(), { zone: 'utc' });
    t.equal((await app.inject({ method: 'POST', url: '/clock/alarm' })).statusCode, 202);
    t.equal((await app.inject({ method: 'POST', url: '/clock' })).statusCode, 405);
    t.equal((await app.inject('/clock?x=1')).statusCode, 400);
  });
});
