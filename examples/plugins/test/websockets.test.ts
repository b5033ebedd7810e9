/** WebSockets and streams of an application: they work beside the plugin, and hold no slot of `maxRequestsInFlight`. */
import websocket from '@fastify/websocket';
import { freeSlot, serverOptions, ServiceUnavailable } from '@viewset/core';
import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { addViews, addViewset, openOrm } from './support/library.ts';

const SLOTS = 2;

type Place = 'before' | 'after';

async function newApp(t: Test, place: Place, addRoutes: (app: FastifyInstance) => void = addSockets): Promise<string> {
  const orm = await openOrm(t);
  const app = fastify(serverOptions({ logger: { level: 'silent' } }));
  t.teardown(() => app.close());
  if (place === 'before') await app.register(websocket);
  await addViewset(app, orm, { maxRequestsInFlight: SLOTS, handlerTimeoutMs: 300 });
  if (place === 'after') await app.register(websocket);
  await addViews(app);
  await app.register(async (scope) => addRoutes(scope));
  return app.listen({ port: 0, host: '127.0.0.1' });
}

function addSockets(app: FastifyInstance): void {
  app.get('/echo', { websocket: true }, (socket, request) => {
    socket.on('message', (message: Buffer) => socket.send(`${request.url} ${message.toString()}`));
  });
  app.route({
    method: 'GET',
    url: '/both',
    handler: async () => 'plain',
    wsHandler: (socket) => socket.close(),
  });
  app.get('/late', { websocket: true }, async (socket) => {
    await sleep(50);
    socket.send('late');
  });
  app.get('/refused', { websocket: true, preHandler: async () => refuse() }, (socket) => socket.send('never'));
}

function refuse(): never {
  throw new ServiceUnavailable();
}

async function connect(t: Test, address: string, path: string): Promise<WebSocket> {
  const socket = new WebSocket(`${address.replace('http', 'ws')}${path}`);
  t.teardown(() => socket.close());
  await once(socket, 'open');
  return socket;
}

async function answer(socket: WebSocket, message: string): Promise<unknown> {
  const received = once(socket, 'message');
  socket.send(message);
  const [{ data }] = (await received) as [MessageEvent];
  return data;
}

for (const place of ['before', 'after'] as const) {
  t.test(`@fastify/websocket ${place} viewset: sockets get their messages`, async (t) => {
    const address = await newApp(t, place);
    const socket = await connect(t, address, '/echo?a=1');
    t.equal(await answer(socket, 'hello'), '/echo?a=1 hello');
    const late = await connect(t, address, '/late');
    const [{ data }] = (await once(late, 'message')) as [MessageEvent];
    t.equal(data, 'late');
    const both = await connect(t, address, '/both');
    await once(both, 'close');
    t.equal(await (await fetch(`${address}/both`)).text(), 'plain');
    t.equal((await fetch(`${address}/echo`)).status, 404, 'without an upgrade');
    t.equal((await fetch(`${address}/echo`, { method: 'HEAD' })).status, 404);
    const refused = new WebSocket(`${address.replace('http', 'ws')}/refused`);
    await once(refused, 'error');
    const onView = await connect(t, address, '/api/books');
    await once(onView, 'close');
    t.equal((await fetch(`${address}/api/books`)).status, 200, 'a view has no sockets');
  });

  t.test(`@fastify/websocket ${place} viewset: an open socket holds no slot`, async (t) => {
    const address = await newApp(t, place);
    const sockets = await Promise.all(Array.from({ length: 3 * SLOTS }, () => connect(t, address, '/echo')));
    // Longer than a handler may take.
    await sleep(500);
    t.equal((await fetch(`${address}/api/books`)).status, 200);
    t.equal(await answer(sockets[0]!, 'still open'), '/echo still open');
    for (const socket of sockets) socket.close();
    await Promise.all(sockets.map(async (socket) => once(socket, 'close')));
    // One slot too many would let all of these in.
    const statuses = await Promise.all(
      Array.from({ length: SLOTS + 1 }, async () => (await fetch(`${address}/api/books`)).status),
    );
    t.ok(
      statuses.every((status) => status === 200 || status === 503),
      'each closed socket has given back what it took',
    );
    t.equal((await fetch(`${address}/api/books`)).status, 200);
  });
}

