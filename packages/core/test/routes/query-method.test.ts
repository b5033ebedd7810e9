/** QUERY (RFC 10008): the list of a GET whose parameters stand in a JSON body. */
import cors from '@fastify/cors';
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import t from 'tap';
import {
  CursorPagination,
  ImproperlyConfigured,
  IsAuthenticated,
  IsSafeMethodOnly,
  many,
  MemoryStore,
  ModelViewSet,
  PageNumberPagination,
  PathRateLimit,
  Permission,
  type PermissionView,
  readShape,
  Router,
  writeShape,
} from '../../src/index.ts';
import { forEachDatabase, openSqlite } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Author = defineEntity({
  name: 'Author',
  properties: { id: p.integer().primary(), name: p.string(), books: () => p.oneToMany(Book).mappedBy('author') },
});
const Book = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(40),
    price: p.decimal('number').precision(10).scale(2).nullable(),
    serial: p.bigint('bigint').nullable(),
    sold: p.boolean().default(false),
    published: p.date().nullable(),
    author: () => p.manyToOne(Author).nullable(),
  },
});

class HidesSecrets extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<InferEntity<typeof Book>>(view, { title__ne: 'secret' });
  }
}
const options = {
  read: readShape(Book, ['id', 'title', 'price']),
  write: writeShape(Book, ['title', 'price']),
  searchFields: ['title'],
  filterFields: {
    title: 'title',
    titles: 'title__in',
    min_price: 'price__gte',
    sold: 'sold',
    serial: 'serial',
    year: 'published__range',
    priceless: 'price__isnull',
  },
  jsonLogicFields: ['title', 'price', 'author.name'],
  orderingFields: { title: 'title', price: 'price' },
  permissionClasses: [HidesSecrets.and(IsSafeMethodOnly.or(IsAuthenticated))],
  queryMethod: true,
} as const;
class BookViewSet extends ModelViewSet(Book, {
  ...options,
  exports: ['csv', 'ndjson'],
  expand: { author: readShape(Author, ['name']) },
}) {}
class GetOnlyViewSet extends ModelViewSet(Book, { read: options.read }) {}
class PrivateViewSet extends ModelViewSet(Book, { ...options, permissionClasses: [IsAuthenticated] }) {}
class AuthorViewSet extends ModelViewSet(Author, {
  read: readShape(Author, ['id', 'name'], { books: many('books.title') }),
}) {}
class LinkedPages extends PageNumberPagination {
  override readonly links = true;
}
class LinkedViewSet extends ModelViewSet(Book, {
  ...options,
  pagination: LinkedPages,
  ignoreUnknownParameters: ['trace'],
}) {
  override async list(...given: Parameters<InstanceType<typeof BookViewSet>['list']>) {
    const [request, reply] = given;
    void reply.header('x-query', JSON.stringify(request.query));
    return super.list(request, reply);
  }
}
class CursorViewSet extends ModelViewSet(Book, { ...options, pagination: CursorPagination }) {}

const router = (): Router =>
  new Router()
    .register('books', BookViewSet)
    .register('gets', GetOnlyViewSet)
    .register('private', PrivateViewSet)
    .register('linked', LinkedViewSet)
    .register('cursors', CursorViewSet)
    .register('authors', AuthorViewSet)
    .register('authors/:author/books', BookViewSet);

const RULE = { or: [{ '<': [{ var: 'price' }, 3] }, { '==': [{ var: 'author.name' }, 'Bob'] }] };
/** A body, and the query string that means the same. */
const PAIRS: readonly (readonly [body: Record<string, unknown>, query: string])[] = [
  [{}, ''],
  [{ search: 'a' }, 'search=a'],
  [{ search: '' }, 'search='],
  [{ min_price: 2.5 }, 'min_price=2.5'],
  [{ min_price: '2.5' }, 'min_price=2.5'],
  [{ sold: true }, 'sold=true'],
  [{ priceless: false }, 'priceless=false'],
  [{ serial: '9007199254740993' }, 'serial=9007199254740993'],
  [{ title: ['Ash', 'Elm'] }, 'title=Ash&title=Elm'],
  [{ titles: ['Ash', 'Elm'] }, 'titles=Ash,Elm'],
  [{ titles: 'Ash,Elm' }, 'titles=Ash,Elm'],
  [{ year: ['2001-01-01', '2002-12-31'] }, 'year=2001-01-01,2002-12-31'],
  [{ sort: ['-price', 'title'], page: 2, page_size: 2 }, 'sort=-price,title&page=2&page_size=2'],
  [{ sort: '-title' }, 'sort=-title'],
  [{ filter: RULE }, `filter=${encodeURIComponent(JSON.stringify(RULE))}`],
  [{ filter: JSON.stringify(RULE) }, `filter=${encodeURIComponent(JSON.stringify(RULE))}`],
  [{ expand: ['author'], fields: ['title', 'author'] }, 'expand=author&fields=title,author'],
  [
    { search: 'a', min_price: 2, filter: RULE, sort: 'price' },
    `search=a&min_price=2&filter=${encodeURIComponent(JSON.stringify(RULE))}&sort=price`,
  ],
];

