/** Tells of slots: which requests take one, and that each gives it back exactly once, however it ends. */
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fastify, type FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { Forbidden, serverOptions, viewset, type ViewsetOptions } from '../../src/index.ts';
import { openSqlite } from '../support/databases.ts';
import { LIBRARY } from '../support/library.ts';

/** Lets the requests to `/slow` go on that wait in their handlers. */
class Gate {
  arrived = 0;
  #open: () => void = () => {};
  #opened = Promise.resolve();

  close(): void {
    this.#opened = new Promise((resolve) => (this.#open = resolve));
  }

  open(): void {
    this.#open();
  }

  async pass(): Promise<void> {
    this.arrived += 1;
    await this.#opened;
  }
}

interface LogLine {
  readonly level: number;
  readonly msg: string;
}

async function newApp(t: Test, gate: Gate, options: Partial<ViewsetOptions>) {
  const orm = await openSqlite(t, { entities: LIBRARY });
  const lines: LogLine[] = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line) as LogLine) };
  const app = fastify(serverOptions({ logger: { level: 'warn', stream } }));
  t.teardown(() => app.close());
  await app.register(viewset, { orm, ...options });
  addRoutes(app, gate);
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  return { app, address, lines };
}

function addRoutes(app: FastifyInstance, gate: Gate): void {
  app.get('/quick', async () => 'quick');
  app.get('/slow', async () => {
    await gate.pass();
    return 'slow';
  });
  // Fastify does not answer a client that is gone for a handler that returns nothing.
  app.get('/silent', async () => gate.pass());
  app.get('/failing', async () => {
    await gate.pass();
    throw new Error('failed');
  });
  app.get('/callback', (_request, reply) => {
    void gate.pass().then(() => reply.send('called back'));
  });
  app.get('/refused', { onRequest: async () => refuse(gate) }, async () => 'never');
  app.get('/hijacked', async (_request, reply) => {
    reply.hijack();
    await gate.pass();
    reply.raw.end('hijacked');
  });
  app.get('/stream', async (_request, reply) => reply.send(Readable.from(pieces(gate))));
  app.post('/echo', async (request) => request.body);
}

async function refuse(gate: Gate): Promise<void> {
  await gate.pass();
  throw new Forbidden();
}

async function* pieces(gate: Gate): AsyncGenerator<string> {
  yield 'first';
  await gate.pass();
  yield 'last';
}

function openSocket(t: Test, app: FastifyInstance, text: string): Socket {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(text);
  t.teardown(() => socket.destroy());
  return socket;
}

async function readAll(socket: Socket): Promise<string> {
  let received = '';
  for await (const chunk of socket as AsyncIterable<Buffer>) received += chunk.toString();
  return received;
}

const POST = 'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{';
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

