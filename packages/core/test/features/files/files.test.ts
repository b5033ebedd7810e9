/** Files: fields of write shapes that come as multipart/form-data (RFC 7578), and the routes that send them (RFC 9110, section 14). */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Disk } from 'flydrive';
import { FSDriver } from 'flydrive/drivers/fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import {
  action,
  type FileStore,
  FileType,
  file,
  flydriveStore,
  Forbidden,
  type InputOf,
  ModelViewSet,
  Permission,
  type PermissionView,
  readShape,
  Router,
  type WriteData,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase, openSqlite } from '../../support/databases.ts';
import { errorAtStart, testApp } from '../../support/library.ts';

const Ticket = defineEntity({
  name: 'Ticket',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(50).unique(),
    weight: p.integer().default(1),
    done: p.boolean().default(false),
    rank: p.integer().nullable(),
    tags: p.array().nullable(),
    meta: p.json().nullable(),
    screen: p.type(FileType).nullable(),
    manual: p.type(FileType).nullable(),
  },
});
const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary(), ticket: () => p.manyToOne(Ticket) },
});

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const MAX_BYTES = 300_000;

/** Every test has a folder of its own. */
let folder = '';
const store: FileStore = {
  put: (key, content, facts) => disk().put(key, content, facts),
  get: (key, range) => disk().get(key, range),
  delete: (key) => disk().delete(key),
};
function disk(): FileStore {
  return flydriveStore(new Disk(new FSDriver({ location: folder, visibility: 'private' })), { folder: 'tickets/' });
}

class HidesSecrets extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<InferEntity<typeof Ticket>>(view, { title__ne: 'secret' });
  }
}

const write = writeShape(Ticket, ['title', 'weight', 'done', 'rank', 'tags', 'meta'], {
  screen: file({ store, maxBytes: MAX_BYTES, types: ['image/*'] }),
  manual: file({ store, maxBytes: MAX_BYTES, types: ['application/pdf', 'text/plain', 'text/html'] }),
});

class TicketViewSet extends ModelViewSet(Ticket, {
  read: readShape(Ticket, ['id', 'title', 'weight', 'screen', 'manual']),
  write,
  permissionClasses: [HidesSecrets],
}) {
  override async performCreate(
    request: FastifyRequest,
    data: WriteData<InferEntity<typeof Ticket>, InputOf<typeof write>>,
  ) {
    if (request.headers['x-refuse'] !== undefined) throw new Forbidden('no');
    return super.performCreate(request, data);
  }
}
class NoteViewSet extends ModelViewSet(Note, {
  read: readShape(Note, ['id'], { ticket: readShape(Ticket, ['title', 'screen']), shown: 'ticket.screen' }),
}) {}

const router = (): Router =>
  new Router({ prefix: 'api' }).register('tickets', TicketViewSet).register('notes', NoteViewSet);

interface Part {
  readonly name: string;
  readonly content: string | Buffer;
  readonly filename?: string;
  readonly type?: string;
}

const BOUNDARY = 'fence';

