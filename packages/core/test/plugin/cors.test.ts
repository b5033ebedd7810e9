/** Holds the example of docs/deployment.md to its word: @fastify/cors before the plugin. */
import cors from '@fastify/cors';
import { fastify, type FastifyRequest } from 'fastify';
import t from 'tap';
import {
  IPRateLimit,
  IsAuthenticated,
  ModelViewSet,
  readShape,
  Router,
  serverOptions,
  viewset,
} from '../../src/index.ts';
import { openSqlite } from '../support/databases.ts';
import { Book, LIBRARY } from '../support/library.ts';

class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title']),
  permissionClasses: [IsAuthenticated],
}) {}

t.test('a page of an allowed origin can read every response, including errors; other origins cannot', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  const origin = 'https://shop.example';
  const shared = { origin: [origin], exposedHeaders: ['Retry-After', 'WWW-Authenticate'] };
  await app.register(cors, {
    delegator: async ({ headers }: FastifyRequest) => ({
      ...shared,
      preflight: headers['access-control-request-method'] !== undefined,
    }),
  });
  await app.register(viewset, { orm, throttles: [new IPRateLimit(4, 60)] });
  await app.register(new Router().register('books', BookViewSet).plugin);
  const ask = async (method: 'GET' | 'OPTIONS', url: string, headers: Record<string, string>) =>
    app.inject({ method, url, headers });

  const preflight = await ask('OPTIONS', '/books', { origin, 'access-control-request-method': 'POST' });
  t.equal(preflight.statusCode, 204, 'without a token');
  t.equal(preflight.headers['access-control-allow-origin'], origin);
  t.match(preflight.headers['access-control-allow-methods'], /POST/);
  t.notOk('allow' in preflight.headers, 'the plugin answers it, and nothing else is done for it');
  const wrong = await app.inject({ method: 'DELETE', url: '/books', headers: { origin } });
  t.equal(wrong.statusCode, 405);
  t.equal(wrong.headers['allow'], 'GET, HEAD, OPTIONS', 'a wrong method still tells of the right ones');
  t.equal(wrong.headers['access-control-allow-origin'], origin);
  for (const [url, status] of [
    ['/books', 204],
    ['/nowhere', 404],
  ] as const) {
    const options = await ask('OPTIONS', url, { origin });
    t.equal(options.statusCode, status, "any other OPTIONS is the API's");
    t.equal(options.headers['access-control-allow-origin'], origin);
    t.equal(options.headers['permitted-methods'], url === '/books' ? 'OPTIONS' : undefined);
  }
  for (const [url, status] of [
    ['/nowhere', 404],
    ['/books', 401],
    ['/books', 401],
    ['/books', 429],
  ] as const) {
    const answer = await ask('GET', url, { origin });
    t.equal(answer.statusCode, status);
    t.equal(answer.headers['access-control-allow-origin'], origin, `${status}`);
    t.equal(answer.headers['access-control-expose-headers'], 'Retry-After, WWW-Authenticate');
  }
  const other = await ask('GET', '/nowhere', { origin: 'https://elsewhere.example' });
  t.equal(other.headers['access-control-allow-origin'], undefined);
});
