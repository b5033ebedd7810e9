/** One test for each row of docs/limits.md. */
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { InferEntity } from '@mikro-orm/core';
import { fastify, type FastifyInstance, type FastifyRequest, type FastifyServerOptions } from 'fastify';
import t, { type Test } from 'tap';
import {
  action,
  HeaderRateLimit,
  IsAuthenticated,
  JsonLogicFilter,
  LimitOffsetPagination,
  MemoryStore,
  ModelViewSet,
  OrderingFilter,
  QueryParameterFilter,
  readShape,
  Router,
  SearchFilter,
  serverOptions,
  viewset,
  type ViewsetOptions,
  type WriteData,
  writeShape,
} from '../../src/index.ts';
import { forEachDatabase, openPostgreSql, openSqlite, skipPostgreSql } from '../support/databases.ts';
import { Book, fillLibrary, LIBRARY, testApp } from '../support/library.ts';

/** Comes when a test lets a `slow` request go on. */
let goOn: () => void = () => {};
let gate = Promise.resolve();
function closeGate(): void {
  gate = new Promise((resolve) => (goOn = resolve));
}

const declared = {
  read: readShape(Book, ['id', 'title', 'pages']),
  write: writeShape(Book, ['title', 'pages']),
  searchFields: ['title'],
  filterFields: { pages: 'pages', pages_in: 'pages__in' },
  orderingFields: { pages: 'pages' },
} as const;

class BookViewSet extends ModelViewSet(Book, declared) {
  slow = action({}, async () => {
    await gate;
    return {};
  });
}

class MembersViewSet extends ModelViewSet(Book, { ...declared, permissionClasses: [IsAuthenticated] }) {}

class FewValues extends QueryParameterFilter {
  override readonly maximumValues = 2;
}
class SmallRules extends JsonLogicFilter {
  override readonly maximumDepth = 2;
  override readonly maximumComparisons = 2;
  override readonly maximumValues = 2;
}
class FewWords extends SearchFilter {
  override readonly maximumWords = 2;
}
class StrictViewSet extends ModelViewSet(Book, {
  ...declared,
  filters: [FewWords, SmallRules, FewValues, OrderingFilter],
  pageSize: 2,
  maxPageSize: 3,
}) {}
class OffsetViewSet extends ModelViewSet(Book, {
  ...declared,
  pagination: LimitOffsetPagination,
  pageSize: 2,
  maxPageSize: 3,
}) {}

interface Limits {
  readonly server?: FastifyServerOptions & { readonly http?: object };
  readonly plugin?: Partial<ViewsetOptions>;
}

/** An application on an empty database in memory, or on the one given. */
async function newApp(t: Test, limits: Limits = {}, given?: ViewsetOptions['orm']): Promise<FastifyInstance> {
  const orm = given ?? (await openSqlite(t, { entities: LIBRARY }));
  const app = fastify(serverOptions(limits.server ?? {}));
  t.teardown(() => app.close());
  await app.register(viewset, { orm, ...limits.plugin });
  const router = new Router();
  router.register('books', BookViewSet).register('members', MembersViewSet);
  router.register('strict', StrictViewSet).register('offset', OffsetViewSet);
  await app.register(router.plugin);
  await app.ready();
  return app;
}

interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: { readonly code?: string; readonly error?: string };
}

/** Writes to a socket what no client would send, and reads until the server closes it or has answered. */
async function raw(app: FastifyInstance, text: string): Promise<Answer> {
  if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' });
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(text);
  let received = '';
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    received += chunk.toString();
    const [head, body] = received.split('\r\n\r\n');
    const length = Number(/content-length: (\d+)/i.exec(head ?? '')?.[1]);
    if (body !== undefined && body.length >= length) break;
  }
  socket.destroy();
  const [head = '', body = ''] = received.split('\r\n\r\n');
  return { status: Number(/^HTTP\/1.1 (\d+)/.exec(head)?.[1]), head, body: JSON.parse(body || '{}') as Answer['body'] };
}

const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;

const STATUSES = { invalid_usage: 400, not_found: 404, uri_too_long: 414, service_unavailable: 503 };

/** Asks for a URL, and expects an error of this code. */
async function refuses(t: Test, app: FastifyInstance, url: string, code: keyof typeof STATUSES, error = /./) {
  const answer = await app.inject(url);
  t.equal(answer.statusCode, STATUSES[code], `${url.slice(0, 60)}: ${answer.body.slice(0, 200)}`);
  t.match(answer.json(), { code, error });
}

async function takes(t: Test, app: FastifyInstance, url: string): Promise<void> {
  const answer = await app.inject(url);
  t.equal(answer.statusCode, 200, `${url.slice(0, 60)}: ${answer.body.slice(0, 200)}`);
}

