/** Tells of clients that ask for much and read little or nothing: none keeps memory, a slot or an export for long. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { join } from 'node:path';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { connect as connectHttp2 } from 'node:http2';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineEntity, p } from '@mikro-orm/core';
import { fastify } from 'fastify';
import t, { type Test } from 'tap';
import {
  file,
  type FileStore,
  FileType,
  ModelViewSet,
  readShape,
  Router,
  serverOptions,
  viewset,
  type ViewsetOptions,
  writeShape,
} from '../../src/index.ts';
import { openSqlite } from '../support/databases.ts';

const MEGABYTE = 1024 * 1024;
const LARGE = 32 * MEGABYTE;
const RECORDS = 300;

const Page = defineEntity({
  name: 'Page',
  properties: { id: p.integer().primary(), content: p.text(), scan: p.type(FileType).nullable() },
});
class PageViewSet extends ModelViewSet(Page, { read: readShape(Page, ['id', 'content']), exports: ['ndjson'] }) {}

/** The files that are open. */
const openFiles = new Set<Readable>();
const store: FileStore = {
  put: async () => {},
  delete: async () => {},
  get: async () => {
    const content = Readable.from(pieces());
    openFiles.add(content);
    return content.once('close', () => openFiles.delete(content));
  },
};
class ScanViewSet extends ModelViewSet(Page, {
  read: readShape(Page, ['id', 'scan']),
  write: writeShape(Page, ['content'], { scan: file({ store, maxBytes: LARGE, types: ['text/plain'] }) }),
}) {}

async function newApp(t: Test, options: Partial<ViewsetOptions>, server: object = {}) {
  const orm = await openSqlite(t, { entities: [Page] });
  const scan = { key: 'scan', name: 'scan.txt', size: LARGE, type: 'text/plain' };
  const pages = Array.from({ length: RECORDS }, (_, index) => ({ id: index + 1, content: 'x'.repeat(100_000), scan }));
  await orm.em.fork().insertMany(Page, pages);
  const app = fastify(serverOptions({ ...server, forceCloseConnections: true }));
  t.teardown(() => app.close());
  await app.register(viewset, { orm, ...options });
  await app.register(new Router().register('pages', PageViewSet).register('scans', ScanViewSet).plugin);
  const seen = { begun: 0, closed: 0 };
  app.addHook('onRequest', async (_request, reply) => {
    seen.begun += 1;
    reply.raw.once('close', () => (seen.closed += 1));
  });
  app.get('/quick', async () => 'quick');
  app.get('/text', async () => 'x'.repeat(LARGE));
  app.get('/stream', async (_request, reply) => reply.send(Readable.from(pieces())));
  app.get('/pauses', async (_request, reply) => reply.send(Readable.from(seldom())));
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { app, seen, port: (app.server.address() as AddressInfo).port };
}

function* pieces(): Generator<Buffer> {
  for (let sent = 0; sent < LARGE; sent += MEGABYTE) yield Buffer.alloc(MEGABYTE, 'x');
}

async function* seldom(): AsyncGenerator<string> {
  yield 'first';
  await sleep(600);
  yield 'last';
}

/** Asks and reads nothing. */
function ask(t: Test, port: number, path: string): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  t.teardown(() => socket.destroy());
  return socket;
}

async function connections(app: {
  server: { getConnections(done: (error: Error | null, count: number) => void): void };
}) {
  return new Promise<number>((resolve) => app.server.getConnections((_error, count) => resolve(count)));
}

