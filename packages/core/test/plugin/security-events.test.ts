/** Reads the log of a listening server: docs/security-events.md is what it must say. */
import { fastify } from 'fastify';
import t, { type Test } from 'tap';
import {
  action,
  Forbidden,
  IPRateLimit,
  IsAuthenticated,
  IsRoleAdminUser,
  ModelViewSet,
  readShape,
  Router,
  serverOptions,
  TooManyRequests,
  viewset,
  type ViewsetOptions,
  writeShape,
} from '../../src/index.ts';
import { openSqlite } from '../support/databases.ts';
import { Book, fillLibrary, LIBRARY } from '../support/library.ts';

class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title']),
  write: writeShape(Book, ['title']),
  permissionClasses: [IsAuthenticated],
}) {
  // The path of a record then has a pattern, which is not for people to read.
  newest = action({}, async () => ({}));
}
class VaultViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title']),
  permissionClasses: [IsRoleAdminUser],
}) {}

async function newApp(t: Test, options: Partial<ViewsetOptions> = {}) {
  const orm = await openSqlite(t, { entities: LIBRARY });
  await fillLibrary(orm);
  const lines: Record<string, unknown>[] = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  const app = fastify(serverOptions({ logger: { level: 'info', stream }, trustProxy: true }));
  t.teardown(() => app.close());
  await app.register(viewset, { orm, ...options });
  app.addHook('onRequest', async (request) => {
    const name = request.headers['x-user'];
    if (typeof name === 'string') request.user = { id: name.length, role: { name } };
  });
  app.get('/own', async () => {
    throw new Forbidden('no', { event: 'export.refused' });
  });
  app.get('/busy', async () => {
    throw new TooManyRequests(1);
  });
  const router = new Router({ prefix: 'api' }).register('books', BookViewSet).register('vault', VaultViewSet);
  await app.register(router.plugin);
  return { app, events: () => lines.filter(({ event }) => event !== undefined) };
}

t.test('a refused permission has one line, without the query string', async (t) => {
  const { app, events } = await newApp(t);
  await app.inject('/api/books/1?token=hunter2');
  await app.inject({ url: '/api/vault/1', headers: { 'x-user': 'ann', authorization: 'Bearer hunter2' } });
  await app.inject('/own');
  t.match(events(), [
    { event: 'permission.refused', account: null, address: '127.0.0.1', method: 'GET', route: '/api/books/:pk' },
    { event: 'permission.refused', account: 3, address: '127.0.0.1', method: 'GET', route: '/api/vault/:pk' },
    { event: 'export.refused', account: null, route: '/own' },
  ]);
  t.equal(events().length, 3);
  t.notMatch(JSON.stringify(events()), /hunter2/);
});

t.test('allowed requests and other errors have no security event', async (t) => {
  const { app, events } = await newApp(t);
  for (const url of ['/api/books', '/api/books/999', '/nowhere', '/api/books?page=x']) {
    await app.inject({ url, headers: { 'x-user': 'ann' } });
  }
  t.same(events(), []);
});

t.test('a client that is throttled cannot flood the log', async (t) => {
  const { app, events } = await newApp(t, { throttles: [new IPRateLimit(1, 60)] });
  const ask = async (address: string) => app.inject({ url: '/busy', headers: { 'x-forwarded-for': address } });
  for (let count = 0; count < 50; count += 1) await ask('192.0.2.1');
  await ask('192.0.2.2');
  const ofFirst = events().filter(({ address }) => address === '192.0.2.1');
  t.ok(ofFirst.length >= 1 && ofFirst.length < 10, `${ofFirst.length} lines of 50 requests`);
  t.match(ofFirst[0], { event: 'throttle.refused', account: null, method: 'GET', route: '/busy' });
  const other = events().find(({ address }) => address === '192.0.2.2');
  t.ok(other, 'another client has its own line');
  for (let count = 0; count < 500; count += 1) await ask(`198.51.${count >> 8}.${count & 255}`);
  t.ok(events().length < 400, `${events().length} lines of 500 more clients`);
});