const rule = (value: object): string => encodeURIComponent(JSON.stringify(value));

t.test('the size of a body', async (t) => {
  const post = (app: FastifyInstance, bytes: number) =>
    app.inject({ method: 'POST', url: '/books', payload: { title: 'x', more: 'x'.repeat(bytes) } });
  const app = await newApp(t);
  t.equal((await post(app, 2 ** 20 - 100)).statusCode, 201, '1 MiB');
  const answer = await post(app, 2 ** 20);
  t.equal(answer.statusCode, 413);
  t.match(answer.json(), { code: 'payload_too_large' });
  t.equal((await post(await newApp(t, { server: { bodyLimit: 100 } }), 100)).statusCode, 413, 'configured');
});

t.test('the depth of a body, and the number of errors in a response', async (t) => {
  const app = await newApp(t);
  const post = async (payload: string) =>
    app.inject({ method: 'POST', url: '/books', payload, headers: { 'content-type': 'application/json' } });
  for (const depth of [101, 200_000]) {
    const answer = await post(`{"title":${'['.repeat(depth)}${']'.repeat(depth)}}`);
    t.equal(answer.statusCode, 400, `${depth} levels`);
    t.match(answer.json(), { code: 'invalid_usage' });
  }
  const many = await post(`{${Array.from({ length: 60 }, (_, index) => `"p${index}":"\\u0000"`).join()}}`);
  t.equal(many.statusCode, 400);
  t.equal(many.json().details.length, 50);
});

t.test('the length of a URL', async (t) => {
  const app = await newApp(t, { server: { http: { maxHeaderSize: 65_536 } } });
  const url = (length: number, path = '/books?search=') => path + 'x'.repeat(length - path.length);
  t.equal((await raw(app, get(url(16_384)))).status, 200);
  const answer = await raw(app, get(url(16_385)));
  t.equal(answer.status, 414);
  t.match(answer.body, { code: 'uri_too_long', error: /16384/ });
  t.equal((await raw(app, get(url(16_385, '/members?search=')))).status, 414, 'before anybody is asked who they are');
  t.equal((await raw(app, get(url(16_385, '/nowhere?search=')))).status, 414, 'of an unknown path too');
  const short = await newApp(t, { plugin: { maxUrlLength: 100 } });
  await takes(t, short, url(100));
  await refuses(t, short, url(101), 'uri_too_long');
});

t.test("the URL and the headers together, which is Node's", async (t) => {
  const app = await newApp(t);
  const headers = await raw(app, get('/books', `X-Long: ${'x'.repeat(17_000)}\r\n`));
  t.equal(headers.status, 431);
  t.match(headers.body, { code: 'headers_too_large' });
  const url = await raw(app, get(`/books?search=${'x'.repeat(17_000)}`));
  t.equal(url.status, 414, 'where the URL alone is too long, the answer says so');
  t.match(url.body, { code: 'uri_too_long' });
  const small = await newApp(t, { server: { http: { maxHeaderSize: 1000 } } });
  t.equal((await raw(small, get('/books', `X-Long: ${'x'.repeat(1000)}\r\n`))).status, 431, 'configured');
});

t.test('the length of a path parameter', async (t) => {
  await refuses(t, await newApp(t), `/books/${'1'.repeat(1024)}`, 'not_found');
  await refuses(t, await newApp(t), `/books/${'1'.repeat(1025)}`, 'uri_too_long');
  const short = await newApp(t, { server: { routerOptions: { maxParamLength: 10 } } });
  await refuses(t, short, '/books/12345678901', 'uri_too_long');
});

t.test('the number of query parameters', async (t) => {
  const app = await newApp(t);
  const query = (count: number) => Array.from({ length: count }, (_, index) => `p${index}=`).join('&');
  const named = await app.inject(`/books?${query(100)}`);
  t.equal(named.json().details.length, 100, 'each is named');
  const answer = await app.inject(`/books?${query(2000)}`);
  t.equal(answer.statusCode, 400);
  t.match(answer.json(), { code: 'invalid_usage', error: /more than 100 parameters/ });
  t.ok(answer.body.length < 200, 'and the answer stays short');
});

