/** Receivers that respond oddly or never: each delivery ends within its limit, and every place is free afterwards. */
import type { MikroORM } from '@mikro-orm/core';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { emit, OutboxEvent, startOutbox, webhooks, WebhookSubscription } from '../src/index.ts';
import { post } from '../src/webhooks/post.ts';
import { until } from './support/until.ts';

const log = { warn: () => {}, error: () => {} };
const OK = 'HTTP/1.1 200 OK\r\n';

/** Writes a text again and again, until the socket is closed. */
async function repeat(socket: Socket, text: string, everyMs: number): Promise<void> {
  while (!socket.destroyed) {
    socket.write(text);
    await sleep(everyMs);
  }
}

/** What each receiver does with a connection once the request has arrived. */
const ODD: Readonly<Record<string, (socket: Socket) => unknown>> = {
  'answers 101 and keeps the connection': (socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
  'answers 101 and closes the connection': (socket) =>
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
  'answers 101 without Upgrade': (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
  'answers 100 and nothing more': (socket) => socket.write('HTTP/1.1 100 Continue\r\n\r\n'),
  'answers 103 for ever': (socket) => repeat(socket, 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(50), 1),
  'sends headers for ever, fast': (socket) => {
    socket.write(OK);
    return repeat(socket, `x-filler: ${'x'.repeat(900)}\r\n`, 1);
  },
  'sends headers for ever, slowly': (socket) => {
    socket.write(OK);
    return repeat(socket, 'a: b\r\n', 20);
  },
  'sends half a body and waits': (socket) => socket.write(`${OK}Content-Length: 100\r\n\r\nhalf`),
  'sends half a body and closes': (socket) => socket.end(`${OK}Content-Length: 100\r\n\r\nhalf`),
  'sends half a chunk and closes': (socket) => socket.end(`${OK}Transfer-Encoding: chunked\r\n\r\n10\r\nhalf`),
  'drips a body': (socket) => {
    socket.write(`${OK}Content-Length: 60000\r\n\r\n`);
    return repeat(socket, 'x', 20);
  },
  'drips chunks': (socket) => {
    socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n`);
    return repeat(socket, '1\r\nx\r\n', 20);
  },
  'sends trailers for ever': (socket) => {
    socket.write(`${OK}Transfer-Encoding: chunked\r\nTrailer: a\r\n\r\n0\r\n`);
    return repeat(socket, 'a: b\r\n', 20);
  },
  'resets the connection': (socket) => socket.resetAndDestroy(),
  'resets within the headers': (socket) => {
    socket.write(OK);
    setTimeout(() => socket.resetAndDestroy(), 20);
  },
  'closes without a word': (socket) => socket.end(),
  'speaks another protocol': (socket) => socket.write('220 mail.example.org ESMTP\r\n'),
  'answers HTTP/0.9': (socket) => socket.end('<html></html>'),
  'says nothing': () => {},
};

/** A receiver that treats each connection in one way. `isTls` makes no difference to it: it never answers a handshake. */
async function oddReceiver(t: Test, treat: (socket: Socket) => unknown): Promise<{ port: number; server: Server }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => void treat(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { server, port: (server.address() as { port: number }).port };
}

/** Ten places for all receivers of this test, of which one may take all. */
const places = { timeoutMs: 300, concurrency: 10, concurrencyPerSubscription: 10, restAfter: 1000 };

const sent = { headers: {}, body: '{}', timeoutMs: 300, isDevelopment: true };

for (const [name, treat] of Object.entries({ ...ODD, 'stalls in the handshake of TLS': () => {} })) {
  t.test(`a request to a receiver that ${name} fails within its limit`, async (t) => {
    const { port } = await oddReceiver(t, treat);
    const protocol = name.includes('TLS') ? 'https' : 'http';
    const url = `${protocol}://127.0.0.1:${port}/`;
    await t.rejects(post({ ...sent, url, signal: new AbortController().signal }));
  });
}

t.test('a request whose receiver never reads the body fails within its limit', async (t) => {
  const server = createServer((socket) => socket.pause().on('error', () => {}));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as { port: number };
  const signal = new AbortController().signal;
  const body = 'x'.repeat(20_000_000);
  await t.rejects(post({ ...sent, body, url: `http://127.0.0.1:${port}/`, signal }), /within 300 ms/);
});

t.test('a request ends when its signal aborts, before it and while it runs', async (t) => {
  const { port } = await oddReceiver(t, () => {});
  const url = `http://127.0.0.1:${port}/`;
  await t.rejects(
    post({ ...sent, url, timeoutMs: 60_000, signal: AbortSignal.abort(new Error('stopped')) }),
    /stopped/,
  );
  const abort = new AbortController();
  const pending = post({ ...sent, url, timeoutMs: 60_000, signal: abort.signal });
  setTimeout(() => abort.abort(new Error('stopped')), 20);
  await t.rejects(pending, /stopped/);
});

forEachDatabase(t, { entities: [OutboxEvent, WebhookSubscription], only: ['sqlite', 'postgresql'] }, async (t, orm) => {
  for (const [name, treat] of Object.entries(ODD)) {
    t.test(`a receiver that ${name} takes all places, and other receivers and handlers go on`, async (t) => {
      await orm.schema.clear();
      const { port } = await oddReceiver(t, treat);
      const good = await oddReceiver(t, (socket) => {
        got.push('good');
        socket.end('HTTP/1.1 204 No Content\r\n\r\n');
      });
      const got: string[] = [];
      await subscribe(orm, { odd: port, good: good.port });
      const em = orm.em.fork();
      for (let each = 0; each < 10; each++) await emit({ em }, 'bad', {}, { subject: `S/${each}` });
      const worker = startOutbox(orm, {
        log,
        pollMs: 50,
        backoffMs: 10,
        maxAttempts: 2,
        handlers: [
          webhooks({ mayReceive: () => true, development: true, ...places }),
          { 'own.*': () => got.push('own') },
        ],
      });
      t.teardown(() => worker.stop());
      await until(async () => (await orm.em.fork().count(OutboxEvent, { lease: { $ne: null } })) > 0);
      await emit({ em }, 'good', {}, { subject: 'S/good' });
      await emit({ em }, 'own.event', {}, { subject: 'S/own' });
      await until(() => got.includes('good') && got.includes('own'));
      await until(async () => (await orm.em.fork().count(OutboxEvent, { status: 'waiting' })) === 0);
      // On a busy machine the good receiver may fail within its limit too.
      const dead = await orm.em.fork().find(OutboxEvent, { status: 'dead', share: 'odd' });
      t.equal(dead.length, 10);
      t.ok(dead.every(({ type, attempts }) => type === '~webhook.delivery' && attempts === 2));
    });
  }
});

async function subscribe(orm: MikroORM, ports: { odd: number; good: number }): Promise<void> {
  const row = { secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', created_at: new Date(), is_enabled: true };
  await orm.em.fork().insertMany(WebhookSubscription, [
    { ...row, id: 'odd', url: `http://127.0.0.1:${ports.odd}/`, event_types: ['bad'] },
    { ...row, id: 'good', url: `http://127.0.0.1:${ports.good}/`, event_types: ['good'] },
  ]);
}