function form(...parts: readonly Part[]): { payload: Buffer; headers: Record<string, string> } {
  const pieces = parts.flatMap(({ name, content, filename, type }) => [
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"`,
    filename === undefined ? '' : `; filename="${filename}"`,
    type === undefined ? '' : `\r\ncontent-type: ${type}`,
    '\r\n\r\n',
    content,
    '\r\n',
  ]);
  const payload = Buffer.concat([...pieces, `--${BOUNDARY}--\r\n`].map((piece) => Buffer.from(piece)));
  return { payload, headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` } };
}

const TITLE = { name: 'title', content: 'Broken' };
const SCREEN = { name: 'screen', content: PNG, filename: 'screen.png', type: 'image/png' };

/** The files in the store, and those that wait in the temporary folder. */
async function kept(): Promise<{ stored: string[]; temporary: string[] }> {
  const stored = await readdir(join(folder, 'tickets')).catch(() => []);
  return { stored, temporary: await readdir(tmpdir()) };
}

/** Makes a folder of the test's own, with a temporary folder in it: other processes write into that of the system. */
async function freshFolder(t: Test): Promise<void> {
  const mine = await mkdtemp(join(tmpdir(), 'files-test-'));
  folder = mine;
  const { TMPDIR } = process.env;
  process.env['TMPDIR'] = join(mine, 'temporary');
  await mkdir(tmpdir());
  t.teardown(async () => {
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
    await rm(mine, { recursive: true, force: true });
  });
}

/** Files are deleted once the answer is sent. */
async function settled(check: () => Promise<boolean>): Promise<boolean> {
  for (let tries = 0; tries < 500; tries++) {
    if (await check()) return true;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return false;
}

forEachDatabase(t, { entities: [Ticket, Note] }, async (t, orm) => {
  let app: FastifyInstance;
  t.beforeEach(async (t) => {
    await freshFolder(t);
    await orm.schema.refresh();
    app = await testApp(t, orm, [router()]);
  });
  const post = (...parts: readonly Part[]) => app.inject({ method: 'POST', url: '/api/tickets', ...form(...parts) });

  await t.test('create accepts a file with the other fields, and the record links to it', async (t) => {
    const answer = await post(TITLE, { name: 'weight', content: '7' }, SCREEN);
    t.equal(answer.statusCode, 201, answer.body);
    t.strictSame(answer.json(), {
      id: 1,
      title: 'Broken',
      weight: 7,
      screen: { url: '/api/tickets/1/screen', name: 'screen.png', size: PNG.length, type: 'image/png' },
      manual: null,
    });
    const sent = await app.inject('/api/tickets/1/screen');
    t.equal(sent.statusCode, 200);
    t.strictSame(sent.rawPayload, PNG);
    t.equal(sent.headers['content-type'], 'image/png');
    t.equal(sent.headers['x-content-type-options'], 'nosniff');
    t.equal(sent.headers['content-length'], String(PNG.length));
    t.match(sent.headers['content-disposition'], /^inline; filename="screen.png"/);
    t.equal((await kept()).stored.length, 1);
    t.ok(await settled(async () => (await kept()).temporary.length === 0), 'no temporary file is left');
    t.equal(app.viewset.routeNames.reverse('tickets-screen', { pk: 1 }), '/api/tickets/1/screen');
    const { results } = (await app.inject('/api/tickets')).json<{ results: { screen: { url: string } }[] }>();
    t.equal(results[0]?.screen.url, '/api/tickets/1/screen');
  });

  await t.test('JSON is accepted as well as forms, but cannot contain a file', async (t) => {
    const plain = await app.inject({ method: 'POST', url: '/api/tickets', payload: { title: 'No file' } });
    t.equal(plain.statusCode, 201, plain.body);
    for (const screen of ['x', { key: 'a', name: 'b', size: 1, type: 'image/png' }, 1, []]) {
      const answer = await app.inject({ method: 'POST', url: '/api/tickets', payload: { title: 'Forged', screen } });
      t.equal(answer.statusCode, 400, JSON.stringify(screen));
      t.match(answer.json(), { details: [{ in: 'body', path: '/screen', message: /multipart/ }] });
    }
  });

  await t.test('form fields are parsed by their schema, and every error is named', async (t) => {
    const good = await post(
      { name: 'title', content: '12' },
      { name: 'weight', content: '3' },
      { name: 'done', content: 'true' },
    );
    t.match(good.json(), { title: '12', weight: 3 });
    const texts = [
      { name: 'rank', content: '' },
      { name: 'tags', content: 'a' },
      { name: 'tags', content: 'b' },
    ];
    await post({ name: 'title', content: 'Lists' }, ...texts);
    await post(
      { name: 'title', content: 'JSON' },
      { name: 'rank', content: '2' },
      { name: 'tags', content: '["c,d"]' },
    );
    const stored = await orm.em.fork().find(Ticket, { title: ['Lists', 'JSON'] }, { orderBy: { id: 1 } });
    t.match(stored, [
      { rank: null, tags: ['a', 'b'] },
      { rank: 2, tags: ['c,d'] },
    ]);
    for (const [content, meta] of [
      ['{"a":[1,null]}', { a: [1, null] }],
      ['[1]', [1]],
      ['12', 12],
      ['null', null],
      ['"12"', '12'],
      ['no JSON', 'no JSON'],
      ['', ''],
    ] as const) {
      const answer = await post({ name: 'title', content: `Meta ${content}` }, { name: 'meta', content });
      t.equal(answer.statusCode, 201, answer.body);
      const found = await orm.em.fork().findOneOrFail(Ticket, { title: `Meta ${content}` });
      t.strictSame(found.meta, meta, content);
    }
    const bad = await post({ name: 'weight', content: 'many' }, SCREEN);
    t.equal(bad.statusCode, 400);
    t.strictSame(
      bad.json<{ details: { path: string }[] }>().details.map(({ path }) => path),
      ['/title', '/weight'],
    );
    t.strictSame((await kept()).stored, [], 'nothing is stored for a request that is refused');
    t.ok(await settled(async () => (await kept()).temporary.length === 0));
  });

  await t.test('PUT and PATCH replace a file, null removes it, and the replaced file is deleted', async (t) => {
    await post(TITLE, SCREEN);
    const [first] = (await kept()).stored;
    const other = { ...SCREEN, filename: 'other.png' };
    const changed = await app.inject({ method: 'PATCH', url: '/api/tickets/1', ...form(other) });
    t.match(changed.json(), { title: 'Broken', screen: { name: 'other.png' } });
    t.ok(await settled(async () => (await kept()).stored.length === 1));
    t.not((await kept()).stored[0], first);
    const left = await app.inject({ method: 'PATCH', url: '/api/tickets/1', payload: { title: 'Still' } });
    t.match(left.json(), { screen: { name: 'other.png' } });
    const removed = await app.inject({ method: 'PATCH', url: '/api/tickets/1', payload: { screen: null } });
    t.equal(removed.json<{ screen: null }>().screen, null);
    t.ok(await settled(async () => (await kept()).stored.length === 0));
    t.equal((await app.inject('/api/tickets/1/screen')).statusCode, 404);
  });

  await t.test('a record that is deleted takes its files along', async (t) => {
    await post(TITLE, SCREEN, { name: 'manual', content: 'Read me', filename: 'm.txt', type: 'text/plain' });
    t.equal((await kept()).stored.length, 2);
    t.equal((await app.inject({ method: 'DELETE', url: '/api/tickets/1' })).statusCode, 204);
    t.ok(await settled(async () => (await kept()).stored.length === 0));
  });

  await t.test('files of a failed write are deleted', async (t) => {
    await post(TITLE, SCREEN);
    const taken = await post(TITLE, SCREEN);
    t.equal(taken.statusCode, 409, taken.body);
    const refused = form({ ...TITLE, content: 'Other' }, SCREEN);
    const answer = await app.inject({
      method: 'POST',
      url: '/api/tickets',
      ...refused,
      headers: { ...refused.headers, 'x-refuse': '1' },
    });
    t.equal(answer.statusCode, 403);
    t.equal((await app.inject({ method: 'PATCH', url: '/api/tickets/99', ...form(SCREEN) })).statusCode, 404);
    t.equal((await kept()).stored.length, 1);
    t.ok(await settled(async () => (await kept()).temporary.length === 0));
  });

  await t.test('a file without a type gets the type of its bytes, or text', async (t) => {
    const type = 'application/octet-stream';
    let count = 0;
    const typeOf = async (name: string, content: string | Buffer) => {
      const answer = await post(
        { name: 'title', content: `Unnamed ${++count}` },
        { name, content, filename: 'x', type },
      );
      return answer.statusCode === 201
        ? answer.json<Record<string, { type: string }>>()[name]!.type
        : answer.statusCode;
    };
    t.equal(await typeOf('screen', PNG), 'image/png');
    t.equal(await typeOf('manual', PNG), 415, 'no type that the field takes');
    t.equal(await typeOf('manual', 'Grüße,\n\tAda'), 'text/plain', 'never text/html, which the field takes too');
    t.equal(await typeOf('manual', '<script>alert(1)</script>'), 'text/plain');
    t.equal(await typeOf('manual', 'é'.repeat(4000)), 'text/plain', 'a head that ends within a character');
    t.equal(await typeOf('manual', Buffer.from([0xff, 0xfe, 0x00])), 415, 'no UTF-8');
    t.equal(await typeOf('manual', 'a\0b'), 415, 'a control character');
    t.equal(await typeOf('screen', 'Read me'), 415, 'a field that takes no text');
  });

  await t.test('the first bytes decide the type, not the type that the client sent', async (t) => {
    const lie = await post(TITLE, { ...SCREEN, content: '<script>alert(1)</script>' });
    t.equal(lie.statusCode, 415, lie.body);
    const hidden = await post(TITLE, { name: 'manual', content: PNG, filename: 'm.txt', type: 'text/plain' });
    t.equal(hidden.statusCode, 415);
    const page = await post(TITLE, { name: 'manual', content: '<b>x</b>', filename: 'ü "x".html', type: 'text/html' });
    t.equal(page.statusCode, 201, page.body);
    const { url } = page.json<{ manual: { url: string } }>().manual;
    const sent = await app.inject(url);
    t.match(sent.headers['content-disposition'], /^attachment; filename=".+"; filename\*=UTF-8''%C3%BC/);
    t.match(sent.headers['content-security-policy'], /sandbox/);
    t.equal((await kept()).stored.length, 1);
  });

  await t.test(
    'a file that is too large returns 413, a second file of a field 400, and unknown files are dropped',
    async (t) => {
      const large = { ...SCREEN, content: Buffer.concat([PNG, Buffer.alloc(MAX_BYTES)]) };
      t.equal((await post(TITLE, large)).statusCode, 413);
      const twice = await post(TITLE, SCREEN, SCREEN);
      t.equal(twice.statusCode, 400);
      t.match(twice.json(), { details: [{ path: '/screen', message: 'must be one file' }] });
      const unknown = await post(TITLE, { ...SCREEN, name: 'virus' }, { ...SCREEN, name: 'title2', filename: '' });
      t.equal(unknown.statusCode, 201, unknown.body);
      t.strictSame((await kept()).stored, []);
      t.ok(await settled(async () => (await kept()).temporary.length === 0), 'no temporary file is left');
    },
  );

  await t.test('errors of a readable form are reported also with a Content-Encoding', async (t) => {
    const send = (...parts: readonly Part[]) => {
      const { payload, headers } = form(...parts);
      return sendCoded(payload, headers);
    };
    const sendCoded = (payload: Buffer, headers: Record<string, string>) =>
      app.inject({ method: 'POST', url: '/api/tickets', payload, headers: { ...headers, 'content-encoding': 'gzip' } });
    const large = { ...SCREEN, content: Buffer.concat([PNG, Buffer.alloc(MAX_BYTES)]) };
    t.equal((await send(TITLE, large)).statusCode, 413);
    t.match((await send(TITLE, SCREEN, SCREEN)).json(), { code: 'invalid_usage', details: [{ path: '/screen' }] });
    const { TMPDIR } = process.env;
    process.env['TMPDIR'] = join(folder, 'is', 'not', 'there');
    try {
      t.equal((await send(TITLE, SCREEN)).statusCode, 500, 'a fault of the server is none of the client');
    } finally {
      if (TMPDIR === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = TMPDIR;
    }
    const { payload, headers } = form(TITLE);
    t.equal((await sendCoded(gzipSync(payload), headers)).statusCode, 415, 'one that cannot be read is compressed');
  });

  await t.test('ranges, entity tags and HEAD', async (t) => {
    const text = 'abcdefghijklmnopqrstuvwxyz';
    await post(TITLE, { name: 'manual', content: text, filename: 'abc.txt', type: 'text/plain' });
    const get = (headers: Record<string, string>, method: 'GET' | 'HEAD' = 'GET') =>
      app.inject({ method, url: '/api/tickets/1/manual', headers });
    const whole = await get({});
    const tag = String(whole.headers.etag);
    t.match(tag, /^"[\w-]+"$/);
    for (const [range, part, header] of [
      ['bytes=0-3', 'abcd', 'bytes 0-3/26'],
      ['bytes=24-', 'yz', 'bytes 24-25/26'],
      ['bytes=-3', 'xyz', 'bytes 23-25/26'],
      ['bytes=20-99', 'uvwxyz', 'bytes 20-25/26'],
    ] as const) {
      const answer = await get({ range });
      t.equal(answer.statusCode, 206, range);
      t.equal(answer.body, part);
      t.equal(answer.headers['content-range'], header);
      t.equal(answer.headers['content-length'], String(part.length));
    }
    const outside = await get({ range: 'bytes=26-' });
    t.equal(outside.statusCode, 416);
    t.equal(outside.headers['content-range'], 'bytes */26');
    for (const range of ['lines=1-2', 'bytes=3-1', 'bytes=0-1,3-4', 'bytes=-']) {
      t.equal((await get({ range })).body, text, range);
    }
    t.equal((await get({ range: 'bytes=0-3', 'if-range': '"other"' })).body, text);
    t.equal((await get({ range: 'bytes=0-3', 'if-range': tag })).body, 'abcd');
    const known = await get({ 'if-none-match': tag });
    t.equal(known.statusCode, 304);
    t.equal(known.body, '');
    const head = await get({}, 'HEAD');
    t.equal(head.statusCode, 200);
    t.equal(head.body, '');
    t.equal(head.headers['content-length'], '26');
    t.equal(head.headers.etag, tag);
  });

  await t.test('a file that is missing in its store returns 500 without details', async (t) => {
    await post(TITLE, SCREEN);
    const [key = ''] = (await kept()).stored;
    await rm(join(folder, 'tickets', key));
    const answer = await app.inject({ url: '/api/tickets/1/screen', headers: { range: 'bytes=0-3' } });
    t.equal(answer.statusCode, 500);
    t.match(answer.json(), { code: 'internal_error' });
    const told = ['etag', 'content-range', 'content-disposition', 'accept-ranges'].filter(
      (name) => name in answer.headers,
    );
    t.strictSame(told, []);
  });

  await t.test('a file with the name of a folder returns 400 and names its field', async (t) => {
    for (const filename of ['.', '..', 'a/', 'a/..', '..\\..\\.', '/']) {
      const made = await post(TITLE, { ...SCREEN, filename });
      t.equal(made.statusCode, 400, filename);
      t.strictSame(made.json().details, [{ in: 'body', path: '/screen', message: 'must be a file with a name' }]);
    }
    const dotted = await post({ ...TITLE, content: 'Dotted' }, { ...SCREEN, filename: 'a/..b' });
    t.equal(dotted.statusCode, 201, dotted.body);
    t.equal(dotted.json().screen.name, '..b');
    t.ok(await settled(async () => (await kept()).temporary.length === 0));
  });

  await t.test('an empty file is a file', async (t) => {
    const made = await post(TITLE, { name: 'manual', content: '', filename: 'empty.txt', type: 'text/plain' });
    t.match(made.json(), { manual: { size: 0 } }, made.body);
    t.equal((await app.inject('/api/tickets/1/manual')).statusCode, 200);
  });

  await t.test('the route of a file makes the same checks as the route of the record', async (t) => {
    await post(TITLE, SCREEN);
    await orm.em.fork().nativeUpdate(Ticket, { id: 1 }, { title: 'secret' });
    t.equal((await app.inject('/api/tickets/1/screen')).statusCode, 404);
    t.equal((await app.inject('/api/tickets/x/screen')).statusCode, 404);
    t.equal((await app.inject({ method: 'POST', url: '/api/tickets/1/screen' })).statusCode, 405);
  });

  await t.test('a shape of another entity links to the same route', async (t) => {
    await post(TITLE, SCREEN);
    await orm.em.fork().insert(Note, { id: 1, ticket: 1 });
    const { results } = (await app.inject('/api/notes')).json<{ results: unknown[] }>();
    const screen = { url: '/api/tickets/1/screen', name: 'screen.png', size: PNG.length, type: 'image/png' };
    t.strictSame(results, [{ id: 1, ticket: { title: 'Broken', screen }, shown: screen }]);
  });

  await t.test('a link leads to its file also with custom actionPath of the router', async (t) => {
    class SnakeCaseRouter extends Router {
      protected override actionPath(name: string) {
        return `_${name}`;
      }
    }
    const own = await testApp(t, orm, [new SnakeCaseRouter().register('tickets', TicketViewSet)]);
    const made = await own.inject({ method: 'POST', url: '/tickets', ...form(TITLE, SCREEN) });
    t.equal((await own.inject(made.json<{ screen: { url: string } }>().screen.url)).statusCode, 200);
  });

  await t.test('hostile forms are refused, and leave nothing', async (t) => {
    const send = (payload: string | Buffer, type = `multipart/form-data; boundary=${BOUNDARY}`) =>
      app.inject({ method: 'POST', url: '/api/tickets', payload, headers: { 'content-type': type } });
    const whole = form(TITLE, SCREEN).payload;
    const cases: [string, string | Buffer, string?][] = [
      ['cut off', whole.subarray(0, whole.length - 40)],
      ['no boundary', whole, 'multipart/form-data'],
      ['no form at all', 'hello'],
      ['empty', ''],
      ['long boundary', whole, `multipart/form-data; boundary=${'x'.repeat(300)}`],
      ['part without a name', `--${BOUNDARY}\r\ncontent-disposition: form-data\r\n\r\nx\r\n--${BOUNDARY}--\r\n`],
      ['prototype', form({ name: '__proto__', content: '{}' }, TITLE).payload],
      ['NUL', form({ name: 'title', content: 'a\u0000b' }).payload],
      [
        'many fields',
        form(...Array.from({ length: 2000 }, (_, index) => ({ name: `f${index}`, content: 'x' }))).payload,
      ],
      ['much text', form({ name: 'title', content: 'x'.repeat(3_000_000) }).payload],
    ];
    for (const [name, payload, type] of cases) {
      const { statusCode, body } = await send(payload, type);
      t.ok(statusCode >= 400 && statusCode < 500, `${name}: ${statusCode} ${body.slice(0, 200)}`);
      t.ok(JSON.parse(body).code, name);
    }
    t.ok(await settled(async () => (await kept()).temporary.length === 0));
    t.strictSame((await kept()).stored, []);
    t.match((await send('x', 'text/plain')).json(), {
      error: 'The media type is not supported; send application/json or multipart/form-data',
    });
  });

  await t.test('an upload in progress does not block other requests', async (t) => {
    const busy = await testApp(t, orm, [router()], { options: { maxRequestsInFlight: 1 } });
    await busy.listen({ port: 0 });
    const { port } = busy.server.address() as { port: number };
    const { payload } = form(TITLE, { ...SCREEN, content: Buffer.concat([PNG, Buffer.alloc(100_000)]) });
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => (answer += chunk.toString()));
    socket.write(
      `POST /api/tickets HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: multipart/form-data; boundary=${BOUNDARY}\r\ncontent-length: ${payload.length}\r\n\r\n`,
    );
    socket.write(payload.subarray(0, 50_000));
    await settled(async () => (await kept()).temporary.length > 0);
    t.equal((await fetch(`http://127.0.0.1:${port}/api/tickets`)).status, 200);
    socket.write(payload.subarray(50_000));
    t.ok(await settled(async () => answer.startsWith('HTTP/1.1 201')));
  });

  await t.test('an upload whose client disconnects leaves no file', async (t) => {
    await app.listen({ port: 0 });
    const { port } = app.server.address() as { port: number };
    const { payload } = form(TITLE, { ...SCREEN, content: Buffer.concat([PNG, Buffer.alloc(100_000)]) });
    const socket = connect(port, '127.0.0.1');
    socket.write(
      `POST /api/tickets HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=${BOUNDARY}\r\ncontent-length: ${payload.length}\r\n\r\n`,
    );
    socket.write(payload.subarray(0, 50_000));
    await settled(async () => (await kept()).temporary.length > 0);
    socket.destroy();
    t.ok(await settled(async () => (await kept()).temporary.length === 0));
    t.strictSame((await kept()).stored, []);
    t.equal(await orm.em.fork().count(Ticket), 0);
  });
});