forEachDatabase(t, { entities: LIBRARY }, async (t, orm) => {
  await fillLibrary(orm);
  const app = await newApp(t, { server: { http: { maxHeaderSize: 65_536 } }, plugin: { maxUrlLength: 65_536 } }, orm);
  const ones = (count: number) => Array.from({ length: count }, () => '1');

  await t.test('the number of values of a filter', async (t) => {
    await takes(t, app, `/books?pages_in=${ones(5000).join()}`);
    await refuses(t, app, `/books?pages_in=${ones(5001).join()}`, 'invalid_usage', /"pages_in".*5000 values/);
    await takes(t, app, `/books?pages=${ones(5000).join('&pages=')}`);
    await refuses(t, app, `/books?pages=${ones(5001).join('&pages=')}`, 'invalid_usage', /"pages".*5000 values/);
    await takes(t, app, '/strict?pages_in=1,2');
    await refuses(t, app, '/strict?pages_in=1,2,3', 'invalid_usage', /2 values/);
    await refuses(t, app, '/strict?pages=1&pages=2&pages=3', 'invalid_usage', /2 values/);
  });

  await t.test('the size of a rule in JSON Logic', async (t) => {
    const is = (pages: number) => ({ '==': [{ var: 'pages' }, pages] });
    const nested = (depth: number): object => (depth === 1 ? is(1) : { '!': nested(depth - 1) });
    const wide = (count: number) => ({ or: Array.from({ length: count }, (_, pages) => is(pages)) });
    const list = (count: number) => ({ in: [{ var: 'pages' }, ones(count).map(Number)] });
    const both = (count: number) => ({ or: [list(2500), list(count)] });
    for (const [url, most, tooMany] of [
      ['/books', [nested(5), wide(50), list(5000), both(2500)], [nested(6), wide(51), list(5001), both(2501)]],
      ['/strict', [nested(2), wide(2), list(2)], [nested(3), wide(3), list(3)]],
    ] as const) {
      for (const value of most) await takes(t, app, `${url}?filter=${rule(value)}`);
      for (const value of tooMany) {
        await refuses(t, app, `${url}?filter=${rule(value)}`, 'invalid_usage', /"filter".*more than/);
      }
    }
  });

  await t.test('the number of search terms', async (t) => {
    await takes(t, app, `/books?search=${ones(20).join('+')}`);
    await refuses(t, app, `/books?search=${ones(21).join('+')}`, 'invalid_usage', /"search".*20 words/);
    await refuses(t, app, '/strict?search=a+b+c', 'invalid_usage', /2 words/);
  });

  await t.test('the names of a sort: each once', async (t) => {
    await refuses(t, app, '/books?sort=pages,-pages', 'invalid_usage', /only once/);
  });

  await t.test('the size of a page, and its number', async (t) => {
    const length = async (url: string): Promise<number> => (await app.inject(url)).json().results.length;
    t.equal(await length('/strict'), 2, 'default');
    t.equal(await length('/strict?page_size=100'), 3, 'the most');
    t.equal(await length('/offset?limit=100'), 3, 'the most');
    for (const url of ['/books?page=2147483647', '/books?page_size=2147483647', '/offset?offset=2147483647']) {
      await takes(t, app, url);
      await refuses(t, app, `${url.slice(0, -1)}8`, 'invalid_usage', /2147483647/);
    }
  });
});

t.test('the key of a header rule', async (t) => {
  const keys: string[] = [];
  class Spy extends MemoryStore {
    override hit(key: string, limit: number, windowMs: number) {
      keys.push(key);
      return super.hit(key, limit, windowMs);
    }
  }
  const store = new Spy();
  t.teardown(() => store.close());
  const app = await newApp(t, { plugin: { throttles: [new HeaderRateLimit(1, 60, { header: 'x-api-key', store })] } });
  const ask = (key: string) => app.inject({ url: '/books', headers: { 'x-api-key': key } });
  t.equal((await ask('x'.repeat(10_000))).statusCode, 200);
  t.equal((await ask(`${'x'.repeat(9_999)}y`)).statusCode, 200, 'the whole value counts');
  t.equal((await ask('x'.repeat(10_000))).statusCode, 429);
  t.ok(
    keys.every((key) => key.length < 100),
    'what is kept is short, however long the value',
  );
});

t.test('the time that a client takes to send a request', async (t) => {
  const http = { connectionsCheckingInterval: 50 };
  const app = await newApp(t, { server: { requestTimeout: 200, http } });
  for (const [what, text] of Object.entries({
    'half of the headers': 'GET /books HTTP/1.1\r\nHost:',
    'half of a body':
      'POST /books HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"title"',
  })) {
    const answer = await raw(app, text);
    t.equal(answer.status, 408, what);
    t.match(answer.body, { code: 'request_timeout' });
  }
  t.match(serverOptions(), {
    requestTimeout: 30_000,
    http: { headersTimeout: 30_000, connectionsCheckingInterval: 5_000 },
  });
  const secure: object = { https: {} };
  t.match(serverOptions(secure), { https: { headersTimeout: 30_000, requireHostHeader: false } });
});

t.test('the time that a handler takes', async (t) => {
  const app = await newApp(t, { plugin: { handlerTimeoutMs: 100 } });
  // What keeps a process alive is its server: the clock alone does not.
  await app.listen({ port: 0, host: '127.0.0.1' });
  closeGate();
  await refuses(t, app, '/books/slow', 'service_unavailable', /too long/);
  goOn();
});

