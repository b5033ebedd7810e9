import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import fastify from 'fastify';
import { Readable } from 'node:stream';
import t from 'tap';
import { Type } from 'typebox';
import {
  action,
  AllowAny,
  getCurrentUser,
  IsAuthenticated,
  IsRoleAdminUser,
  ModelViewSet,
  PathRateLimit,
  Permission,
  type PermissionView,
  readShape,
  Router,
  serverOptions,
  ViewSet,
  viewset,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { Book, fillLibrary, LIBRARY, testApp } from '../../support/library.ts';

const Place = defineEntity({ name: 'Place', properties: { code: p.string().length(20).primary(), name: p.string() } });

const read = readShape(Book, ['id', 'title', 'pages']);
const write = writeShape(Book, ['title', 'pages']);

/** Hides the books of fewer than 200 pages from everybody but an administrator. */
class LongBooks extends Permission {
  override hasPermission(request: FastifyRequest) {
    return getCurrentUser(request) !== null;
  }
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<InferEntity<typeof Book>>(view, { pages__gte: 200 });
  }
}

forEachDatabase(t, { entities: [...LIBRARY, Place] }, async (t, orm) => {
  await fillLibrary(orm);
  const em = orm.em.fork();
  for (const code of ['a', 'stats', 'stats2']) em.create(Place, { code, name: code });
  await em.flush();

  t.test('a path throttle counts the route of a record in a view with actions', async (t) => {
    class BookViewSet extends ModelViewSet(Book, { read }) {
      featured = action({}, async () => ({}));
    }
    const throttles = [new PathRateLimit(1, 60, { path: '/books/:pk' })];
    const app = await testApp(t, orm, [new Router().register('books', BookViewSet)], { options: { throttles } });
    t.equal((await app.inject('/books/1')).statusCode, 200);
    t.equal((await app.inject('/books/2')).statusCode, 429);
    t.equal((await app.inject('/books')).statusCode, 200);
    t.equal((await app.inject('/books/featured')).statusCode, 200);
  });

  t.test('create returns a Location if the record can be retrieved', async (t) => {
    class InboxViewSet extends ModelViewSet(Book, { read, write, operations: ['create', 'list'] }) {}
    class BookViewSet extends ModelViewSet(Book, { read, write }) {}
    const views = new Router().register('inbox', InboxViewSet).register('books', BookViewSet);
    const app = await testApp(t, orm, [views]);
    for (const [url, isLocated] of Object.entries({ '/inbox': false, '/books': true })) {
      const made = await app.inject({ method: 'POST', url, payload: { title: 'New' } });
      t.equal(made.statusCode, 201);
      t.equal(made.headers.location, isLocated ? `${url}/${made.json().id}` : undefined);
      const plan = app.viewset.plannedRoutes.find(({ plan: { path, action } }) => path === url && action === 'create');
      t.equal('location' in (plan?.plan.responses[201]?.headers ?? {}), isLocated, 'and so does its plan');
      await orm.em.fork().nativeDelete(Book, { id: made.json().id });
    }
  });

  t.test('a path throttle for a path without a route logs a warning with the path', async (t) => {
    const lines: { level: number; path?: string; msg: string }[] = [];
    const app = fastify(serverOptions({ logger: { stream: { write: (line) => lines.push(JSON.parse(line)) } } }));
    t.teardown(async () => app.close());
    app.get('/early', () => ({}));
    const paths = ['/books/:pk', 'POST /login', '/login/', 'GET /login', '/logn', '/log*', '/pubilc/*', '/early'];
    const throttles = [new PathRateLimit(1, 1), ...paths.map((path) => new PathRateLimit(1, 60, { path }))];
    await app.register(viewset, { orm, throttles });
    app.post('/login', () => ({}));
    await app.register(new Router().register('books', class extends ModelViewSet(Book, { read }) {}).plugin);
    await app.ready();
    t.strictSame(
      lines.filter(({ level }) => level === 40).map(({ path }) => path),
      ['GET /login', '/logn', '/pubilc/*', '/early'],
      'nor does a rule count a route that was there before the plugin',
    );
    t.equal(lines.at(-1)?.msg, 'viewset: no route has the path "/early" of a rule of option "throttles"');
  });

  t.test('a path throttle of a view logs a warning if the view has no route with the path', async (t) => {
    const lines: { level: number; path?: string; msg: string }[] = [];
    const app = fastify(serverOptions({ logger: { stream: { write: (line) => lines.push(JSON.parse(line)) } } }));
    t.teardown(async () => app.close());
    await app.register(viewset, { orm });
    const limit = (path: string) => new PathRateLimit(1, 60, { path });
    class Guarded extends ModelViewSet(Book, {
      read,
      throttles: [
        limit('/books/:pk'),
        limit('HEAD /books'),
        limit('/others'),
        limit('POST /books'),
        new PathRateLimit(9, 1),
      ],
    }) {
      featured = action({ throttles: [limit('/books/featured'), limit('/books')] }, () => ({}));
    }
    class Other extends ModelViewSet(Book, { read }) {}
    await app.register(new Router().register('books', Guarded).register('others', Other).plugin);
    await app.ready();
    t.strictSame(
      lines.filter(({ level }) => level === 40).map(({ msg }) => msg.replace('viewset: no route has the path ', '')),
      [
        '"/others" of a rule of "throttles" of books',
        '"POST /books" of a rule of "throttles" of books',
        '"/books" of a rule of "throttles" of books.featured',
      ],
    );
    t.equal((await app.inject('/books/1')).statusCode, 200);
    t.equal((await app.inject('/books/2')).statusCode, 429);
  });

  t.test('a response schema applies to every 2xx status without a schema', async (t) => {
    const answer = { title: 'Ash', secret: 'x' };
    const title = Type.Object({ title: Type.String() });
    const chosen = Type.Object({ as: Type.Optional(Type.String()), status: Type.Optional(Type.Integer()) });
    class BookViewSet extends ModelViewSet(Book, { read, write }) {
      made = action({ response: title }, async (_request, reply) => reply.code(201).send(answer));
      two = action(
        {
          querystring: Type.Object({ status: Type.Integer() }),
          responses: { 200: title, 202: Type.Object({}), 204: null },
        },
        async (request, reply) => reply.code(request.query.status).send(answer),
      );
      one = action({ responses: { 202: title } }, async (_request, reply) => reply.code(200).send(answer));
      accepted = action({ responses: { 202: title } }, async (_request, reply) => reply.code(202).send(answer));
      empty = action({ responses: { 204: null } }, (_request, reply) => reply.code(200).send(answer as never));
      none = action({ querystring: chosen, responses: { 200: null, 202: null } }, (request, reply) => {
        const { as = '', status = 200 } = request.query;
        const bodies: Record<string, unknown> = {
          object: answer,
          text: 'Ash',
          bytes: Buffer.from('Ash'),
          stream: Readable.from(['Ash']),
        };
        return reply.code(status).send(bodies[as]);
      });
      text = action({ responses: { 202: title } }, (_request, reply) => reply.code(200).send('Ash'));
      refuse = action({ response: title }, async (_request, reply) => reply.code(418).send({ ...answer, more: [1] }));
    }
    // A view of its own before it: a route of the application's first view is compiled by Fastify itself.
    class RefusingViewSet extends ModelViewSet(Book, { read }) {
      override async list(_request: FastifyRequest, reply: Parameters<NonNullable<ViewSet['list']>>[1]) {
        return reply.code(400).send({ ...answer, error: 7 });
      }
    }
    const router = new Router().register('first', RefusingViewSet).register('books', BookViewSet);
    const app = await testApp(t, orm, [router]);
    t.strictSame((await app.inject('/books/made')).json(), { title: 'Ash' });
    t.strictSame((await app.inject('/books/two?status=200')).json(), { title: 'Ash' });
    t.strictSame((await app.inject('/books/two?status=202')).json(), {});
    const undeclared = await app.inject('/books/two?status=201');
    t.equal(undeclared.statusCode, 500);
    t.notMatch(undeclared.body, /secret/);
    t.strictSame((await app.inject('/books/accepted')).json(), { title: 'Ash' });
    for (const name of ['one', 'empty']) {
      const other = await app.inject(`/books/${name}`);
      t.equal(other.statusCode, 500, 'nor another than the only one that is declared by its status');
      t.notMatch(other.body, /secret|Ash/);
    }
    t.equal((await app.inject('/books/text')).statusCode, 500, 'a text too');
    for (const as of ['object', 'text', 'bytes', 'stream']) {
      for (const query of [`as=${as}`, `as=${as}&status=202`]) {
        const full = await app.inject(`/books/none?${query}`);
        t.equal(full.statusCode, 500, `${query}: an answer that is declared to have no body`);
        t.notMatch(full.body, /secret|Ash/);
      }
    }
    const bare = await app.inject('/books/none');
    t.equal(bare.statusCode, 200, bare.body);
    t.equal(bare.body, '');
    t.strictSame(
      (await app.inject('/books/refuse')).json(),
      { ...answer, more: [1] },
      'the body of an error is its own',
    );
    t.strictSame((await app.inject('/first')).json(), { ...answer, error: 7 }, 'on the first route too');
  });

  t.test('unknown query parameters are cheap and return a short response', async (t) => {
    const filterFields = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [`${'field'.repeat(10)}_${at}`, 'title']),
    );
    class BookViewSet extends ModelViewSet(Book, { read, filterFields: filterFields as Record<string, 'title'> }) {}
    const app = await testApp(t, orm, [new Router().register('books', BookViewSet)]);
    const query = Array.from({ length: 100 }, (_, at) => `${'g'.repeat(100)}${at}=`).join('&');
    const response = await app.inject(`/books?${query}`);
    t.equal(response.statusCode, 400);
    t.equal(response.json().details.length, 100);
    t.ok(response.body.length < 20_000, `${response.body.length} characters`);
    t.match((await app.inject(`/books?${'field'.repeat(10)}_x=1`)).json().error, /did you mean "(field){10}_\d+"/);
    t.match((await app.inject('/books?zzzz=1')).json().error, /"zzzz" is not known here; known: .*(field){10}_0, /);
  });

  t.test('a response names every invalid query parameter of a list action', async (t) => {
    class BookViewSet extends ModelViewSet(Book, { read, filterFields: { from: 'id__gte' } }) {
      top = action({ querystring: Type.Object({ n: Type.Integer() }) }, async (request) => {
        const page = await this.paginate(request, this.filterQueryset(request, this.getQueryset(request)));
        return { ...page, n: request.query.n };
      });
    }
    const app = await testApp(t, orm, [new Router().register('books', BookViewSet)]);
    const wrongOf = async (query: string): Promise<string[]> => {
      const response = await app.inject(`/books/top?${query}`);
      t.equal(response.statusCode, 400, query);
      return response
        .json()
        .details.map(({ path }: { path: string }) => path)
        .toSorted();
    };
    t.strictSame(await wrongOf('n=1&page=a%00b&page_size=1&page_size=1'), ['/page', '/page_size']);
    t.strictSame(await wrongOf('n=x&page=0&from=y'), ['/from', '/n', '/page']);
    t.strictSame(await wrongOf('page=0'), ['/n', '/page']);
    t.strictSame(await wrongOf('n=x&m=1&page=0'), ['/m', '/n', '/page']);
    const right = await app.inject('/books/top?n=7&page=2&page_size=1');
    t.match(right.json(), { n: 7, previous: true }, 'each reads its own');
  });

  t.test('a key may equal the first segment of a longer path of an action', async (t) => {
    class PlaceViewSet extends ModelViewSet(Place, {
      read: readShape(Place, ['code', 'name']),
      write: writeShape(Place, ['code', 'name']),
    }) {
      yearly = action({ urlPath: 'stats/yearly' }, async () => ({ yearly: true }));
      visit = action({ detail: true, methods: ['post'], urlPath: 'yearly' }, async () => ({ visited: true }));
      all = action({ urlPath: 'a' }, async () => ({ all: true }));
    }
    const app = await testApp(t, orm, [new Router().register('places', PlaceViewSet)]);
    t.equal((await app.inject('/places/stats')).json().code, 'stats');
    t.equal((await app.inject('/places/stats2')).json().code, 'stats2');
    t.strictSame((await app.inject('/places/stats/yearly')).json(), { yearly: true });
    const post = await app.inject({ method: 'POST', url: '/places/stats/yearly' });
    t.equal(post.statusCode, 405, 'a collection action beats the record of the same depth');
    t.equal((await app.inject({ method: 'POST', url: '/places/stats2/yearly' })).statusCode, 200);
    t.strictSame((await app.inject('/places/a')).json(), { all: true });
    t.equal((await app.inject({ method: 'DELETE', url: '/places/a' })).statusCode, 405);
    t.equal((await app.inject({ method: 'POST', url: '/places/a/yearly' })).statusCode, 200);
  });

  t.test('a parser that nests makes no error of the server', async (t) => {
    class BookViewSet extends ModelViewSet(Book, {
      read,
      filterFields: { title: 'title' },
      orderingFields: { id: 'id' },
    }) {
      top = action({ querystring: Type.Object({ n: Type.Optional(Type.Integer()) }) }, async () => ({}));
    }
    const nested = (text: string): Record<string, unknown> => (text === '' ? {} : { [text]: { a: ['1', { b: '2' }] } });
    const app = fastify({ ...serverOptions(), routerOptions: { querystringParser: nested } });
    t.teardown(() => app.close());
    await app.register(viewset, { orm });
    await app.register(new Router().register('books', BookViewSet).plugin);
    t.equal((await app.inject('/books')).statusCode, 200);
    for (const url of [
      '/books?title',
      '/books?page',
      '/books?sort',
      '/books?page_size',
      '/books/top?n',
      '/books?other',
    ]) {
      t.equal((await app.inject(url)).statusCode, 400, url);
    }
  });

  t.test('Location has the value of a parameter in the prefix', async (t) => {
    class BookViewSet extends ModelViewSet(Book, { read, write }) {}
    const router = new Router({ prefix: '' }).register('books', BookViewSet);
    const app = fastify(serverOptions());
    t.teardown(() => app.close());
    await app.register(viewset, { orm });
    await app.register(router.plugin, { prefix: '/:tenant(^[a-z ]+$)' });
    const created = await app.inject({ method: 'POST', url: '/north%20sea/books', payload: { title: 'Fir' } });
    t.equal(created.headers['location'], `/north%20sea/books/${created.json().id}`);
    t.equal((await app.inject(created.headers['location']!)).json().title, 'Fir');
    t.equal(router.reverse('books-detail', { tenant: 'a b', pk: 1 }), '/a%20b/books/1');
    t.strictSame(
      app.viewset.operations.find(({ action }) => action === 'retrieve')!.pathParameters.map(({ name }) => name),
      ['tenant', 'pk'],
    );
  });

  t.test('a malformed key returns 404 before the body is read', async (t) => {
    class BookViewSet extends ModelViewSet(Book, { read, write }) {
      rename = action(
        { detail: true, methods: ['put'], body: Type.Object({ title: Type.String() }) },
        async () => ({}),
      );
    }
    const app = await testApp(t, orm, [new Router().register('books', BookViewSet)]);
    for (const url of ['/books/abc', '/books/007', '/books/99999999999', '/books/abc/rename', '/books/1e3/rename']) {
      for (const payload of ['{', '{}', '{"title":7}', '']) {
        const headers = { 'content-type': 'application/json' };
        const response = await app.inject({ method: 'PUT', url, headers, payload });
        t.equal(response.statusCode, 404, `${url} ${payload}`);
      }
    }
  });

  t.test('a path with braces is rejected, and an empty prefix means no prefix', async (t) => {
    class BookViewSet extends ModelViewSet(Book, { read }) {}
    t.throws(
      () => new Router().register('authors/{x}/books', BookViewSet),
      /option "path" must be a path without parameters/,
    );
    const app = await testApp(t, orm, [new Router({ prefix: '' }).register('books', BookViewSet)]);
    t.equal((await app.inject('/books')).statusCode, 200);
  });

  t.test('a parameter is accepted only by the routes that declare it', async (t) => {
    class BookViewSet extends ModelViewSet(Book, { read, write, filterFields: { min_pages: 'pages__gte' } }) {
      search = action({ querystring: Type.Object({ q: Type.Optional(Type.String()) }) }, async () => ({}));
      plain = action({ listParameters: false }, async () => ({}));
      one = action({ detail: true }, async () => ({}));
    }
    const app = await testApp(t, orm, [new Router().register('books', BookViewSet)]);
    const status = async (url: string, method: 'GET' | 'POST' = 'GET') =>
      (await app.inject({ method, url, ...(method === 'POST' ? { payload: { title: 'Oak' } } : {}) })).statusCode;
    t.equal(await status('/books/search?q=a&page=1&min_pages=1'), 200);
    for (const url of ['/books?q=a', '/books/1?page=1', '/books/plain?page=1', '/books/1/one?min_pages=2']) {
      t.equal(await status(url), 400, url);
    }
    t.equal(await status('/books?page=1', 'POST'), 400);
  });

  t.test("an action's permissions replace the view's questions, and show no record that the view hides", async (t) => {
    class BookViewSet extends ModelViewSet(Book, { read, permissionClasses: [IsRoleAdminUser.or(LongBooks)] }) {
      own = action({ detail: true, permissionClasses: [IsAuthenticated] }, async (request) =>
        this.represent(await this.getObject(request)),
      );
      open = action({ permissionClasses: [AllowAny] }, async (request) => this.rows(this.getQueryset(request)));
      every = action({ permissionClasses: [AllowAny], scope: 'unrestricted' }, async (request) =>
        this.rows(this.getQueryset(request)),
      );
      checked = action({ permissionClasses: [AllowAny], methods: ['post'] }, async (request) => {
        await this.checkObjectPermissions(request, await request.em.findOneOrFail(Book, { title: 'Ash' }));
        return {};
      });
    }
    class PlainViewSet extends ModelViewSet(Book, { read, permissionClasses: [IsRoleAdminUser] }) {
      open = action({ detail: true, permissionClasses: [AllowAny] }, async () => ({ seen: true }));
    }
    const app = await testApp(t, orm, [new Router().register('books', BookViewSet).register('plain', PlainViewSet)]);
    const get = (url: string, user?: string, method: 'GET' | 'POST' = 'GET') =>
      app.inject({ method, url, headers: user === undefined ? {} : { 'x-user': user } });
    t.equal((await get('/books/1', 'ann')).statusCode, 404, 'the view hides it');
    t.equal((await get('/books/1/own', 'ann')).statusCode, 404, 'and so does the action');
    t.equal((await get('/books/1/own', 'admin')).statusCode, 200);
    t.equal((await get('/books/2/own', 'ann')).statusCode, 200);
    t.equal((await get('/books/2/own')).statusCode, 401, "the action's own question");
    const all = (await get('/books/every')).json().length as number;
    t.strictSame((await get('/books/open')).json(), [], 'whom the view shows nothing sees nothing');
    t.ok((await get('/books/open', 'ann')).json().length < all);
    t.ok((await get('/books/open', 'ann')).json().length > 0);
    t.equal((await get('/books/open', 'admin')).json().length, all);
    t.equal((await get('/books/checked', 'ann', 'POST')).statusCode, 403, 'a record that an action asks about');
    t.equal((await get('/books/checked', 'admin', 'POST')).statusCode, 200);
    t.strictSame((await get('/plain/1/open')).json(), { seen: true }, 'a question is no scope');
  });

  t.test('an action in a transaction leaves nothing behind if it fails', async (t) => {
    class BookViewSet extends ModelViewSet(Book, { read }) {
      grow = action(
        {
          detail: true,
          methods: ['post'],
          transaction: true,
          querystring: Type.Object({ fail: Type.Optional(Type.Boolean()) }),
        },
        async (request) => {
          const book = await this.getObject(request);
          book.pages += 1;
          await request.em.flush();
          if (request.query.fail === true) throw new Error('after the flush');
          return { pages: book.pages, inside: request.em.isInTransaction() };
        },
      );
    }
    const app = await testApp(t, orm, [new Router().register('books', BookViewSet)]);
    const { pages } = (await app.inject('/books/2')).json();
    t.equal((await app.inject({ method: 'POST', url: '/books/2/grow?fail=true' })).statusCode, 500);
    t.equal((await app.inject('/books/2')).json().pages, pages);
    t.strictSame((await app.inject({ method: 'POST', url: '/books/2/grow' })).json(), {
      pages: pages + 1,
      inside: true,
    });
    await Promise.all(Array.from({ length: 10 }, () => app.inject({ method: 'POST', url: '/books/2/grow' })));
    t.equal((await app.inject('/books/2')).json().pages, pages + 11, 'the record is locked');
  });

  t.test('an action can set its body limit, media types and hooks', async (t) => {
    const order: string[] = [];
    class UploadViewSet extends ViewSet {
      csv = action({ methods: ['post'], contentTypes: ['text/csv', 'application/json'] }, async (request) => {
        return { bytes: (request.body as Buffer).length, isBuffer: Buffer.isBuffer(request.body) };
      });
      small = action({ methods: ['post'], bodyLimit: 10, body: Type.Object({ a: Type.String() }) }, async () => ({}));
      hooked = action(
        {
          permissionClasses: [IsAuthenticated],
          hooks: {
            onRequest: async () => void order.push('onRequest'),
            preHandler: [async () => void order.push('one'), async () => void order.push('two')],
          },
        },
        async () => ({}),
      );
    }
    const app = await testApp(t, orm, [new Router().register('files', UploadViewSet)]);
    const post = (url: string, type: string, payload: string) =>
      app.inject({ method: 'POST', url, headers: { 'content-type': type }, payload });
    t.strictSame((await post('/files/csv', 'text/csv; charset=utf-8', 'a,b')).json(), { bytes: 3, isBuffer: true });
    t.equal((await post('/files/csv', 'text/plain', 'a,b')).statusCode, 415);
    t.equal((await post('/files/small', 'text/csv', 'a')).statusCode, 415, 'a route beside it reads JSON alone');
    t.equal((await post('/files/small', 'application/json', '{"a":"b"}')).statusCode, 200);
    t.equal((await post('/files/small', 'application/json', '{"a":"bcd"}')).statusCode, 413);
    t.equal((await app.inject('/files/hooked')).statusCode, 401);
    t.strictSame(order, [], 'hooks run once the request is let in');
    t.equal((await app.inject({ url: '/files/hooked', headers: { 'x-user': 'ann' } })).statusCode, 200);
    t.strictSame(order, ['onRequest', 'one', 'two']);
  });

  t.test('a router makes paths of names and gives routes to every view', async (t) => {
    class CustomRouter extends Router {
      protected override actionPath(name: string): string {
        return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      }
      protected override actions(view: ViewSet) {
        return new Map([...super.actions(view), ['about', action({}, async () => ({ view: view.name }))]]);
      }
    }
    class OneViewSet extends ViewSet {
      topTen = action({}, async () => ({ ten: true }));
    }
    class TwoViewSet extends ViewSet {}
    const router = new CustomRouter().register('one', OneViewSet).register('two', TwoViewSet);
    const app = await testApp(t, orm, [router]);
    t.strictSame((await app.inject('/one/top_ten')).json(), { ten: true });
    t.equal((await app.inject('/one/top-ten')).statusCode, 404);
    t.strictSame((await app.inject('/one/about')).json(), { view: 'OneViewSet' });
    t.strictSame((await app.inject('/two/about')).json(), { view: 'TwoViewSet' });
    t.equal(router.reverse('two-about'), '/two/about');
    class WrongRouter extends Router {
      protected override actionPath(): string {
        return ':x';
      }
    }
    await t.rejects(
      testApp(t, orm, [new WrongRouter().register('one', OneViewSet)]),
      /OneViewSet\.topTen: option "urlPath" must be a path/,
    );
  });
});