/** Waits until something holds; the test's own time limit ends it. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(5);
}

t.test('requests that are still sending take no slot of those that work', async (t) => {
  const { app, address } = await newApp(t, new Gate(), { maxRequestsInFlight: 3 });
  const sending = Array.from({ length: 3 }, () => openSocket(t, app, POST));
  await Promise.all(sending.map(async (socket) => new Promise((resolve) => socket.once('connect', resolve))));
  await sleep(50);
  for (let round = 0; round < 5; round += 1) t.equal((await fetch(`${address}/quick`)).status, 200);
  const body = await fetch(`${address}/echo`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '[1,2,3]',
  });
  t.equal(body.status, 200, 'nor does a quick sender wait for the slow ones');
});

t.test('the one that has been sending longest is refused when too many send', async (t) => {
  const { app, address } = await newApp(t, new Gate(), { maxRequestsInFlight: 2 });
  const first = openSocket(t, app, POST);
  await sleep(50);
  const others = [openSocket(t, app, POST), openSocket(t, app, POST)];
  const answer = await readAll(first);
  t.match(answer, /^HTTP\/1.1 408 /);
  t.match(answer, /"code":"request_timeout"/);
  for (const socket of others) socket.write('"a":"b"}');
  await until(() => others.every(({ bytesRead }) => bytesRead > 0));
  t.equal((await fetch(`${address}/quick`)).status, 200);
});

t.test('a client that goes away keeps its slot until its handler is done', async (t) => {
  for (const path of ['/slow', '/silent', '/failing', '/callback', '/refused']) {
    const gate = new Gate();
    const { app, address } = await newApp(t, gate, { maxRequestsInFlight: 2 });
    gate.close();
    const sockets = [openSocket(t, app, get(path)), openSocket(t, app, get(path))];
    await until(() => gate.arrived === 2);
    const closed = Promise.all(sockets.map(async (socket) => new Promise((resolve) => socket.once('close', resolve))));
    for (const socket of sockets) socket.destroy();
    await closed;
    await sleep(50);
    t.equal((await fetch(`${address}/quick`)).status, 503, `${path}: the work goes on`);
    gate.open();
    await until(async () => (await fetch(`${address}/quick`)).status === 200);
  }
});

t.test('every end of a request gives its slot back, once', async (t) => {
  const gate = new Gate();
  const { app, address } = await newApp(t, gate, { maxRequestsInFlight: 1, handlerTimeoutMs: 300 });
  const ends: Record<string, () => Promise<unknown>> = {
    answered: async () => fetch(`${address}/slow`),
    'answered with nothing': async () => fetch(`${address}/silent`),
    failed: async () => fetch(`${address}/failing`),
    'called back': async () => fetch(`${address}/callback`),
    refused: async () => fetch(`${address}/refused`),
    hijacked: async () => fetch(`${address}/hijacked`),
    streamed: async () => (await fetch(`${address}/stream`)).text(),
    'not found': async () => fetch(`${address}/nowhere`),
    'another method': async () => fetch(`${address}/quick`, { method: 'DELETE' }),
    'malformed body': async () =>
      fetch(`${address}/echo`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' }),
    'too large a body': async () => fetch(`${address}/echo`, { method: 'POST', body: 'x'.repeat(2 ** 21) }),
    'gone while sending': async () => leave(openSocket(t, app, POST)),
    'gone in the handler': async () => leave(openSocket(t, app, get('/slow'))),
    'gone while it is streamed': async () => leave(openSocket(t, app, get('/stream'))),
    'gone while hijacked': async () => leave(openSocket(t, app, get('/hijacked'))),
    'body cut off': async () => readAll(openSocket(t, app, POST)),
    'taking too long': async () => late(gate, address),
    'gone, and taking too long': async () => lateAndGone(t, gate, app),
  };
  for (const [what, end] of Object.entries(ends)) {
    await end();
    await until(async () => (await fetch(`${address}/quick`)).status === 200);
    // One slot too many would let both of these in.
    gate.close();
    const before = gate.arrived;
    const slow = fetch(`${address}/slow`);
    await until(() => gate.arrived > before);
    t.equal((await fetch(`${address}/quick`)).status, 503, `${what}: there is one slot`);
    gate.open();
    t.equal((await slow).status, 200, what);
  }
});

async function leave(socket: Socket): Promise<void> {
  await sleep(30);
  socket.destroy();
}

async function late(gate: Gate, address: string): Promise<void> {
  gate.close();
  await fetch(`${address}/slow`);
  gate.open();
}

async function lateAndGone(t: Test, gate: Gate, app: FastifyInstance): Promise<void> {
  gate.close();
  await leave(openSocket(t, app, get('/slow')));
  await sleep(1000);
}

t.test('a body that does not arrive in time returns 408, and is not logged as an error', async (t) => {
  const { app, lines } = await newApp(t, new Gate(), { handlerTimeoutMs: 200 });
  const answer = await readAll(openSocket(t, app, POST));
  t.match(answer, /^HTTP\/1.1 408 /);
  t.match(answer, /"code":"request_timeout"/);
  t.same(lines, []);
});

t.test('a pipelined request is refused after the response before it', async (t) => {
  const gate = new Gate();
  const { app } = await newApp(t, gate, {});
  gate.close();
  const socket = openSocket(t, app, get('/stream'));
  await until(() => gate.arrived === 1);
  const received = readAll(socket);
  socket.write('garbage\r\n\r\n');
  await sleep(20);
  socket.write('more\r\n\r\n');
  gate.open();
  const answer = await received;
  t.match(answer, /first[^]*last[^]*HTTP\/1.1 400[^]*parse_error/);
  t.equal(answer.split('parse_error').length, 2, 'refused once');
});

t.test('valid requests get their responses when invalid bytes arrive in the same packet', async (t) => {
  const gate = new Gate();
  const { app } = await newApp(t, gate, {});
  const received = await readAll(openSocket(t, app, `${get('/quick')}${get('/slow')}garbage\r\n\r\n`));
  t.match(received, /200 OK[^]*quick[^]*200 OK[^]*slow[^]*400 Bad Request[^]*parse_error/);
  const closing = 'GET /quick HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  t.match(await readAll(openSocket(t, app, `${closing}garbage\r\n\r\n`)), /200 OK[^]*quick/);
  const body = 'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
  t.match(await readAll(openSocket(t, app, `${body}zz\r\n`)), /^HTTP\/1.1 400 /);
});

t.test('a header that cannot be sent is an internal error with our body', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  app.get('/async', async (_request, reply) => {
    void reply.header('x-name', 'a\r\nset-cookie: b');
    return {};
  });
  app.get('/callback', (_request, reply) => {
    void reply.header('x-name', 'a\nb').send({});
  });
  app.get('/stream', async (_request, reply) => reply.header('x-name', 'a\nb').send(Readable.from(['a'])));
  for (const path of ['/async', '/callback', '/stream']) {
    const answer = await app.inject(path);
    t.equal(answer.statusCode, 500, path);
    t.equal(answer.json().code, 'internal_error', path);
    t.equal(answer.headers['x-name'], undefined);
  }
});

t.test('every response disables content type sniffing', async (t) => {
  const { app, address } = await newApp(t, new Gate(), {});
  for (const path of ['/quick', '/nowhere', '/health/', '/%zz']) {
    t.equal((await fetch(address + path)).headers.get('x-content-type-options'), 'nosniff', path);
  }
  t.match(await readAll(openSocket(t, app, 'garbage\r\n\r\n')), /X-Content-Type-Options: nosniff/);
});