t.test('a handler that is too late changes nothing any more', async (t) => {
  class SlowViewSet extends ModelViewSet(Book, {
    read: readShape(Book, ['id', 'title']),
    write: writeShape(Book, ['title']),
  }) {
    override async performCreate(
      request: FastifyRequest,
      data: WriteData<InferEntity<typeof Book>, { title: string }>,
    ) {
      const book = await super.performCreate(request, data);
      await sleep(400);
      return book;
    }
  }
  const orm = await openSqlite(t, { entities: LIBRARY });
  const app = await testApp(t, orm, [new Router().register('books', SlowViewSet)], {
    options: { handlerTimeoutMs: 100 },
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const late = await app.inject({ method: 'POST', url: '/books', payload: { title: 'late' } });
  t.equal(late.statusCode, 503);
  await sleep(600);
  t.equal((await app.inject('/books')).json().count, 0, 'what the client was told has failed has not happened');
});

t.test('a response that is being streamed has no time limit', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  const app = await testApp(t, orm, [], {
    options: { handlerTimeoutMs: 100 },
    before: (app) =>
      void app.get('/stream', async () =>
        Readable.from(
          (async function* () {
            for (let piece = 0; piece < 5; piece++) {
              yield `${piece}`;
              await sleep(100);
            }
          })(),
        ),
      ),
  });
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  t.equal(await (await fetch(`${address}/stream`)).text(), '01234');
});

t.test('the requests in flight', async (t) => {
  const app = await newApp(t, { plugin: { maxRequestsInFlight: 2 } });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const address = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  closeGate();
  const leaving = new AbortController();
  const gone = fetch(`${address}/books/slow`, { signal: leaving.signal }).catch(() => 'gone');
  const slow = fetch(`${address}/books/slow`);
  const answer = await untilStatus(503, `${address}/books`);
  t.match(await answer.json(), { code: 'service_unavailable', error: /in flight/ });
  t.equal(answer.headers.get('retry-after'), '1');
  t.equal((await fetch(`${address}/nowhere`)).status, 503, 'whatever is asked for');
  for (const path of ['/health/', '/health/live', '/health/ready']) {
    t.equal((await fetch(address + path)).status, 200, `${path} is answered all the same`);
  }
  leaving.abort();
  t.equal(await gone, 'gone');
  t.equal((await fetch(`${address}/books`)).status, 503, 'a client that goes away does not end its work');
  goOn();
  t.equal((await slow).status, 200);
  t.equal((await untilStatus(200, `${address}/books`)).status, 200, 'which makes room when it is done');
  for (let count = 0; count < 5; count += 1) {
    t.equal((await fetch(`${address}/books`)).status, 200);
    t.equal((await app.inject('/nowhere')).statusCode, 404, 'and every answer does, of any kind');
  }
});

async function untilStatus(status: number, url: string): Promise<Response> {
  for (;;) {
    const answer = await fetch(url);
    if (answer.status === status) return answer;
    await answer.text();
    await sleep(10);
  }
}

t.test('a wrong limit is refused at the start', async (t) => {
  for (const name of ['maxUrlLength', 'maxRequestsInFlight']) {
    for (const value of [0, -1, 1.5, NaN, '100', null]) {
      await t.rejects(newApp(t, { plugin: { [name]: value } }), {
        message: new RegExp(`"${name}" must be a positive`),
      });
    }
    await takes(t, await newApp(t, { plugin: { [name]: Infinity } }), '/books');
  }
});

t.test('the time that PostgreSQL takes for a statement', { skip: skipPostgreSql() }, async (t) => {
  const orm = await openPostgreSql(t, { entities: LIBRARY, orm: { driverOptions: { statement_timeout: 200 } } });
  const app = await newApp(t, {}, orm);
  const locked = once(app.server, 'unlocked');
  const held = new Promise<void>((resolve, reject) => {
    orm.em
      .fork()
      .transactional(async (em) => {
        const context = em.getTransactionContext();
        await em.getConnection().execute('lock table book in access exclusive mode', [], 'run', context);
        resolve();
        await locked;
      })
      .catch(reject);
  });
  await held;
  for (const [method, url] of [
    ['GET', '/books'],
    ['GET', '/books/1'],
    ['POST', '/books'],
    ['DELETE', '/books/1'],
  ] as const) {
    const answer = await app.inject({ method, url, ...(method === 'POST' ? { payload: { title: 'x' } } : {}) });
    t.equal(answer.statusCode, 503, `${method} ${url}: ${answer.body}`);
    t.match(answer.json(), { code: 'service_unavailable' });
  }
  app.server.emit('unlocked');
  t.equal((await app.inject('/books')).statusCode, 200);
});