/** A body with faults, and the query string that has the same. */
const FAULTY: readonly (readonly [body: Record<string, unknown>, query: string, paths: readonly string[]])[] = [
  [{ min_price: 'much' }, 'min_price=much', ['/min_price']],
  [
    { min_price: 'much', page: 0, sort: 'colour' },
    'min_price=much&page=0&sort=colour',
    ['/min_price', '/sort', '/page'],
  ],
  [{ min_prise: 1 }, 'min_prise=1', ['/min_prise']],
  [{ min_prise: 1, page: 0 }, 'min_prise=1&page=0', ['/min_prise', '/page']],
  [{ page: [1, 2] }, 'page=1&page=2', ['/page']],
  [{ filter: { like: [{ var: 'title' }, 'A'] } }, 'filter={"like":[{"var":"title"},"A"]}', ['/filter']],
  [{ filter: { '==': [{ var: 'secret' }, 'A'] } }, 'filter={"%3D%3D":[{"var":"secret"},"A"]}', ['/filter']],
  [{ search: 'a\0' }, 'search=a%00', ['/search']],
  [{ year: ['2001-01-01'] }, 'year=2001-01-01', ['/year']],
  [{ fields: ['isbn'] }, 'fields=isbn', ['/fields']],
  [{ search: 'a '.repeat(21).trim() }, `search=${'a+'.repeat(21).slice(0, -1)}`, []],
];