t.test('a file that cannot be taken is refused at start', async (t) => {
  const field = file({ store, maxBytes: 10, types: ['image/png'] });
  for (const [options, message] of [
    [{ store: {} }, /"store" must be a FileStore/],
    [{ maxBytes: 0 }, /"maxBytes" must be a whole number/],
    [{ types: [] }, /"types" must be a list of media types/],
    [{ types: ['png'] }, /"types" must be a list of media types/],
    [{ size: 3 }, /unknown option "size"/],
  ] as const) {
    t.throws(() => file({ store, maxBytes: 10, types: ['image/png'], ...(options as object) }), { message });
  }
  t.throws(() => writeShape(Ticket, ['title', 'screen']), { message: /Ticket.screen is a file.*file\(/ });
  t.throws(() => writeShape(Ticket, [], { title: field as never }), { message: /Ticket.title is not a file/ });
  const orm = await openSqlite(t, { entities: [Ticket, Note] });
  await t.rejects(testApp(t, orm, [new Router().register('notes', NoteViewSet)]), { message: /no view sends it/ });
});

t.test('an action may have the name of a file, with another method than GET', async (t) => {
  const orm = await openSqlite(t, { entities: [Ticket] });
  await freshFolder(t);
  const options = { read: readShape(Ticket, ['id', 'screen']), write } as const;
  class Posting extends ModelViewSet(Ticket, options) {
    screen = action({ methods: ['post'], detail: true }, () => ({ taken: true }));
  }
  class Reading extends ModelViewSet(Ticket, options) {
    screen = action({ detail: true }, () => ({ taken: true }));
  }
  const app = await testApp(t, orm, [new Router().register('tickets', Posting)]);
  const created = await app.inject({ method: 'POST', url: '/tickets', ...form(TITLE, SCREEN) });
  t.equal(created.statusCode, 201);
  const { id } = created.json<{ id: number }>();
  const posted = await app.inject({ method: 'POST', url: `/tickets/${id}/screen` });
  t.same(posted.json(), { taken: true });
  const got = await app.inject({ url: `/tickets/${id}/screen` });
  t.same(got.rawPayload, PNG);
  t.match(await errorAtStart(t, orm, Reading), /its options make an action "screen", and the view has another action/);
});
