/** Direct uploads: the bytes of a file go to the store, and a body names the upload. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { mock } from 'node:test';
import t from 'tap';
import {
  action,
  file,
  type FileStore,
  FileType,
  flydriveStore,
  Forbidden,
  getCurrentUser,
  MemoryStore,
  type InputOf,
  ModelViewSet,
  Permission,
  type PermissionView,
  readShape,
  Router,
  serverOptions,
  sweepUploads,
  viewset,
  type WriteData,
  writeShape,
} from '../../../src/index.ts';
import { Bucket, PNG } from '../../support/bucket.ts';
import { forEachDatabase, openSqlite } from '../../support/databases.ts';
import { errorAtStart, testApp } from '../../support/library.ts';

const Ticket = defineEntity({
  name: 'Ticket',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(50).unique(),
    screen: p.type(FileType).nullable(),
    manual: p.type(FileType).nullable(),
  },
});
const Scan = defineEntity({
  name: 'Scan',
  properties: { id: p.integer().primary(), ticket: () => p.manyToOne(Ticket), page: p.type(FileType) },
});
type TicketRecord = InferEntity<typeof Ticket>;

const SECRET = 'a secret of at least 32 bytes for tests';
const MAX_BYTES = 300_000;

let bucket = new Bucket();
const store: FileStore = {
  put: (key, content) => bucket.put(key, content),
  get: (...args) => bucket.get(...args),
  delete: (key) => bucket.delete(key),
  uploads: {
    sign: (key) => bucket.uploads.sign(key),
    copy: (...args) => bucket.uploads.copy(...args),
    delete: (key) => bucket.uploads.delete(key),
    keys: () => bucket.uploads.keys(),
  },
};

/** A store that no client can reach. */
const { uploads: _uploads, ...withoutUploads } = store;

/** Guests read, and `ada` may only change tickets. */
class Team extends Permission {
  override hasPermission(request: FastifyRequest, view: PermissionView): boolean {
    const name = getCurrentUser(request)?.role?.name;
    if (request.method === 'GET') return true;
    return name !== 'guest' && (name !== 'ada' || view.getAction(request) !== 'create');
  }
}

const write = writeShape(Ticket, ['title'], {
  screen: file({ store, maxBytes: MAX_BYTES, types: ['image/*'], direct: true }),
  manual: file({ store, maxBytes: MAX_BYTES, types: ['text/plain', 'application/pdf'], direct: true }),
});
class TicketViewSet extends ModelViewSet(Ticket, {
  read: readShape(Ticket, ['id', 'title', 'screen', 'manual']),
  write,
  permissionClasses: [Team],
  allowAnonymous: true,
  bulk: 5,
}) {
  override async performCreate(request: FastifyRequest, data: WriteData<TicketRecord, InputOf<typeof write>>) {
    const made = await super.performCreate(request, data);
    if (request.headers['x-refuse'] !== undefined) throw new Forbidden('no');
    return made;
  }
}
class ScanViewSet extends ModelViewSet(Scan, {
  read: readShape(Scan, ['id', 'page']),
  write: writeShape(Scan, [], { page: file({ store, maxBytes: 100, types: ['image/png'], direct: true }) }),
  allowAnonymous: true,
}) {}
class OtherViewSet extends TicketViewSet {}
const read = readShape(Ticket, ['id', 'title', 'screen']);
class FormsViewSet extends ModelViewSet(Ticket, {
  read,
  write: writeShape(Ticket, ['title'], { screen: file({ store: withoutUploads, maxBytes: 100, types: ['image/*'] }) }),
  allowAnonymous: true,
}) {}
class ListViewSet extends ModelViewSet(Ticket, { read, write, operations: ['list'], allowAnonymous: true }) {}
/** The first ticket, which a request changes without naming it. */
class FirstViewSet extends ModelViewSet(Ticket, {
  read,
  write,
  singleton: () => ({ title: 'First' }),
  operations: ['retrieve', 'update'],
  allowAnonymous: true,
}) {}

const router = (): Router =>
  new Router({ prefix: 'api' })
    .register('tickets', TicketViewSet)
    .register('tickets/:ticket/scans', ScanViewSet)
    .register('others', OtherViewSet)
    .register('forms', FormsViewSet)
    .register('lists', ListViewSet)
    .register('first', FirstViewSet);

interface Begun {
  readonly upload: string;
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly expires_at: string;
}