/** Waits until something holds; the test's own time limit ends it. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(10);
}

const STRICT = { readerTimeoutMs: 300, minReadRate: 10_000 };

for (const path of ['/text', '/stream', '/pages.ndjson', '/scans/1/scan']) {
  t.test(`a client that does not read ${path} is cut off`, async (t) => {
    const { app, port } = await newApp(t, STRICT);
    ask(t, port, path);
    await until(async () => (await connections(app)) === 1);
    await until(async () => (await connections(app)) === 0);
    await until(() => openFiles.size === 0);
  });

  t.test(`a client that reads ${path} slowly, and pauses, gets all of it`, async (t) => {
    const { port } = await newApp(t, { ...STRICT, readerTimeoutMs: 1000 });
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    let [received, pauses] = [0, 0];
    for await (const chunk of response.body!) {
      received += chunk.length;
      if (received > (pauses + 1) * 4 * MEGABYTE) {
        pauses += 1;
        await sleep(300);
      }
    }
    t.ok(received >= RECORDS * 100_000);
    t.ok(pauses >= 5);
  });
}

t.test('time in which the server has nothing to send does not count', async (t) => {
  const { port } = await newApp(t, { ...STRICT, readerTimeoutMs: 100 });
  t.equal(await (await fetch(`http://127.0.0.1:${port}/pauses`)).text(), 'firstlast');
});

t.test('responses that wait for their clients use no slot', async (t) => {
  const { app, seen, port } = await newApp(t, { maxRequestsInFlight: 3, handlerTimeoutMs: 200 });
  for (let asked = 0; asked < 3; asked++) ask(t, port, '/text');
  await until(() => seen.begun === 3);
  await until(async () => (await app.inject('/quick')).statusCode === 200);
  const { begun, closed } = seen;
  t.equal(begun - closed, 3, 'which all wait still');
  for (let asked = 0; asked < 2; asked++) ask(t, port, '/text');
  await until(() => seen.begun === begun + 2);
  await until(() => seen.closed === closed + 2);
  t.equal((await app.inject('/quick')).statusCode, 200, 'the two that have waited longest are cut off');
});

t.test('exports are so many at once, and each gives its place back', async (t) => {
  const { app, port } = await newApp(t, { ...STRICT, maxExports: 2 });
  ask(t, port, '/pages.ndjson');
  ask(t, port, '/pages.ndjson');
  await until(async () => (await app.inject('/pages.ndjson')).statusCode === 503);
  const refused = await app.inject('/pages.ndjson');
  t.equal(refused.headers['retry-after'], '5');
  t.equal(refused.json().code, 'service_unavailable');
  t.equal((await app.inject('/pages')).statusCode, 200, 'pages are none');
  await until(async () => (await app.inject('/pages.ndjson')).statusCode === 200);
  for (let asked = 0; asked < 4; asked++) t.equal((await app.inject('/pages.ndjson')).statusCode, 200);
  t.equal((await app.inject({ method: 'HEAD', url: '/pages.ndjson' })).statusCode, 200);
});

t.test('a connection with many requests and no reading is cut off as one', async (t) => {
  const { app, seen, port } = await newApp(t, STRICT);
  ask(t, port, '/text').write('GET /text HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3));
  await until(() => seen.begun === 4);
  await until(() => seen.closed === 4);
  await until(async () => (await connections(app)) === 0);
});

t.test('a client of TLS that does not read is cut off, and one that pauses gets all', async (t) => {
  const folder = t.testdir({});
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const asked = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-subj',
    '/CN=x',
  ];
  execFileSync('openssl', [...asked, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  const https = { key: readFileSync(key), cert: readFileSync(cert) };
  const { app, port } = await newApp(t, { ...STRICT, readerTimeoutMs: 1000 }, { https });
  const open = async (): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      get({ port, host: '127.0.0.1', path: '/text', rejectUnauthorized: false, agent: false }, resolve).on(
        'error',
        reject,
      );
    });
  let [received, pauses] = [0, 0];
  for await (const chunk of (await open()) as AsyncIterable<Buffer>) {
    received += chunk.length;
    if (received <= (pauses + 1) * 4 * MEGABYTE) continue;
    pauses += 1;
    await sleep(300);
  }
  t.equal(received, LARGE);
  (await open()).on('error', () => {}).pause();
  await until(async () => (await connections(app)) === 0);
});

t.test('an unread response over HTTP/2 is ended', async (t) => {
  const { port } = await newApp(t, STRICT, { http2: true });
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  t.teardown(() => session.destroy());
  const stream = session.request({ ':path': '/text' });
  stream.on('error', () => {});
  await new Promise((resolve) => stream.once('close', resolve));
  t.equal(stream.destroyed, true);
});

t.test('invalid limits fail at start', async (t) => {
  for (const options of [{ readerTimeoutMs: 0 }, { minReadRate: Infinity }, { maxExports: -1 }]) {
    await t.rejects(newApp(t, options), { message: new RegExp(Object.keys(options)[0]!) });
  }
});