t.test('a request that is being checked before its upgrade holds a slot', async (t) => {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const waiting: string[] = [];
  const address = await newApp(t, 'after', (app) => {
    const preHandler = async ({ id }: FastifyRequest): Promise<void> => {
      waiting.push(id);
      await opened;
    };
    app.get('/checked', { websocket: true, preHandler }, (socket) => socket.send('in'));
  });
  const sockets = Array.from({ length: SLOTS }, () => new WebSocket(`${address.replace('http', 'ws')}/checked`));
  const all = Promise.all(sockets.map(async (socket) => once(socket, 'open')));
  while (waiting.length < SLOTS) await sleep(5);
  t.equal((await fetch(`${address}/api/books`)).status, 503);
  open();
  await all;
  t.equal((await fetch(`${address}/api/books`)).status, 200);
  for (const socket of sockets) socket.close();
});

t.test('a stream holds a slot until the application frees it', async (t) => {
  const streams: PassThrough[] = [];
  const address = await newApp(t, 'after', (app) => {
    for (const [path, frees] of [
      ['/held', false],
      ['/freed', true],
    ] as const) {
      app.get(path, async (request, reply) => {
        const stream = new PassThrough();
        streams.push(stream);
        stream.write('data: 1\n\n');
        if (frees) freeSlot(request);
        // A second call does nothing.
        if (frees) freeSlot(request);
        return reply.type('text/event-stream').send(stream);
      });
    }
  });
  const open = async (path: string): Promise<Response> => fetch(`${address}${path}`);
  const freed = await Promise.all(Array.from({ length: 3 * SLOTS }, async () => open('/freed')));
  t.equal((await fetch(`${address}/api/books`)).status, 200);
  const held = await Promise.all(Array.from({ length: SLOTS }, async () => open('/held')));
  t.equal((await fetch(`${address}/api/books`)).status, 503, 'no more than the slots');
  for (const stream of streams) stream.end();
  await Promise.all([...freed, ...held].map(async (response) => response.text()));
  const again = await Promise.all(Array.from({ length: SLOTS }, async () => open('/held')));
  t.equal((await fetch(`${address}/api/books`)).status, 503, 'no slot was given back twice');
  for (const stream of streams) stream.end();
  await Promise.all(again.map(async (response) => response.text()));
});

t.test('the slot of a request is free in the scope that took it', async (t) => {
  const [orm, other] = [await openOrm(t), await openOrm(t)];
  const app = fastify(serverOptions({ logger: { level: 'silent' } }));
  t.teardown(() => app.close());
  const streams: PassThrough[] = [];
  for (const [prefix, database] of [
    ['/a', orm],
    ['/b', other],
  ] as const) {
    await app.register(
      async (scope) => {
        await addViewset(scope, database, { maxRequestsInFlight: 1 });
        scope.get('/stream', async (request, reply) => {
          const stream = new PassThrough();
          streams.push(stream);
          stream.write('x');
          freeSlot(request);
          return reply.send(stream);
        });
        scope.get('/quick', async () => 'quick');
      },
      { prefix },
    );
  }
  app.get('/outside', async (request) => {
    freeSlot(request);
    return 'outside';
  });
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  const responses = [await fetch(`${address}/a/stream`), await fetch(`${address}/b/stream`)];
  t.equal((await fetch(`${address}/a/quick`)).status, 200);
  t.equal((await fetch(`${address}/b/quick`)).status, 200);
  t.equal(await (await fetch(`${address}/outside`)).text(), 'outside', 'without the plugin it does nothing');
  for (const stream of streams) stream.end();
  await Promise.all(responses.map(async (response) => response.text()));
});
