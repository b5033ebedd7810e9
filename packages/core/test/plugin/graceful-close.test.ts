/** What `app.close()` does to connections: it serves what is in flight, and waits for nothing else. */
import type { MikroORM } from '@mikro-orm/core';
import { fastify, type FastifyInstance } from 'fastify';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import {
  ModelViewSet,
  readShape,
  Router,
  serverOptions,
  viewset,
  type ViewsetOptions,
  writeShape,
} from '../../src/index.ts';
import { openSqlite } from '../support/databases.ts';
import { Book, LIBRARY } from '../support/library.ts';

class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title']),
  write: writeShape(Book, ['title']),
}) {}

interface Opened {
  readonly app: FastifyInstance;
  readonly orm: MikroORM;
  readonly port: number;
  /** Lets the response to `GET /waits` begin. */
  readonly release: () => void;
  /** Resolves when `GET /waits` has been called. */
  readonly arrived: Promise<void>;
  /** Ends the response to `GET /streams`. */
  readonly endStream: () => void;
}

async function open(t: Test, given: Partial<ViewsetOptions> = {}, server: object = serverOptions()): Promise<Opened> {
  const orm = await openSqlite(t, { entities: LIBRARY });
  // As most applications, without serverOptions too: 72 s of keep-alive.
  const app = fastify(server);
  await app.register(viewset, { orm, throttles: [], ...given });
  await app.register(new Router().register('books', BookViewSet).plugin);
  const arrival = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const stream = new Readable({ read() {} });
  app.get('/waits', async () => {
    arrival.resolve();
    await answer.promise;
    return { done: true };
  });
  app.get('/streams', (_request, reply) => {
    stream.push('begin');
    return reply.send(stream);
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as { port: number };
  return {
    app,
    orm,
    port,
    release: answer.resolve,
    arrived: arrival.promise,
    endStream: () => void stream.push(null),
  };
}

function send(port: number, path: string, agent: Agent, method = 'GET', body?: object): Promise<IncomingMessage> {
  const sent: ClientRequest = request({
    port,
    host: '127.0.0.1',
    path,
    method,
    agent,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
  });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  return new Promise((resolve, reject) => sent.once('response', resolve).once('error', reject));
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return text;
}

function keptAlive(t: Test, maxSockets = 1): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets });
  t.teardown(() => agent.destroy());
  return agent;
}

async function socketTo(t: Test, port: number, text = ''): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'connect');
  if (text !== '') socket.write(text);
  return socket;
}

for (const [name, server] of [
  ['with serverOptions', serverOptions()],
  ['without', {}],
] as const) {
  t.test(`a request in flight on a kept-alive connection, ${name}`, async (t) => {
    const { app, port, release, arrived } = await open(t, {}, server);
    const agent = keptAlive(t);
    await textOf(await send(port, '/books', agent));
    const pending = send(port, '/waits', agent);
    await arrived;
    const closed = app.close();
    await sleep(100);
    release();
    const response = await pending;
    t.equal(response.statusCode, 200);
    t.equal(response.headers.connection, 'close');
    t.equal(await textOf(response), '{"done":true}');
    await closed;
  });
}

t.test('a response that has begun is sent to its end, and its connection is closed', async (t) => {
  const { app, port, endStream } = await open(t);
  const response = await send(port, '/streams', keptAlive(t));
  const closed = app.close();
  await sleep(100);
  endStream();
  t.equal(await textOf(response), 'begin');
  await closed;
});

t.test('connections without a request do not keep the process', async (t) => {
  const { app, port } = await open(t);
  await socketTo(t, port);
  await socketTo(t, port, 'GET /books HTTP/1.1\r\nHost: x\r\n');
  await textOf(await send(port, '/books', keptAlive(t)));
  // The connections are accepted in turn.
  await app.close();
});

t.test('a request whose headers are arriving is served', async (t) => {
  const { app, port } = await open(t);
  const socket = await socketTo(t, port, 'GET /books HTTP/1.1\r\nHost: x\r\n');
  await textOf(await send(port, '/books', keptAlive(t)));
  const closed = app.close();
  await sleep(100);
  socket.write('\r\n');
  const [answer] = (await once(socket, 'data')) as [Buffer];
  t.match(answer.toString(), /^HTTP\/1\.1 200 [^]*connection: close/i);
  await closed;
});

t.test('a request without a response is cut off after closeTimeoutMs', async (t) => {
  const { app, port, arrived } = await open(t, { closeTimeoutMs: 300 });
  const pending = send(port, '/waits', keptAlive(t));
  const refused = t.rejects(pending, { code: 'ECONNRESET' });
  await arrived;
  await app.close();
  await refused;
});

t.test('the plugin in two scopes closes once', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  const app = fastify(serverOptions());
  for (const prefix of ['/a', '/b']) {
    await app.register(async (scope) => scope.register(viewset, { orm, health: false }), { prefix });
  }
  await app.ready();
  t.equal(app.server.listeners('connection').filter(({ name }) => name === 'trackConnection').length, 1);
  await app.close();
});

t.test('under load nothing that was acknowledged is lost, and every response is complete', async (t) => {
  const { app, orm, port } = await open(t);
  const agent = keptAlive(t, 20);
  const acknowledged: number[] = [];
  const statuses = new Set<number | undefined>();
  const closed = new AbortController();
  const client = async (): Promise<void> => {
    while (!closed.signal.aborted) {
      try {
        const response = await send(port, '/books', agent, 'POST', { title: 'Ash' });
        const text = await textOf(response);
        statuses.add(response.statusCode);
        if (response.statusCode === 201) acknowledged.push((JSON.parse(text) as { id: number }).id);
      } catch (error) {
        t.match((error as { code?: string }).code, /ECONNRESET|ECONNREFUSED|EPIPE/);
        return;
      }
    }
  };
  const clients = Array.from({ length: 20 }, client);
  await sleep(300);
  await app.close();
  closed.abort();
  await Promise.all(clients);
  t.strictSame([...statuses], [201]);
  t.ok(acknowledged.length > 20);
  const stored = new Set((await orm.em.fork().find(Book, {})).map(({ id }) => id));
  t.strictSame(
    acknowledged.filter((id) => !stored.has(id)),
    [],
  );
});
