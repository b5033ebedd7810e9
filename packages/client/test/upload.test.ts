/** Uploads to a bucket, which takes exactly what was signed. */
import { defineEntity, p } from '@mikro-orm/core';
import {
  file,
  type FileStore,
  FileType,
  ModelViewSet,
  readShape,
  Router,
  serverOptions,
  viewset,
  writeShape,
} from '@viewset/core';
import fastify from 'fastify';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { openSqlite } from '../../core/test/support/databases.ts';
import { createClient } from '../src/index.ts';
import { upload } from '../src/upload.ts';

const TicketSchema = defineEntity({
  name: 'Ticket',
  properties: {
    id: p.integer().primary(),
    title: p.string(),
    screen: p.type(FileType).nullable(),
    manual: p.type(FileType).nullable(),
    scan: p.type(FileType).nullable(),
  },
});
class Ticket extends TicketSchema.class {}
TicketSchema.setClass(Ticket);

/** Serves a bucket. */
async function startBucket(t: Test): Promise<FileStore & { readonly files: Map<string, Buffer> }> {
  const files = new Map<string, Buffer>();
  const app = fastify();
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.put<{ Params: { key: string }; Querystring: { size: string; type: string } }>('/:key', (request, reply) => {
    const { query, headers, body, params } = request;
    if (headers['content-type'] !== query.type || headers['content-length'] !== query.size) {
      return reply.code(403).type('application/xml').send('<Code>SignatureDoesNotMatch</Code>');
    }
    files.set(params.key, (body as Buffer | undefined) ?? Buffer.alloc(0));
    return '';
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => app.close());
  return {
    files,
    put: async (key, content) => void files.set(key, await buffer(content)),
    get: async (key, range) => Readable.from([files.get(key)!.subarray(range?.start, range && range.end + 1)]),
    delete: async (key) => void files.delete(key),
    uploads: {
      sign: async (key, { size, type }) => ({
        url: `${origin}/${key}?${new URLSearchParams({ size: `${size}`, type })}`,
      }),
      copy: async (key, fileKey) => files.set(fileKey, files.get(key)!).get(key)?.length,
      delete: async (key) => void files.delete(key),
      keys: () => Readable.from([]),
    },
  };
}

const routerOf = (store: FileStore) => {
  const limits = { store, maxBytes: 1000, types: ['text/plain', 'text/csv'] } as const;
  const shapes = {
    read: readShape(Ticket, ['id', 'title', 'screen', 'manual']),
    write: writeShape(Ticket, ['title'], {
      screen: file({ ...limits, direct: true }),
      manual: file({ ...limits, direct: true }),
      scan: file(limits),
    }),
  };
  class TicketViewSet extends ModelViewSet(Ticket, { ...shapes, allowAnonymous: true }) {}
  class EnvelopedViewSet extends ModelViewSet(Ticket, {
    ...shapes,
    allowAnonymous: true,
    envelope: { one: 'ticket' },
  }) {}
  return new Router({ prefix: 'api' }).register('tickets', TicketViewSet).register('enveloped', EnvelopedViewSet);
};

t.test('a file is uploaded to the store, and named in a body', async (t) => {
  const bucket = await startBucket(t);
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  const orm = await openSqlite(t, { entities: [Ticket] });
  await app.register(viewset, { orm, secret: 'a secret of at least 32 bytes for tests' });
  await app.register(routerOf(bucket).plugin);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const api = createClient<ReturnType<typeof routerOf>>({ url: `${url}/api` });

  const screen = await upload(api.tickets, 'screen', new File(['hello'], 'hello.txt', { type: 'text/plain' }));
  const made = await api.tickets.create({ title: 'Broken', screen });
  t.match(made, { screen: { name: 'hello.txt', size: 5, type: 'text/plain' } });
  t.equal(await (await fetch(url + made.screen!.url)).text(), 'hello');
  t.equal(bucket.files.size, 1, 'the upload is a file of the record');

  const manual = await upload(api.tickets, 'manual', new Blob([], { type: 'text/csv' }));
  t.match(await api.tickets.update(made.id, { manual }), { manual: { name: 'file', size: 0, type: 'text/csv' } });

  const inEnvelope = await upload(api.enveloped, 'screen', new Blob(['x'], { type: 'text/plain' }));
  const { ticket } = await api.enveloped.create({ ticket: { title: 'In an envelope', screen: inEnvelope } });
  t.match(ticket, { screen: { size: 1 } });

  // @ts-expect-error -- the field takes no uploads
  await t.rejects(upload(api.tickets, 'scan', new Blob(['x'])), { status: 400 });
  // @ts-expect-error -- there is no such field
  await t.rejects(upload(api.tickets, 'title', new Blob(['x'])), { status: 400 });
  await t.rejects(upload(api.tickets, 'screen', new Blob(['x'], { type: 'image/png' })), {
    status: 415,
    name: 'ApiError',
  });
  await t.rejects(upload(api.tickets, 'screen', new Blob(['x'.repeat(1001)], { type: 'text/plain' })), {
    status: 413,
    name: 'ApiError',
  });

  const changed = (address: string, init: RequestInit) => fetch(address, { ...init, body: 'another' });
  const refused = upload(api.tickets, 'screen', new Blob(['x'], { type: 'text/plain' }), { fetch: changed });
  await t.rejects(refused, { name: 'ApiError', status: 403, request: /^PUT [^?]+$/ });
  const lost = async () => Promise.reject(new TypeError('Failed to fetch'));
  await t.rejects(upload(api.tickets, 'screen', new Blob(['x'], { type: 'text/plain' }), { fetch: lost }), {
    status: 0,
    code: 'network_error',
  });
  const whole = new Blob(['x'], { type: 'text/plain' });
  const controller = new AbortController();
  const slow = async (_address: string, init: RequestInit) => {
    controller.abort(new Error('enough by now'));
    init.signal?.throwIfAborted();
    throw new TypeError('Failed to fetch');
  };
  await t.rejects(upload(api.tickets, 'screen', whole, { fetch: slow, signal: controller.signal }), {
    message: 'enough by now',
  });
  const broken = async () =>
    new Response(new ReadableStream({ start: (stream) => stream.error(new TypeError('terminated')) }));
  await t.rejects(upload(api.tickets, 'screen', whole, { fetch: broken }), { status: 0, code: 'network_error' });
  const elsewhere = async () => Response.redirect('https://login.example/?next=1', 303);
  await t.rejects(upload(api.tickets, 'screen', whole, { fetch: elsewhere }), { name: 'ApiError', status: 303 });
  const sent: RequestInit[] = [];
  const watched = (address: string, init: RequestInit) => {
    sent.push(init);
    return fetch(address, init);
  };
  const again = await upload(api.tickets, 'screen', whole, { fetch: watched, token: 'a token of the server' });
  t.strictSame(
    sent.map(({ headers }) => headers),
    [{ 'content-type': 'text/plain' }],
    'the bucket gets no token',
  );
  const twice = await Promise.allSettled([1, 2].map((n) => api.tickets.create({ title: `Twice ${n}`, screen: again })));
  t.strictSame(twice.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'], 'one record has the upload');
  for (const none of ['./a.txt', [new Blob(['x'])], Buffer.from('x')]) {
    await t.rejects(upload(api.tickets, 'screen', none as never), { name: 'TypeError', message: /input\.files\[0\]/ });
  }
  const signal = AbortSignal.abort(new Error('enough'));
  await t.rejects(upload(api.tickets, 'screen', new Blob(['x'], { type: 'text/plain' }), { signal }), {
    message: 'enough',
  });
});