forEachDatabase(t, { entities: [Author, Book] }, async (t, orm) => {
  const em = orm.em.fork();
  em.create(Author, { id: 1, name: 'Ada' });
  em.create(Author, { id: 2, name: 'Bob' });
  em.create(Book, { id: 1, title: 'Ash', price: 2.5, author: 1, published: '2001-05-05', serial: 9007199254740993n });
  em.create(Book, { id: 2, title: 'Birch', price: null, author: 2, sold: true, published: '2003-05-05' });
  em.create(Book, { id: 3, title: 'Cedar', price: 30, author: 1, published: '2002-05-05' });
  em.create(Book, { id: 4, title: 'secret', price: 1, author: 1 });
  em.create(Book, { id: 5, title: 'Elm', price: 4, author: null, sold: true });
  await em.flush();
  let app: FastifyInstance;
  t.beforeEach(async (t) => {
    app = await testApp(t, orm, [router()], { options: { secret: 'x'.repeat(32) } });
  });
  const query = (payload: unknown, url = '/books', headers: Record<string, string> = {}) =>
    app.inject({
      method: 'QUERY',
      url,
      headers: { 'content-type': 'application/json', ...headers },
      payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
    });

  await t.test('QUERY returns the same as the GET with the same parameters', async (t) => {
    for (const [body, text] of PAIRS) {
      const [queried, got] = [await query(body), await app.inject(`/books?${text}`)];
      t.equal(got.statusCode, 200, text);
      t.equal(queried.statusCode, 200, JSON.stringify(body));
      t.equal(queried.body, got.body, JSON.stringify(body));
      t.equal(queried.headers['content-type'], got.headers['content-type']);
      t.equal(queried.headers.vary, got.headers.vary);
    }
    t.same(
      (await query({ filter: RULE })).json().results.map(({ id }: { id: number }) => id),
      [1, 2],
    );
  });

  await t.test('errors repeat the values of the client unchanged', async (t) => {
    const told = async (body: object) => (await query(body)).json().error as string;
    const text = 'Query parameter "x"';
    t.match(await told({ sort: text }), /^Body member "sort" .*Query parameter "x"/);
    t.match(
      await told({ [text]: 1, page: 0 }),
      /^Body member "Query parameter "x"" is not known .*; Body member "page" /,
    );
  });

  await t.test('errors are those of the GET, with the paths of the body', async (t) => {
    for (const [body, text, paths] of FAULTY) {
      const [queried, got] = [await query(body), await app.inject(`/books?${text}`)];
      t.equal(got.statusCode, 400, text);
      t.equal(queried.statusCode, 400, JSON.stringify(body));
      t.equal(queried.json().error, got.json().error.replaceAll('Query parameter "', 'Body member "'));
      t.equal(queried.json().code, 'invalid_usage');
      t.same(
        queried.json().details,
        got.json().details.map((detail: object) => ({ ...detail, in: 'body' })),
      );
      t.same(
        paths.filter((path) => !queried.json().details.some((one: { path: string }) => one.path === path)),
        [],
      );
    }
  });

  await t.test('a value that a query string could not have is refused by name', async (t) => {
    const values: readonly (readonly [name: string, value: unknown, message: RegExp])[] = [
      ['min_price', null, /must be a text, a number/],
      ['title', [], /must not be an empty list/],
      ['title', [['Ash']], /must be a text, a number/],
      ['title', { exact: 'Ash' }, /must be a text, a number/],
      ['serial', 2 ** 53, /send it as a text/],
      ['filter', null, /must be a text/],
      ['filter', [RULE], /must be a text/],
    ];
    for (const [name, value, message] of values) {
      const answer = await query({ [name]: value, page: 0 });
      t.equal(answer.statusCode, 400, `${name} ${JSON.stringify(value)}`);
      t.match(answer.json().details, [
        { in: 'body', path: `/${name}`, message },
        { in: 'body', path: '/page' },
      ]);
      t.match(answer.json().error, /Body member "page"/);
      t.notMatch(answer.json().error, /Query parameter/);
    }
  });

  await t.test('a body that is not a JSON object returns 400, another media type 415', async (t) => {
    const is = async (payload: string, status: number, code: string, headers = {}) => {
      const answer = await query(payload, '/books', headers);
      t.equal(answer.statusCode, status, payload);
      t.equal(answer.json().code, code, payload);
    };
    for (const text of ['{', '{"page":1,"page":2}', '{"min_price":1e999}', '']) await is(text, 400, 'parse_error');
    for (const text of ['[]', 'null', '"page=1"', '7']) await is(text, 400, 'invalid_usage');
    t.match((await query('[]')).json().details, [{ in: 'body', path: '', message: 'must be an object' }]);
    await is('page=1', 415, 'unsupported_media_type', { 'content-type': 'application/x-www-form-urlencoded' });
    const bare = await app.inject({ method: 'QUERY', url: '/books' });
    t.equal(bare.statusCode, 400);
    t.equal(bare.json().code, 'parse_error');
    const inherited = ['{"__proto__":{"page":2}}', '{"constructor":{"prototype":1}}'];
    for (const text of inherited) await is(text, 400, 'invalid_usage');
    const depth = 100_000;
    await is(`{"filter":${'{"!":'.repeat(depth)}1${'}'.repeat(depth)}}`, 400, 'invalid_usage');
    await is(`{"title":${'['.repeat(depth)}${']'.repeat(depth)}}`, 400, 'invalid_usage');
    await is(JSON.stringify({ search: 'a'.repeat(2 ** 20) }), 413, 'payload_too_large');
  });

  await t.test('parameters in the URL are refused, but for those that the view ignores', async (t) => {
    const answer = await query({}, '/books?page=2');
    t.equal(answer.statusCode, 400);
    t.match(answer.json().details, [{ in: 'query', path: '/page', message: 'must stand in the body' }]);
    t.equal((await query({}, '/linked?trace=1')).statusCode, 200);
    t.equal((await query({}, '/linked?trace=1&page=2')).statusCode, 400);
  });

  await t.test('a view without queryMethod returns 405, and Allow omits QUERY', async (t) => {
    t.equal((await query({}, '/gets')).statusCode, 405);
    t.equal((await query({}, '/gets')).headers.allow, 'GET, HEAD, OPTIONS');
    t.equal((await query({}, '/nothing')).statusCode, 404);
    const told = await app.inject({ method: 'OPTIONS', url: '/books' });
    t.equal(told.headers.allow, 'GET, HEAD, QUERY, POST, OPTIONS');
    t.equal(told.headers['accept-query'], 'application/json');
    t.equal((await app.inject({ method: 'OPTIONS', url: '/gets' })).headers['accept-query'], undefined);
    t.equal((await query({}, '/books/1')).statusCode, 405, 'nor does a record');
  });

  await t.test('permissions treat QUERY as a safe method, and scopes apply', async (t) => {
    t.equal((await query({ titles: ['secret', 'Ash'] })).json().count, 1);
    t.equal((await app.inject({ method: 'POST', url: '/books', payload: { title: 'New', price: 1 } })).statusCode, 401);
    const refused = await query('{', '/private');
    t.equal(refused.statusCode, 401, 'before the body is read');
    t.equal((await query({}, '/private', { 'x-user': 'ann' })).statusCode, 200);
  });

  await t.test('below a parent it lists the records of the parent', async (t) => {
    t.same(
      (await query({ sort: '-title' }, '/authors/1/books')).json().results.map(({ title }: { title: string }) => title),
      ['Cedar', 'Ash'],
    );
    t.equal((await query({ search: 'nothing' }, '/authors/1/books')).json().count, 0);
    t.equal((await query({}, '/authors/9/books')).statusCode, 404);
  });

  await t.test('exports go by the Accept header', async (t) => {
    const csv = await query({ min_price: 3, fields: ['title'] }, '/books', { accept: 'text/csv' });
    t.equal(csv.body, 'title\r\nCedar\r\nElm\r\n');
    const lines = await query({ filter: RULE }, '/books', { accept: 'application/x-ndjson' });
    t.equal(
      lines.body,
      (
        await app.inject({
          url: `/books?filter=${encodeURIComponent(JSON.stringify(RULE))}`,
          headers: { accept: 'application/x-ndjson' },
        })
      ).body,
    );
  });

  await t.test('a cursor works with GET and QUERY; links, which are for GET, are omitted', async (t) => {
    const { next_cursor: cursor } = (await query({ page_size: 2 }, '/cursors')).json();
    const second = await query({ page_size: 2, cursor }, '/cursors');
    t.equal(second.statusCode, 200);
    const third = await app.inject(`/cursors?page_size=2&cursor=${cursor}`);
    t.same(second.json().results, third.json().results);
    t.equal((await query({ page_size: 1 }, '/linked')).headers.link, undefined);
    t.type((await app.inject('/linked?page_size=1')).headers.link, 'string');
  });

  await t.test('an override of list reads the same query as with GET', async (t) => {
    const answer = await query({ trace: 'abc', title: ['Ash', 'Elm'], min_price: 3, filter: RULE }, '/linked');
    t.same(JSON.parse(String(answer.headers['x-query'])), {
      trace: 'abc',
      title: ['Ash', 'Elm'],
      min_price: '3',
      filter: RULE,
    });
  });
});

