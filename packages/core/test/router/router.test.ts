import fastify, { type FastifyInstance } from 'fastify';
import t from 'tap';
import {
  action,
  ImproperlyConfigured,
  ModelViewSet,
  readShape,
  Router,
  serverOptions,
  viewset,
  writeShape,
} from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { Book, fillLibrary, LIBRARY, Publisher, testApp } from '../support/library.ts';

class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title']),
  write: writeShape(Book, ['title']),
}) {}

class ReadOnlyBookViewSet extends ModelViewSet(Book, { read: readShape(Book, ['id', 'title']) }) {}

class AppendOnlyBookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title']),
  write: writeShape(Book, ['title']),
  operations: ['list', 'create'],
}) {}

class PublisherViewSet extends ModelViewSet(Publisher, { read: readShape(Publisher, ['id', 'name']) }) {}

forEachDatabase(t, { entities: LIBRARY, only: ['sqlite'] }, async (t, orm) => {
  await fillLibrary(orm);

  t.test('the root of a router lists its collections, for anybody', async (t) => {
    const router = new Router({ prefix: 'api' })
      .register('books', BookViewSet)
      .register('shelf/publishers', PublisherViewSet);
    const second = new Router({ prefix: 'api' }).register('readable', ReadOnlyBookViewSet);
    const bare = new Router().register('loose', ReadOnlyBookViewSet);
    const app = await testApp(t, orm, [router, second, bare]);
    const expected = { books: '/api/books', 'shelf/publishers': '/api/shelf/publishers', readable: '/api/readable' };
    t.strictSame((await app.inject('/api')).json(), expected);
    t.strictSame((await app.inject('/api/')).json(), expected);
    t.equal((await app.inject({ method: 'POST', url: '/api' })).headers.allow, 'GET, HEAD, OPTIONS');
    t.equal((await app.inject('/api?x=1')).statusCode, 400);
    t.equal((await app.inject('/')).statusCode, 404, 'a router without a prefix has no root');
  });

  t.test('the type of a router knows its views, also in a subclass', async (t) => {
    class PlainRouter extends Router {
      readonly isPlain = true;
      protected override actionPath(name: string) {
        return name;
      }
    }
    const router = new PlainRouter().register('books', BookViewSet).register('shelf/publishers', PublisherViewSet);
    type Views = NonNullable<(typeof router)['~views']>;
    const views: Views = { books: BookViewSet, 'shelf/publishers': PublisherViewSet };
    // @ts-expect-error no view has this path
    const missing: Views['shelf'] = undefined;
    t.ok(router.isPlain);
    await testApp(t, orm, [router]);
    t.equal(router.reverse('shelf-publishers-detail', { pk: 1 }), '/shelf/publishers/1');
    t.strictSame([Object.keys(views).length, missing], [2, undefined]);
  });

  t.test('a router mounts views under its prefix and knows their paths by name', async (t) => {
    const router = new Router({ prefix: '/api/v1/' });
    router.register('books', BookViewSet).register('shelf/publishers', PublisherViewSet, { basename: 'publisher' });
    t.throws(() => router.reverse('books-list'), /names exist once the router is mounted \(await app\.register/);
    const app = await testApp(t, orm, [router]);
    t.equal((await app.inject('/api/v1/books')).statusCode, 200);
    t.equal((await app.inject('/api/v1/shelf/publishers/1')).statusCode, 200);
    t.equal(router.reverse('books-list'), '/api/v1/books');
    t.equal(router.reverse('books-detail', { pk: 'a/b' }), '/api/v1/books/a%2Fb');
    t.equal(router.reverse('publisher-detail', { pk: 7n }), '/api/v1/shelf/publishers/7');
    t.equal(app.viewset.routeNames.reverse('publisher-list'), '/api/v1/shelf/publishers');
    t.throws(() => router.reverse('books-lits'), /No route is named "books-lits"; did you mean "books-list"\?/);
    t.throws(() => router.reverse('books-detail'), /needs the parameter "pk"/);
    t.throws(() => router.reverse('books-list', { pk: 1 }), /takes no parameter "pk"/);
  });

  t.test('Location and reverse count the prefix of the Fastify scope in', async (t) => {
    const router = new Router({ prefix: 'api' }).register('books', BookViewSet);
    const app = fastify(serverOptions());
    t.teardown(() => app.close());
    await app.register(viewset, { orm });
    await app.register(router.plugin, { prefix: '/tenant' });
    const created = await app.inject({ method: 'POST', url: '/tenant/api/books', payload: { title: 'Fir' } });
    t.equal(created.statusCode, 201);
    t.equal(created.headers['location'], `/tenant/api/books/${created.json().id}`);
    t.equal(router.reverse('books-list'), '/tenant/api/books');
  });

  t.test('one application may have several routers', async (t) => {
    const one = new Router({ prefix: 'a' }).register('books', BookViewSet, { basename: 'a-books' });
    const two = new Router({ prefix: 'b' }).register('books', BookViewSet, { basename: 'b-books' });
    const app = await testApp(t, orm, [one, two]);
    t.equal((await app.inject('/a/books')).statusCode, 200);
    t.equal((await app.inject('/b/books')).statusCode, 200);
  });

  t.test('two views on one path, two paths with one name and a second mount are rejected', async (t) => {
    t.throws(
      () => new Router().register('books', BookViewSet).register('/books/', PublisherViewSet),
      new ImproperlyConfigured('Router: path "books" has BookViewSet already, and cannot have PublisherViewSet too'),
    );
    const one = new Router({ prefix: 'a' }).register('books', BookViewSet);
    const two = new Router({ prefix: 'b' }).register('books', BookViewSet);
    await t.rejects(testApp(t, orm, [one, two]), /Route name "books-list" already belongs to \/a\/books/);
    const same = new Router({ prefix: 'a' }).register('books', BookViewSet, { basename: 'others' });
    const other = new Router({ prefix: 'a' }).register('books', PublisherViewSet);
    await t.rejects(testApp(t, orm, [same, other]), /PublisherViewSet: another route has GET \/a\/books already/);
    const twice = new Router().register('books', BookViewSet);
    await t.rejects(testApp(t, orm, [twice, twice]), /can be mounted only once/);
    t.throws(() => twice.register('late', BookViewSet), /was registered after the router was mounted/);
  });

  t.test('two actions on one path are rejected', async (t) => {
    class TwiceViewSet extends ModelViewSet(Book, { read: readShape(Book, ['id']) }) {
      one = action({ urlPath: 'same' }, async () => ({}));
      two = action({ urlPath: 'same' }, async () => ({}));
    }
    await t.rejects(
      testApp(t, orm, [new Router().register('books', TwiceViewSet)]),
      /TwiceViewSet: another route has GET \/books\/same/,
    );
  });

  t.test('invalid arguments are rejected with the expected values', async (t) => {
    t.throws(() => new Router({ prefx: 'api' } as never), /unknown option "prefx"; did you mean "prefix"/);
    t.throws(() => new Router().register('books/:id', BookViewSet), /option "path" must be a path without parameters/);
    t.throws(() => new Router().register('books', class {} as never), /option "view" must be a ViewSet class/);
    const alone = fastify();
    t.teardown(() => alone.close());
    await t.rejects(async () => alone.register(new Router().plugin), /register the viewset plugin first/);
  });

  t.test('a view has the routes of its operations and no others', async (t) => {
    const router = new Router();
    router.register('read', ReadOnlyBookViewSet).register('append', AppendOnlyBookViewSet);
    const app = await testApp(t, orm, [router]);
    const allow = async (url: string) => (await app.inject({ method: 'OPTIONS', url })).headers['allow'];
    t.equal(await allow('/read'), 'GET, HEAD, OPTIONS');
    t.equal(await allow('/read/1'), 'GET, HEAD, OPTIONS');
    t.equal(await allow('/append'), 'GET, HEAD, POST, OPTIONS');
    t.equal((await app.inject('/append/1')).statusCode, 404);
    t.equal((await app.inject({ method: 'PUT', url: '/append', payload: {} })).statusCode, 405);
    t.equal((await app.inject({ method: 'DELETE', url: '/read/1' })).statusCode, 405);
  });

  t.test('a trailing slash makes no difference, with and without serverOptions', async (t) => {
    const bare = fastify();
    t.teardown(() => bare.close());
    await bare.register(viewset, { orm });
    await bare.register(new Router().register('books', BookViewSet).plugin);
    const app = await testApp(t, orm, [new Router().register('books', BookViewSet)]);
    for (const server of [bare, app]) {
      t.equal((await server.inject('/books/')).json().count, (await server.inject('/books')).json().count);
      t.equal((await server.inject('/books/1/')).statusCode, 200);
      t.equal((await server.inject({ method: 'PUT', url: '/books/' })).statusCode, 405);
    }
  });

  t.test('a route of the application itself gets the same 405 and OPTIONS', async (t) => {
    const app = await testApp(t, orm, [], { before: (app) => void app.get('/own/:x', async () => ({ own: true })) });
    const wrong = await app.inject({ method: 'POST', url: '/own/1' });
    t.equal(wrong.statusCode, 405);
    t.equal(wrong.headers['allow'], 'GET, HEAD, OPTIONS');
    const options = await app.inject({ method: 'OPTIONS', url: '/own/1' });
    t.equal(options.statusCode, 204);
    t.equal(options.body, '');
    const unknown = await app.inject('/nothing/here');
    t.equal(unknown.statusCode, 404);
    t.same(unknown.json(), { error: 'No route GET /nothing/here', code: 'not_found' });
  });

  t.test('a route that calls callNotFound returns 404, not 405', async (t) => {
    const before = (app: FastifyInstance) => void app.get('/own/:x', (_request, reply) => reply.callNotFound());
    const app = await testApp(t, orm, [], { before });
    const absent = await app.inject('/own/1');
    t.same([absent.statusCode, absent.json()], [404, { error: 'Not found', code: 'not_found' }]);
    t.equal((await app.inject({ method: 'HEAD', url: '/own/1' })).statusCode, 404);
    t.equal((await app.inject({ method: 'POST', url: '/own/1' })).statusCode, 405);
  });

  t.test('an entity that the ORM does not have is found out at registration', async (t) => {
    const { defineEntity, p } = await import('@mikro-orm/core');
    const Ghost = defineEntity({ name: 'Ghost', properties: { id: p.integer().primary() } });
    class GhostViewSet extends ModelViewSet(Ghost, { read: readShape(Ghost, ['id']) }) {}
    await t.rejects(testApp(t, orm, [new Router().register('ghosts', GhostViewSet)]), {
      message: 'GhostViewSet: entity "Ghost": Ghost is not among the entities of this MikroORM',
    });
  });
});