forEachDatabase(t, { entities: [Ticket, Scan] }, async (t, orm) => {
  let app: FastifyInstance;
  t.beforeEach(async (t) => {
    bucket = new Bucket();
    await orm.schema.refresh();
    app = await testApp(t, orm, [router()], { options: { secret: SECRET } });
  });
  const send = (method: 'POST' | 'PATCH' | 'GET' | 'PUT', url: string, payload?: object, as?: string) => {
    const headers = as === undefined ? {} : { 'x-user': as };
    return app.inject({ method, url: `/api/${url}`, headers, ...(payload && { payload }) });
  };
  const ask = (about: object, as?: string, view = 'tickets') =>
    send(
      'POST',
      `${view}/uploads`,
      { field: 'screen', name: 'a.png', size: PNG.length, type: 'image/png', ...about },
      as,
    );
  const keyOf = ({ url }: Begun): string => new URL(url).pathname.slice(1);
  /** Asks for an upload, and puts bytes under its key. */
  const uploaded = async (about: object = {}, content: Buffer = PNG, as?: string, view?: string): Promise<Begun> => {
    const answer = await ask(about, as, view);
    if (answer.statusCode !== 201) throw new Error(answer.body);
    const begun = answer.json<Begun>();
    bucket.uploaded.set(keyOf(begun), content);
    return begun;
  };
  let titles = 0;
  const create = (screen: unknown, as?: string, view = 'tickets') =>
    send('POST', view, { title: `Ticket ${titles++}`, screen }, as);

  await t.test('a body names an upload, and its file becomes the file of the record', async (t) => {
    const begun = await uploaded({ name: '../x/Größe.png' });
    t.match(begun, { method: 'PUT', headers: { 'content-type': 'image/png' }, url: /^https:\/\/bucket\.example\// });
    t.ok(new Date(begun.expires_at).getTime() > Date.now() + 3_500_000);
    const answer = await create({ upload: begun.upload });
    t.equal(answer.statusCode, 201, answer.body);
    const { screen } = answer.json<{ screen: { url: string } }>();
    t.match(screen, { name: 'Größe.png', size: PNG.length, type: 'image/png' });
    t.strictSame((await app.inject(screen.url)).rawPayload, PNG);
    t.equal(bucket.files.size, 1);
    t.equal(bucket.uploaded.size, 0, 'the upload is gone');
    const again = await create({ upload: begun.upload });
    t.equal(again.statusCode, 400);
    t.match(again.json(), {
      details: [{ in: 'body', path: '/screen', message: 'names an upload that was taken already' }],
    });
    t.equal(bucket.files.size, 1);
  });

  await t.test('PATCH and PUT name uploads, and replaced files are deleted', async (t) => {
    const { id } = (await create({ upload: (await uploaded()).upload })).json<{ id: number }>();
    const [before] = [...bucket.files.keys()];
    const changed = await send('PATCH', `tickets/${id}`, { screen: { upload: (await uploaded()).upload } });
    t.equal(changed.statusCode, 200, changed.body);
    t.equal(bucket.files.size, 1);
    t.notOk(bucket.files.has(before!));
    const text = await uploaded(
      { field: 'manual', type: 'text/plain;charset=utf-8', size: 2, name: 'm' },
      Buffer.from('hi'),
    );
    const put = await send('PUT', `tickets/${id}`, { title: 'Put', manual: { upload: text.upload }, screen: null });
    t.match(put.json(), { screen: null, manual: { name: 'm', size: 2, type: 'text/plain' } }, put.body);
  });

  await t.test('a form can contain an upload and a file', async (t) => {
    const { upload } = await uploaded();
    const form = new FormData();
    form.append('title', 'Form');
    form.append('screen', JSON.stringify({ upload }));
    form.append('manual', new Blob(['hi'], { type: 'text/plain' }), 'manual.txt');
    const { body, headers } = new Response(form) as unknown as { body: ReadableStream; headers: Headers };
    const payload = await buffer(Readable.fromWeb(body as never));
    const type = headers.get('content-type')!;
    const answer = await app.inject({
      method: 'POST',
      url: '/api/tickets',
      payload,
      headers: { 'content-type': type },
    });
    t.match(answer.json(), { screen: { name: 'a.png' }, manual: { name: 'manual.txt' } });
  });

  await t.test('a file that the field does not accept gets no upload URL', async (t) => {
    t.equal((await ask({ size: MAX_BYTES + 1 })).statusCode, 413);
    t.equal((await ask({ size: 1e300 })).statusCode, 413);
    t.equal((await ask({ type: 'text/html' })).statusCode, 415);
    t.equal((await ask({ type: 'image/png\r\nx: y' })).statusCode, 400);
    for (const about of [{ size: -1 }, { size: '5' }, { size: 0.5 }, { name: '' }, { field: 'title' }, { field: 7 }]) {
      t.equal((await ask(about)).statusCode, 400, JSON.stringify(about));
    }
    t.equal((await ask({ type: '' })).json<Begun>().headers['content-type'], 'application/octet-stream');
  });

  await t.test('the bytes decide, when the body names the upload', async (t) => {
    const cases: readonly (readonly [string, object, Buffer, number, RegExp])[] = [
      ['shorter', {}, PNG.subarray(0, 50), 400, /names an upload of 70 bytes, got 50/],
      ['longer', {}, Buffer.concat([PNG, PNG]), 400, /names an upload of 70 bytes, got 140/],
      ['a program', { size: 8 }, Buffer.from('7f454c4602010100', 'hex'), 415, /must be of the type image/],
      ['a text', { size: 5 }, Buffer.from('<svg>'), 415, /must be of the type image/],
    ];
    for (const [what, about, content, status, message] of cases) {
      const { upload } = await uploaded(about, content);
      for (const attempt of [1, 2]) {
        const answer = await create({ upload });
        t.equal(answer.statusCode, status, `${what}, ${attempt}: ${answer.body}`);
        t.match(answer.body, message);
      }
    }
    t.equal(bucket.files.size, 0);
    const { upload } = (await ask({})).json<Begun>();
    t.match((await create({ upload })).json(), { details: [{ path: '/screen', message: /file is not there/ }] });
    const unknown = await uploaded({ type: 'application/octet-stream' });
    t.match((await create({ upload: unknown.upload })).json(), { screen: { type: 'image/png' } });
    const empty = await uploaded({ field: 'manual', type: 'text/plain', size: 0 }, Buffer.alloc(0));
    const made = await send('POST', 'tickets', { title: 'Empty', manual: { upload: empty.upload } });
    t.match(made.json(), { manual: { size: 0, type: 'text/plain' } });
  });

  await t.test('an upload is for one user, one view and one field', async (t) => {
    const message = 'must name an upload that you have asked for, for this field';
    const refuses = async (value: unknown, as?: string, view?: string) => {
      const answer = await create(value, as, view);
      t.equal(answer.statusCode, 400, answer.body);
      t.match(answer.json(), { details: [{ path: '/screen', message }] });
    };
    const { upload } = await uploaded({}, PNG, 'ben');
    await refuses({ upload });
    await refuses({ upload }, 'carla');
    await refuses({ upload }, 'ben', 'others');
    const manual = await uploaded({ field: 'manual', type: 'application/pdf' }, PNG, 'ben');
    await refuses({ upload: manual.upload }, 'ben');
    for (const forged of ['', 'x', `${upload}A`, upload.slice(0, -2), upload.replace(/^./, '!'), 'A'.repeat(9000)]) {
      await refuses({ upload: forged }, 'ben');
    }
    for (const value of [
      'x',
      upload,
      1,
      [],
      {},
      { upload: 7 },
      { upload: null },
      { key: 'x', name: 'x', size: 1, type: 'image/png' },
    ]) {
      const answer = await create(value, 'ben');
      t.equal(answer.statusCode, 400, JSON.stringify(value));
      t.match(answer.json(), { details: [{ path: '/screen', message: /multipart\/form-data, or the upload/ }] });
    }
    t.equal((await create({ upload }, 'ben')).statusCode, 201);
    t.equal(bucket.files.size, 1);
  });

  await t.test('a user who may not write gets no upload URL', async (t) => {
    t.equal((await ask({}, 'guest')).statusCode, 403);
    t.equal((await ask({}, 'ada')).statusCode, 201, 'she may update');
    const { upload } = await uploaded({}, PNG, 'ada');
    t.equal((await create({ upload }, 'ada')).statusCode, 403);
    t.equal((await send('GET', 'tickets/uploads')).statusCode, 405);
    const page = { name: 'p.png', size: PNG.length, type: 'image/png' };
    t.equal((await send('POST', 'tickets/99/scans/uploads', page)).statusCode, 404, 'there is no such ticket');
    const { id } = (await create(null)).json<{ id: number }>();
    const begun = (await send('POST', `tickets/${id}/scans/uploads`, page)).json<Begun>();
    bucket.uploaded.set(keyOf(begun), PNG);
    const made = await send('POST', `tickets/${id}/scans`, { page: { upload: begun.upload } });
    t.equal(made.statusCode, 201, made.body);
    t.equal((await send('POST', `tickets/${id}/scans`, {})).statusCode, 400, 'the file is required');
  });

  await t.test('of several concurrent requests with one upload, exactly one succeeds', async (t) => {
    const { upload } = await uploaded();
    const answers = await Promise.all(Array.from({ length: 8 }, () => create({ upload })));
    const made = answers.filter(({ statusCode }) => statusCode === 201);
    t.equal(made.length, 1);
    t.ok(answers.every((answer) => answer === made[0] || answer.statusCode === 400));
    t.equal(bucket.files.size, 1);
    const twice = await uploaded();
    const two = [1, 2].map((n) => ({ title: `Both ${n}`, screen: { upload: twice.upload } }));
    const bulk = await send('POST', 'tickets', two);
    t.equal(bulk.statusCode, 400, bulk.body);
    t.match(bulk.json(), { details: [{ path: /^\/[01]\/screen$/ }] });
    t.equal(bucket.files.size, 1);
    t.equal((await send('POST', 'tickets', [two[0]!])).statusCode, 201, 'the upload is still there');
  });

  await t.test('processes that share a store share the claimed uploads', async (t) => {
    const shared = new MemoryStore();
    const options = { secret: SECRET, store: shared };
    const apps = [await testApp(t, orm, [router()], { options }), await testApp(t, orm, [router()], { options })];
    t.teardown(() => shared.close());
    const begun = await uploaded();
    const answers = await Promise.all(
      apps.map((each, index) => {
        const payload = { title: `Shared ${index}`, screen: { upload: begun.upload } };
        return each.inject({ method: 'POST', url: '/api/tickets', payload });
      }),
    );
    t.strictSame(
      answers.map(({ statusCode }) => statusCode).toSorted((a, b) => a - b),
      [201, 400],
    );
    t.equal(bucket.files.size, 1);
  });

  await t.test('after an aborted request the next request can use the upload', async (t) => {
    const options = { secret: SECRET, handlerTimeoutMs: 300 };
    const slow = await testApp(t, orm, [router()], { options });
    // The timer of a handler alone keeps no process running.
    const running = setInterval(() => {}, 1000);
    t.teardown(() => clearInterval(running));
    const { upload } = await uploaded();
    const gate = Promise.withResolvers<void>();
    const done = Promise.withResolvers<void>();
    bucket.afterCopy = () => gate.promise;
    const deleteFile = bucket.delete.bind(bucket);
    bucket.delete = async (key) => {
      await deleteFile(key);
      done.resolve();
    };
    const payload = { title: 'Late', screen: { upload } };
    t.equal((await slow.inject({ method: 'POST', url: '/api/tickets', payload })).statusCode, 503);
    gate.resolve();
    await done.promise;
    t.equal(bucket.files.size, 0);
    bucket.afterCopy = async () => {};
    // What is left of the request ends within the next turns of the event loop.
    await new Promise(setImmediate);
    t.equal((await slow.inject({ method: 'POST', url: '/api/tickets', payload })).statusCode, 201);
    t.equal(bucket.files.size, 1);
  });

  await t.test('a client that goes away during the copy leaves the upload to the next one', async (t) => {
    await app.listen({ port: 0 });
    const { port } = app.server.address() as { port: number };
    const { upload } = await uploaded();
    const copied = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    const away = Promise.withResolvers<void>();
    app.server.once('connection', (connection: Socket) => connection.once('close', away.resolve));
    const deleted = Promise.withResolvers<void>();
    bucket.afterCopy = async () => {
      copied.resolve();
      await gone.promise;
    };
    bucket.afterDelete = () => deleted.resolve();
    const payload = { title: 'Away', screen: { upload } };
    const body = JSON.stringify(payload);
    const socket = connect(port);
    socket.write(
      `POST /api/tickets HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await copied.promise;
    socket.destroy();
    await away.promise;
    gone.resolve();
    await deleted.promise;
    t.equal(bucket.files.size, 0);
    bucket.afterCopy = async () => {};
    await new Promise(setImmediate);
    t.equal((await send('POST', 'tickets', payload)).statusCode, 201);
    t.equal(bucket.files.size, 1);
  });

  await t.test('a view without a direct field has no uploads route, and a view without a key has one', async (t) => {
    const { upload } = await uploaded();
    t.match((await create({ upload }, undefined, 'forms')).json(), {
      details: [{ path: '/screen', message: 'must be a file, sent as multipart/form-data' }],
    });
    for (const view of ['forms', 'lists']) t.ok([404, 405].includes((await ask({}, undefined, view)).statusCode), view);
    await send('POST', 'tickets', { title: 'First' });
    const begun = await uploaded({}, PNG, undefined, 'first');
    const changed = await send('PATCH', 'first', { screen: { upload: begun.upload } });
    t.match(changed.json(), { title: 'First', screen: { name: 'a.png' } }, changed.body);
  });

  await t.test('a failed write leaves the upload to the next one', async (t) => {
    const { upload } = await uploaded();
    const headers = { 'x-refuse': 'yes' };
    const payload = { title: 'Refused', screen: { upload } };
    t.equal((await app.inject({ method: 'POST', url: '/api/tickets', headers, payload })).statusCode, 403);
    t.equal(bucket.files.size, 0);
    t.equal((await send('POST', 'tickets', { title: 'x'.repeat(99), screen: { upload } })).statusCode, 400);
    t.equal((await send('PATCH', 'tickets/9999', { screen: { upload } })).statusCode, 404, 'no such record');
    t.equal((await send('PATCH', 'tickets/hidden', { screen: { upload } })).statusCode, 404);
    const taken = await create(null);
    const { title } = taken.json<{ title: string }>();
    t.equal((await send('POST', 'tickets', { title, screen: { upload } })).statusCode, 409);
    t.equal(bucket.files.size, 0);
    t.equal((await create({ upload })).statusCode, 201);
    t.equal(bucket.files.size, 1);
  });

  await t.test('a file that is replaced after the copy is not the one of the record', async (t) => {
    const begun = await uploaded();
    const html = Buffer.from('<script>'.padEnd(PNG.length));
    bucket.afterCopy = async () => void bucket.uploaded.set(keyOf(begun), html);
    const { screen } = (await create({ upload: begun.upload })).json<{ screen: { url: string } }>();
    bucket.uploaded.set(keyOf(begun), html);
    t.strictSame((await app.inject(screen.url)).rawPayload, PNG);
    t.equal((await create({ upload: begun.upload })).statusCode, 400, 'nor does it come in by the same text');
  });

  await t.test('uploads expire, and are swept', async (t) => {
    const begun = await uploaded();
    bucket.uploaded.set('something-else', PNG);
    t.equal(await sweepUploads(store), 0);
    mock.timers.enable({ apis: ['Date'], now: Date.now() + 86_401_000 });
    t.teardown(() => mock.timers.reset());
    t.match((await create({ upload: begun.upload })).json(), {
      details: [{ message: 'names an upload that has expired' }],
    });
    const young = await uploaded();
    t.equal(await sweepUploads(store), 1);
    t.strictSame([...bucket.uploaded.keys()], ['something-else', keyOf(young)]);
  });

  await t.test('shapes of several limits take an upload that one of them takes', async (t) => {
    const screen = (maxBytes: number) => file({ store, maxBytes, types: ['image/*'], direct: true });
    class StrictViewSet extends ModelViewSet(Ticket, {
      read,
      write: {
        create: writeShape(Ticket, ['title'], { screen: screen(10) }),
        update: writeShape(Ticket, ['title'], { screen: screen(MAX_BYTES) }),
      },
      allowAnonymous: true,
    }) {}
    app = await testApp(t, orm, [new Router({ prefix: 'api' }).register('strict', StrictViewSet)], {
      options: { secret: SECRET },
    });
    t.equal((await ask({ size: MAX_BYTES + 1 }, undefined, 'strict')).statusCode, 413);
    const { upload } = await uploaded({}, PNG, undefined, 'strict');
    t.equal((await create({ upload }, undefined, 'strict')).statusCode, 413);
    const { id } = (await send('POST', 'strict', { title: 'Old' })).json<{ id: number }>();
    const changed = await send('PATCH', `strict/${id}`, { screen: { upload } });
    t.equal(changed.statusCode, 200, changed.body);
  });

  await t.test('a shape that the body chooses does not fail before there is a body', async (t) => {
    class ChosenViewSet extends ModelViewSet(Ticket, {
      read,
      write: { default: writeShape(Ticket, ['title']), pictured: write },
      allowAnonymous: true,
    }) {
      override writeShapeFor({ body }: FastifyRequest) {
        return (body as { title: string }).title.startsWith('Picture') ? 'pictured' : undefined;
      }
    }
    app = await testApp(t, orm, [new Router({ prefix: 'api' }).register('chosen', ChosenViewSet)], {
      options: { secret: SECRET },
    });
    const { upload } = await uploaded({}, PNG, undefined, 'chosen');
    const made = await send('POST', 'chosen', { title: 'Picture', screen: { upload } });
    t.equal(made.statusCode, 201, made.body);
  });

  await t.test('if releasing a claim fails, the original error is still returned', async (t) => {
    class Forgetful extends MemoryStore {
      override remove(): boolean {
        throw new Error('the store is down');
      }
    }
    app = await testApp(t, orm, [router()], { options: { secret: SECRET, store: new Forgetful() } });
    const { upload } = await uploaded({}, Buffer.alloc(PNG.length, 'x'));
    t.equal((await create({ upload })).statusCode, 415);
    t.equal(bucket.files.size, 0);
  });
});

t.test('invalid configurations fail at start', async (t) => {
  const orm = await openSqlite(t, { entities: [Ticket, Scan] });
  t.match(
    await errorAtStart(t, orm, TicketViewSet),
    /^TicketViewSet: direct uploads are encrypted with a secret of at/,
  );
  const screen = (own: FileStore) => file({ store: own, maxBytes: 1, types: ['image/*'], direct: true });
  class TwoStoresViewSet extends ModelViewSet(Ticket, {
    read,
    write: {
      create: writeShape(Ticket, ['title'], { screen: screen(store) }),
      update: writeShape(Ticket, ['title'], { screen: screen({ ...store }) }),
    },
    allowAnonymous: true,
  }) {}
  t.match(await errorAtStart(t, orm, TwoStoresViewSet, { secret: SECRET }), /have "screen" in two stores/);
  class CustomViewSet extends TicketViewSet {
    upload = action({}, () => null);
  }
  t.match(await errorAtStart(t, orm, CustomViewSet, { secret: SECRET }), /its options make an action "upload"/);
  t.ok(file({ store, maxBytes: 1, types: ['image/PNG'] }).takes('image/png'), 'media types have no case');
  const limits = { maxBytes: 1, types: ['image/png'] } as const;
  t.throws(() => file({ ...limits, store: withoutUploads, direct: true }), {
    message:
      /option "direct" must be left out, or the store must sign uploads: flydriveStore\(disk, \{ signUpload \}\)/,
  });
  t.throws(() => file({ ...limits, store, direct: 'yes' as never }), { message: /"direct" must be true or false/ });
  t.throws(
    () =>
      file({
        ...limits,
        store: { ...withoutUploads, uploads: { sign: async () => ({ url: '' }) } as never },
        direct: true,
      }),
    {
      message: /the store must sign uploads/,
    },
  );
  const disk = { putStream: async () => {}, getStream: async () => Readable.from([]), delete: async () => {} };
  t.throws(() => flydriveStore(disk, { signUploads: () => '' } as never), { message: /did you mean "signUpload"/ });
  t.throws(() => flydriveStore(disk, { signUpload: 'x' } as never), { message: /"signUpload" must be a function/ });
  await t.rejects(sweepUploads(withoutUploads), TypeError);
});

t.test('a store that signs without an absolute URL fails with an error that says so', async (t) => {
  const orm = await openSqlite(t, { entities: [Ticket] });
  for (const signed of ['/uploads/1', '', undefined, null, { headers: {} }, { url: 'uploads?signature=secret' }]) {
    const disk = { putStream: async () => {}, getStream: async () => Readable.from([]), delete: async () => {} };
    const own = flydriveStore(disk as never, { signUpload: (() => signed) as never });
    class CustomViewSet extends ModelViewSet(Ticket, {
      read,
      write: writeShape(Ticket, ['title'], {
        screen: file({ store: own, maxBytes: 9, types: ['image/*'], direct: true }),
      }),
      allowAnonymous: true,
    }) {}
    const lines: string[] = [];
    const app = fastify({
      ...serverOptions(),
      logger: { level: 'error', stream: { write: (line: string) => lines.push(line) } },
    });
    await app.register(viewset, { orm, secret: SECRET });
    await app.register(new Router().register('tickets', CustomViewSet).plugin);
    const payload = { name: 'a.png', size: 1, type: 'image/png' };
    t.equal((await app.inject({ method: 'POST', url: '/tickets/uploads', payload })).statusCode, 500);
    await app.close();
    t.match(lines.join(''), /must return an absolute URL, or \{ url, headers \} with one/);
    t.notMatch(lines.join(''), /signature=/);
  }
});
