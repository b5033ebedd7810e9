import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import {
  action,
  AllowAny,
  IPRateLimit,
  IsAuthenticated,
  ModelViewSet,
  type OperationPlan,
  readShape,
  Router,
  ViewSet,
  writeShape,
} from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { Book, LIBRARY, testApp } from '../support/library.ts';

class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title']),
  write: writeShape(Book, ['title']),
  searchFields: ['title'],
  filterFields: { min_pages: 'pages__gte' },
  jsonLogicFields: ['pages'],
  orderingFields: { title: 'title' },
  pageSize: 20,
  maxPageSize: 50,
  description: 'Everything that was printed',
  tags: ['catalogue'],
  deprecated: true,
  summaries: { list: 'All books' },
  permissionClasses: [IsAuthenticated],
}) {
  newest = action({ listParameters: false, permissionClasses: [AllowAny], deprecated: false }, async () => ({}));
  recount = action(
    {
      methods: ['post'],
      detail: true,
      body: Type.Object({ stock: Type.Integer() }),
      responses: { 200: Type.Object({ stock: Type.Integer() }), 202: null },
      transaction: true,
      bodyLimit: 1000,
      description: 'Counts again',
      tags: ['stock'],
      examples: { body: { stock: 5 }, responses: { 200: { stock: 5 } } },
    },
    async () => ({ stock: 1 }),
  );
}

class ReturnsViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title']),
  write: writeShape(Book, ['title']),
}) {
  override async create(request: FastifyRequest, reply: FastifyReply) {
    const answer = await super.create(request, reply);
    request.log.info('kept');
    return answer;
  }
}

class StatusViewSet extends ViewSet {
  override allowAnonymous = true;
  override list() {
    return {};
  }
  replace = action({ detail: true, methods: ['put', 'post'] }, async () => ({}));
  override update() {
    return {};
  }
}

