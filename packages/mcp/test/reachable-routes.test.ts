/** The routes that a call reaches, and the responses that are no result of it. */
import { action, ModelViewSet, readShape, Router, serverOptions, viewset } from '@viewset/core';
import fastify, { type FastifyInstance } from 'fastify';
import { connect as connectHttp2 } from 'node:http2';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { mcp } from '../src/index.ts';
import { Author, connect, ENTITIES, fillLibrary, startLibrary } from './support/app.ts';

const events: { closed?: boolean } = {};

class PageViewSet extends ModelViewSet(Author, { read: readShape(Author, ['id', 'name']) }) {
  events = action({}, async (_request, reply) => {
    const stream = new Readable({ read: () => undefined });
    stream.push('data: 1\n\n');
    stream.on('close', () => (events.closed = true));
    return reply.type('text/event-stream').send(stream);
  });
  move = action({ methods: ['post'] }, async (_request, reply) => reply.redirect('/pages/1', 303));
  broken = action({ methods: ['post'] }, async (_request, reply) => reply.type('application/json').send('{'));
  sender = action({}, async ({ host, headers }) => ({
    host,
    own: Object.keys(headers).filter((each) => /mcp/.test(each)),
  }));
}

const routers = (): Router[] => [new Router().register('pages', PageViewSet)];

forEachDatabase(t, { entities: ENTITIES, only: ['sqlite'] }, async (t, orm) => {
  await fillLibrary(orm);
  /** A route that a key can be the path of. Its view has no action of this name. */
  const addPrivate = (app: FastifyInstance) => {
    const reached = { count: 0 };
    app.get('/pages/private', async () => {
      reached.count++;
      return { secret: 1 };
    });
    return reached;
  };

  t.test('a hook that sends another request does not open other routes', async (t) => {
    let reached = { count: 0 };
    const asked: number[] = [];
    const { url } = await startLibrary(t, orm, {
      mcp: { resources: 'all' },
      routers: routers(),
      first: (app) => {
        reached = addPrivate(app);
        app.get('/session', async () => ({}));
        app.addHook('onRequest', async ({ url, headers }) => {
          if (!url.startsWith('/pages')) return;
          asked.push((await app.inject({ url: '/session', headers: { accept: headers.accept } })).statusCode);
        });
      },
    });
    const { call } = await connect(t, url);
    t.match(await call('get', { resource: 'pages', id: 'private' }), { isError: true, value: { status: 404 } });
    t.equal(reached.count, 0);
    t.match(await call('get', { resource: 'pages', id: 1 }), { isError: false, value: { record: { id: 1 } } });
    t.strictSame(asked, [200, 200], 'the request of the hook is its own');
  });

  t.test('a plugin in a scope guards the routes outside it', async (t) => {
    const app = fastify(serverOptions());
    t.teardown(() => app.close());
    await app.register(viewset, { orm });
    const reached = addPrivate(app);
    await app.register(async (scope) => scope.register(mcp, { resources: 'all', anonymous: true }), { prefix: '/in' });
    await app.register(routers()[0]!.plugin);
    const { call } = await connect(t, `${await app.listen({ port: 0, host: '127.0.0.1' })}/in/mcp`);
    t.match(await call('get', { resource: 'pages', id: 'private' }), { isError: true, value: { status: 404 } });
    t.equal(reached.count, 0);
    t.match(await call('get', { resource: 'pages', id: 1 }), { isError: false });
    t.strictSame((await call('act', { resource: 'pages', action: 'sender' })).value, {
      answer: { host: new URL(app.listeningOrigin).host, own: [] },
    });
  });

  t.test('a redirect is not a success', async (t) => {
    const { url } = await startLibrary(t, orm, {
      mcp: { resources: 'all' },
      routers: routers(),
      before: (app) => {
        app.addHook('preHandler', async ({ url }, reply) => {
          if (url.startsWith('/api/authors')) return reply.redirect('/login');
          return undefined;
        });
      },
    });
    const { call } = await connect(t, url, '7');
    const redirected = { isError: true, value: { status: 302, location: '/login', error: /redirect/ } };
    t.match(await call('create', { resource: 'authors', values: { name: 'x' } }), redirected);
    t.match(await call('delete', { resource: 'authors', id: 1 }), redirected);
    t.match(await call('get', { resource: 'authors', id: 1 }), redirected);
    t.match(await call('act', { resource: 'pages', action: 'move' }), { isError: true, value: { status: 303 } });
  });

  t.test('events and broken JSON are not shown', async (t) => {
    const { url } = await startLibrary(t, orm, { mcp: { resources: 'all' }, routers: routers() });
    const { call } = await connect(t, url, '7');
    t.match(await call('act', { resource: 'pages', action: 'events' }), {
      isError: true,
      value: { error: 'The response is text/event-stream, which is not shown' },
    });
    t.equal(events.closed, true, 'no call waits for the end of a stream that has none');
    t.match(await call('act', { resource: 'pages', action: 'broken' }), {
      isError: false,
      value: { note: 'It was done. The response is no valid JSON, which is not shown' },
    });
  });

  t.test('over HTTP/2 a route sees the host of the client', async (t) => {
    const app = fastify(Object.assign(serverOptions(), { http2: true }) as never) as unknown as FastifyInstance;
    t.teardown(() => app.close());
    await app.register(viewset, { orm });
    await app.register(mcp, { resources: 'all', anonymous: true });
    await app.register(routers()[0]!.plugin);
    const session = connectHttp2(await app.listen({ port: 0, host: '127.0.0.1' }));
    const sent = session.request({
      ':method': 'POST',
      ':path': '/mcp',
      ':authority': 'tenant.example',
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    });
    const params = { name: 'act', arguments: { resource: 'pages', action: 'sender' } };
    sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }));
    t.match(await text(sent), '"host":"tenant.example"');
    session.close();
  });
});