t.test('a path throttle of GET counts QUERY', async (t) => {
  const orm = await openSqlite(t, { entities: [Author, Book] });
  const throttles = [new PathRateLimit(2, 60, { path: 'GET /books' })];
  const app = await testApp(t, orm, [router()], {
    options: { secret: 'x'.repeat(32), throttles, store: new MemoryStore() },
  });
  const query = () => app.inject({ method: 'QUERY', url: '/books', payload: {} });
  t.equal((await app.inject('/books')).statusCode, 200);
  t.equal((await query()).statusCode, 200);
  t.equal((await query()).statusCode, 429);
});

t.test('a page of another origin may send it if CORS names the method', async (t) => {
  const orm = await openSqlite(t, { entities: [Author, Book] });
  const app = await testApp(t, orm, [router()], {
    options: { secret: 'x'.repeat(32) },
    before: async (app) => {
      await app.register(cors, { origin: 'https://shop.example', methods: ['GET', 'QUERY'] });
    },
  });
  const headers = { origin: 'https://shop.example', 'access-control-request-method': 'QUERY' };
  const preflight = await app.inject({ method: 'OPTIONS', url: '/books', headers });
  t.equal(preflight.statusCode, 204);
  t.match(preflight.headers['access-control-allow-methods'], /QUERY/);
});

t.test('the plan has a separate operation whose body has the parameters of the list', async (t) => {
  const orm = await openSqlite(t, { entities: [Author, Book] });
  const app = await testApp(t, orm, [router()], { options: { secret: 'x'.repeat(32) } });
  const plan = app.viewset.operations.find(({ operationId }) => operationId === 'queryBooks');
  t.match(plan, { action: 'list', method: 'QUERY', route: 'books-list', path: '/books', transaction: false });
  t.same(plan!.queryParameters, []);
  const list = app.viewset.operations.find(({ operationId }) => operationId === 'listBooks');
  const { properties, $defs } = plan!.body!.schema as unknown as { properties: Record<string, object>; $defs: object };
  t.same(
    Object.keys(properties),
    list!.queryParameters.map(({ name }) => name),
  );
  t.match(properties['filter'], { $ref: '#/$defs/BookRule' });
  t.ok(Object.hasOwn($defs, 'BookRule'));
  const errors = Object.keys(plan!.responses);
  t.same(errors, ['200', '400', '401', '403', '405', '408', '413', '414', '415', '500', '503']);
  t.ok(app.viewset.operations.some(({ operationId }) => operationId === 'queryAuthorBooks'));
});

t.test('the option needs a list', async (t) => {
  const orm = await openSqlite(t, { entities: [Author, Book] });
  class NoListViewSet extends ModelViewSet(Book, { read: options.read, operations: ['retrieve'], queryMethod: true }) {}
  await t.rejects(
    testApp(t, orm, [new Router().register('books', NoListViewSet)]),
    new ImproperlyConfigured(
      'NoListViewSet: option "queryMethod" needs the operation "list", which the view does not offer',
    ),
  );
});