forEachDatabase(t, { entities: LIBRARY, only: ['sqlite'] }, async (t, orm) => {
  const routes: RouteOptions[] = [];
  const documentedAtOnce: string[][] = [];
  const router = new Router({ prefix: 'api' })
    .register('books', BookViewSet)
    .register('shop/staff-status', StatusViewSet)
    .register('returns', ReturnsViewSet);
  const app = await testApp(t, orm, [router], {
    options: { throttles: [new IPRateLimit(100, 60)] },
    before: (app) =>
      void app.addHook('onRoute', (route) => {
        routes.push(route);
        documentedAtOnce.push(Object.keys((route.schema?.response as object | undefined) ?? {}));
      }),
  });
  const { operations } = app.viewset;
  const plan = (operationId: string): OperationPlan => {
    const found = operations.find((each) => each.operationId === operationId);
    if (found === undefined) throw new Error(`There is no operation ${operationId}`);
    return found;
  };

  t.test('every route is a plan with a unique operationId', async (t) => {
    t.strictSame(
      operations.map(({ operationId, method, path, route }) => [operationId, method, path, route]),
      [
        ['listBooks', 'GET', '/api/books', 'books-list'],
        ['createBook', 'POST', '/api/books', 'books-list'],
        ['retrieveBook', 'GET', '/api/books/:pk', 'books-detail'],
        ['replaceBook', 'PUT', '/api/books/:pk', 'books-detail'],
        ['updateBook', 'PATCH', '/api/books/:pk', 'books-detail'],
        ['destroyBook', 'DELETE', '/api/books/:pk', 'books-detail'],
        ['newestBooks', 'GET', '/api/books/newest', 'books-newest'],
        ['recountBook', 'POST', '/api/books/:pk/recount', 'books-recount'],
        ['listShopStaffStatus', 'GET', '/api/shop/staff-status', 'shop-staff-status-list'],
        ['replaceShopStaffStatus', 'PUT', '/api/shop/staff-status/:pk', 'shop-staff-status-detail'],
        ['updateShopStaffStatus', 'PATCH', '/api/shop/staff-status/:pk', 'shop-staff-status-detail'],
        ['replaceShopStaffStatusPut', 'PUT', '/api/shop/staff-status/:pk/replace', 'shop-staff-status-replace'],
        ['replaceShopStaffStatusPost', 'POST', '/api/shop/staff-status/:pk/replace', 'shop-staff-status-replace'],
        ['listReturns', 'GET', '/api/returns', 'returns-list'],
        ['createReturn', 'POST', '/api/returns', 'returns-list'],
        ['retrieveReturn', 'GET', '/api/returns/:pk', 'returns-detail'],
        ['replaceReturn', 'PUT', '/api/returns/:pk', 'returns-detail'],
        ['updateReturn', 'PATCH', '/api/returns/:pk', 'returns-detail'],
        ['destroyReturn', 'DELETE', '/api/returns/:pk', 'returns-detail'],
        ['listApiRoot', 'GET', '/api', 'api-root-list'],
      ],
    );
    t.ok(operations.every((each) => Object.isFrozen(each)));
  });

  t.test('a request has the plan of its route', async (t) => {
    t.equal(routes.find(({ url }) => url === '/api/books')?.config?.viewset, plan('listBooks'));
  });

  t.test('the parameters of a list have types, bounds, defaults and descriptions', async (t) => {
    const { queryParameters, pathParameters } = plan('listBooks');
    t.strictSame(pathParameters, []);
    t.strictSame(
      queryParameters.map(({ name }) => name),
      ['search', 'filter', 'min_pages', 'sort', 'page', 'page_size'],
    );
    const schemas = Object.fromEntries(queryParameters.map(({ name, schema }) => [name, schema]));
    t.match(schemas['min_pages'], { type: 'integer', description: 'Pages, at least' });
    t.match(schemas['sort'], { type: 'array', items: { enum: ['title', '-title'] } });
    t.match(schemas['page'], { type: 'integer', minimum: 1, default: 1 });
    t.match(schemas['page_size'], { type: 'integer', default: 20, description: /at most 50/ });
    t.match(queryParameters, [
      { name: 'search', compares: [{ field: 'title', lookup: 'icontains' }] },
      { name: 'filter' },
      { name: 'min_pages', compares: [{ field: 'pages', lookup: 'gte' }] },
      { name: 'sort', orders: { title: 'title' } },
      { name: 'page', pages: 'number' },
      { name: 'page_size', pages: 'size', maxPageSize: 50 },
    ]);
    t.strictSame(plan('createBook').queryParameters, []);
    t.match(plan('retrieveBook').pathParameters, [{ name: 'pk', required: true, schema: { type: 'integer' } }]);
  });

  t.test('a plan has every status that its route can return, with headers', async (t) => {
    const statuses = (id: string): number[] => Object.keys(plan(id).responses).map(Number);
    t.strictSame(statuses('listBooks'), [200, 400, 401, 403, 405, 414, 429, 500, 503]);
    t.strictSame(statuses('createBook'), [201, 400, 401, 403, 405, 408, 409, 412, 413, 414, 415, 429, 500, 503]);
    t.strictSame(statuses('destroyBook'), [204, 400, 401, 403, 404, 405, 408, 409, 412, 413, 414, 415, 429, 500, 503]);
    t.strictSame(statuses('newestBooks'), [200, 400, 405, 414, 429, 500, 503]);
    t.strictSame(statuses('recountBook').slice(0, 3), [200, 202, 400]);
    const { responses } = plan('createBook');
    const headers = (status: number): string[] => Object.keys(responses[status]!.headers);
    const rateLimit = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'];
    t.strictSame(headers(201), ['location', ...rateLimit]);
    t.strictSame(headers(401), ['www-authenticate', ...rateLimit]);
    t.strictSame(headers(429), ['retry-after', ...rateLimit]);
    t.equal(responses[400]!.schema, responses[503]!.schema, 'one body for every error');
    t.equal(plan('destroyBook').responses[204]!.schema, undefined);
  });

  t.test('the documentation of an operation defaults to that of its view', async (t) => {
    t.strictSame(plan('listBooks').documentation, {
      summary: 'All books',
      description: undefined,
      tags: ['catalogue'],
      deprecated: true,
      examples: {},
    });
    t.match(plan('recountBook').documentation, {
      summary: 'Recount book',
      description: 'Counts again',
      tags: ['stock'],
    });
    t.equal(plan('newestBooks').documentation.deprecated, false);
    t.strictSame(plan('listShopStaffStatus').documentation.tags, ['shop-staff-status']);
    t.match(plan('listBooks').view, {
      name: 'BookViewSet',
      description: 'Everything that was printed',
      entity: 'Book',
    });
  });

  t.test('the declaration of an action is in its plan', async (t) => {
    const recount = plan('recountBook');
    t.match(recount, { transaction: true, bodyLimit: 1000, detail: true, allowsAnonymous: false });
    t.match(recount.body, { required: true, contentTypes: ['application/json'] });
    t.equal(plan('newestBooks').allowsAnonymous, true);
    t.equal(plan('listShopStaffStatus').allowsAnonymous, true);
  });

  t.test('a plan says which operations run in a transaction', async (t) => {
    const isWhole = (id: string): boolean => plan(id).transaction;
    t.strictSame(['createBook', 'replaceBook', 'updateBook', 'destroyBook'].map(isWhole), [true, true, true, true]);
    t.strictSame(['listBooks', 'retrieveBook', 'newestBooks', 'updateShopStaffStatus'].filter(isWhole), []);
    t.strictSame(['createReturn', 'updateReturn'].map(isWhole), [false, true], 'nothing is known of an override');
  });

  t.test('the Fastify schema of every route agrees with its plan', async (t) => {
    for (const [index, { schema, config, method }] of routes.entries()) {
      const route = config?.viewset;
      if (route === undefined) continue;
      const { querystring, params, body, response, ...rest } = schema as Record<string, Record<string, object>>;
      const names = (value: object | undefined): string[] =>
        Object.keys((value as { properties?: object })?.properties ?? {});
      t.strictSame(
        names(querystring),
        route.queryParameters.map(({ name }) => name),
        route.operationId,
      );
      t.strictSame(
        names(params),
        route.pathParameters.map(({ name }) => name),
      );
      t.equal(body === undefined, route.body === undefined);
      const statuses = Object.keys(route.responses);
      t.strictSame(Object.keys(response!), statuses, `${String(method)} ${route.path}`);
      t.strictSame(documentedAtOnce[index], statuses, 'to hooks of routes too');
      for (const [status, { headers }] of Object.entries(route.responses)) {
        t.strictSame(Object.keys((response![status] as { headers?: object }).headers ?? {}), Object.keys(headers));
      }
      t.equal(rest['operationId'], route.operationId);
      t.strictSame(rest['security'], route.allowsAnonymous ? [] : undefined);
    }
  });
});
