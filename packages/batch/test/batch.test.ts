/** `POST /api/batch`: several operations in one request and one transaction, each behind the gate of its own route. */
import { defineEntity, type InferEntity, type MikroORM, p } from '@mikro-orm/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import t, { type Test } from 'tap';
import { Type } from 'typebox';
import {
  action,
  afterCommit,
  type FormatError,
  InvalidUsage,
  IsAuthenticated,
  ModelViewSet,
  Permission,
  readShape,
  Router,
  UserRateLimit,
  type ViewsetOptions,
  type WriteData,
  writeShape,
} from '@viewset/core';
import { IdempotencyKeys, IdempotencyRecord } from '@viewset/idempotency';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { testApp } from '../../core/test/support/library.ts';
import { BatchViewSet } from '../src/index.ts';

const Order = defineEntity({
  name: 'Order',
  tableName: 'orders',
  properties: {
    id: p.integer().primary(),
    code: p.string().length(50).unique(),
    amount: p.integer().default(1),
    data: p.json().nullable(),
    version: p.integer().version(),
    lines: () => p.oneToMany(Line).mappedBy('order'),
  },
});
const Line = defineEntity({
  name: 'Line',
  properties: { id: p.integer().primary(), text: p.string().length(50), order: () => p.manyToOne(Order) },
});
const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary(), text: p.string().length(50), data: p.json().nullable() },
});
type Data = WriteData<InferEntity<typeof Order>, { code: string; amount?: number; data: unknown }>;

const commits: string[] = [];
let isOpen = true;

class MayWrite extends Permission {
  override hasPermission(request: FastifyRequest): boolean {
    return isOpen || request.method === 'GET';
  }
}

class OrderViewSet extends ModelViewSet(Order, {
  read: readShape(Order, ['id', 'code', 'amount', 'data']),
  write: writeShape(Order, ['code', 'amount', 'data']),
  permissionClasses: [MayWrite],
  etags: true,
}) {
  override async performCreate(request: FastifyRequest, data: Data) {
    const order = await super.performCreate(request, data);
    await afterCommit(request, () => commits.push(data.code));
    if (data.code === 'broken') throw new Error('after the write');
    return order;
  }

  sum = action({ methods: ['post'], batchable: true, body: Type.Object({ add: Type.Integer() }) }, async (request) => {
    const orders = await request.em.find(Order, {});
    return { sum: orders.reduce((sum, { amount }) => sum + amount, request.body.add) };
  });

  quiet = action({ methods: ['post'] }, () => ({}));

  begin = action({ methods: ['post'], batchable: true }, async ({ em }) => {
    await em.commit();
    return {};
  });

  lost = action({ methods: ['get'], batchable: true }, async ({ em }) => {
    em.create(Order, { code: 'lost', data: null });
    return {};
  });

  kept = action({ methods: ['post'], batchable: true }, async ({ em }) => {
    em.create(Order, { code: 'kept', data: null });
    return {};
  });

  text = action({ methods: ['get'], batchable: true }, (_request, reply) => reply.type('text/plain').send('text'));
}
class LineViewSet extends ModelViewSet(Line, {
  read: readShape(Line, ['id', 'text'], { order: 'order.id' }),
  write: writeShape(Line, ['text', 'order']),
}) {}
class NoteViewSet extends ModelViewSet(Note, {
  read: readShape(Note, ['id', 'text', 'data']),
  write: writeShape(Note, ['text', 'data']),
  filterFields: { text: 'text' },
  exports: ['csv'],
}) {}
class ClosedViewSet extends ModelViewSet(Note, {
  read: readShape(Note, ['id', 'text']),
  write: writeShape(Note, ['text']),
  permissionClasses: [IsAuthenticated],
  throttles: [new UserRateLimit(2, 60)],
}) {}
class EnvelopedViewSet extends ModelViewSet(Note, {
  read: readShape(Note, ['id', 'text']),
  write: writeShape(Note, ['text']),
  envelope: { one: 'note', many: 'notes' },
}) {}
class CustomViewSet extends ModelViewSet(Note, { read: readShape(Note, ['id', 'text']) }) {
  override retrieve(request: FastifyRequest, reply: FastifyReply) {
    return super.retrieve(request, reply);
  }
}
class Batch extends BatchViewSet({ maxOperations: 10 }) {}

const ENTITIES = [Order, Line, Note, IdempotencyRecord];

async function open(
  t: Test,
  orm: MikroORM,
  options: Partial<ViewsetOptions> = {},
  before?: (app: FastifyInstance) => void,
) {
  commits.length = 0;
  isOpen = true;
  const em = orm.em.fork();
  for (const entity of [Line, Order, Note, IdempotencyRecord]) await em.nativeDelete(entity as typeof Note, {});
  const router = new Router({ prefix: 'api' })
    .register('orders', OrderViewSet)
    .register('orders/:order/lines', LineViewSet)
    .register('lines', LineViewSet)
    .register('notes', NoteViewSet)
    .register('closed', ClosedViewSet)
    .register('own', CustomViewSet)
    .register('enveloped', EnvelopedViewSet)
    .register('batch', Batch);
  return testApp(t, orm, [router], { options, ...(before && { before }) });
}

async function send(app: FastifyInstance, operations: unknown, headers: Record<string, string> = {}) {
  const answer = await app.inject({ method: 'POST', url: '/api/batch', payload: { operations } as object, headers });
  return { status: answer.statusCode, headers: answer.headers, body: answer.json() };
}

const post = (path: string, body: unknown, more: object = {}) => ({ method: 'POST', path, body, ...more });

forEachDatabase(t, { entities: ENTITIES }, async (t, orm, database) => {
  const count = (): Promise<number[]> => {
    const em = orm.em.fork();
    return Promise.all([em.count(Order), em.count(Line), em.count(Note)]);
  };

  await t.test('stores all operations and returns their responses in order', async (t) => {
    const app = await open(t, orm);
    const { status, body } = await send(app, [
      post('/orders', { code: 'one', amount: 3 }, { id: 'a' }),
      post('/lines', { text: 'first', order: { $ref: 'a.id' } }, { id: 'b' }),
      post('/orders/{a.id}/lines', { text: 'second' }),
      { method: 'PATCH', path: '/orders/{a.id}', body: { amount: { $ref: 'b.id' } } },
      { method: 'GET', path: '/orders/{a.id}' },
      { method: 'DELETE', path: '/lines/{b.id}' },
    ]);
    t.equal(status, 200, JSON.stringify(body));
    const [a, b, second, changed, read, deleted] = body.answers;
    t.match(a, {
      id: 'a',
      status: 201,
      headers: { location: /^\/api\/orders\/\d+$/, etag: /./ },
      body: { code: 'one' },
    });
    t.match(b, { id: 'b', status: 201, body: { text: 'first', order: a.body.id } });
    t.match(second, { status: 201, body: { text: 'second', order: a.body.id } });
    t.notOk('id' in second);
    t.match(changed, { status: 200, body: { id: a.body.id, amount: b.body.id } });
    t.strictSame(read.body, changed.body, 'an operation sees what the ones before it have written');
    t.strictSame(deleted, { status: 204, headers: {} });
    t.strictSame(await count(), [1, 1, 0]);
    t.strictSame(commits, ['one']);
  });

  await t.test('stores nothing if one operation fails, and names it', async (t) => {
    const app = await open(t, orm);
    const { status, body } = await send(app, [
      post('/orders', { code: 'one' }),
      post('/notes', { text: 'note' }),
      post('/orders', { code: 'one' }, { id: 'twice' }),
      post('/notes', { text: 'another' }),
    ]);
    t.equal(status, 422);
    t.match(body, { code: 'batch_failed', error: /^Operation 2 failed: / });
    t.match(body.details, [{ in: 'body', path: '/operations/2/body/code', message: 'is taken' }]);
    t.match(body.operations, [{ index: 2, id: 'twice', status: 409, body: { code: 'conflict' } }]);
    t.equal(body.operations.length, 1);
    t.strictSame(await count(), [0, 0, 0]);
    t.strictSame(commits, []);
  });

  await t.test('reports the errors of all bodies, including errors of rules', async (t) => {
    const app = await open(t, orm);
    const { status, body } = await send(app, [
      post('/notes', { text: 1 }, { id: 'n' }),
      post('/orders', { amount: 'x' }, { id: 'o' }),
      post('/notes', { text: 'good' }),
      post('/lines', { text: 7, order: { $ref: 'o.id' } }),
      { method: 'PATCH', path: '/notes/99', body: { text: null } },
    ]);
    t.equal(status, 422);
    t.strictSame(
      body.details.map(({ path }: { path: string }) => path),
      ['/operations/0/body/text', '/operations/1/body/code', '/operations/1/body/amount', '/operations/4/body/text'],
    );
    t.strictSame(
      body.operations.map(({ index, status }: { index: number; status: number }) => [index, status]),
      [
        [0, 400],
        [1, 400],
        [4, 400],
      ],
    );
    t.strictSame(await count(), [0, 0, 0]);
  });

  await t.test('reports errors with any custom error format', async (t) => {
    const formatError: FormatError = ({ statusCode, message, details = [] }) => ({
      status: statusCode === 400 ? 422 : statusCode === 429 ? 503 : statusCode,
      body: { problem: message, places: details.map(({ path }) => path) },
    });
    const errorSchema = Type.Object({ problem: Type.String() });
    const app = await open(t, orm, { formatError, errorSchema });
    const { status, body } = await send(app, [
      post('/enveloped', { note: { text: 1 } }),
      post('/notes', { text: 2 }, { id: 'n' }),
      { method: 'GET', path: '/notes/{n.id}' },
      post('/enveloped', {}),
    ]);
    t.equal(status, 422);
    t.match(body.problem, /^Operation 0 failed: Invalid body: text must be/);
    t.strictSame(body.places, ['/operations/0/body/note/text', '/operations/1/body/text', '/operations/3/body/note']);
    isOpen = false;
    t.match(await send(app, [post('/orders', { code: 'one' })]), {
      body: { problem: /^Operation 0 failed: Authentication is required/ },
    });
    const closed = { method: 'GET', path: '/closed' };
    const many = await send(app, [closed, closed, closed], { 'x-user': 'ann' });
    t.match(many, { status: 503, headers: { 'retry-after': /\d/ }, body: { problem: /^Operation 2 failed/ } });
  });

  await t.test('keeps a status that concerns the complete request', async (t) => {
    const app = await open(t, orm);
    const anonymous = await send(app, [post('/notes', { text: 'note' }), post('/closed', { text: 'x' })]);
    t.equal(anonymous.status, 401);
    t.match(anonymous.headers, { 'www-authenticate': 'Bearer' });
    t.match(anonymous.body, { code: 'batch_failed', operations: [{ index: 1, status: 401 }] });
    const broken = await send(app, [post('/orders', { code: 'broken' }), post('/notes', { text: 1 })]);
    t.equal(broken.status, 500);
    t.match(broken.body, { operations: [{ index: 0, status: 500, body: { code: 'internal_error' } }] });
    t.equal(broken.body.operations.length, 1);
    t.notMatch(JSON.stringify(broken.body), /after the write/);
    t.strictSame(await count(), [0, 0, 0]);
  });

  await t.test('counts each operation for throttles, and a rerun of one not again', async (t) => {
    const app = await open(t, orm);
    const closed = (text: string) => post('/closed', { text });
    const refused = await send(app, [closed('1'), closed('2'), closed('3')], { 'x-user': 'eve' });
    t.equal(refused.status, 429);
    t.match(refused.headers, { 'retry-after': /\d+/ });
    t.match(refused.body, { operations: [{ index: 2, status: 429 }] });
    t.strictSame(await count(), [0, 0, 0]);
    const other = await send(app, [closed('1'), closed('2')], { 'x-user': 'anna' });
    t.equal(other.status, 200);
  });

  await t.test('checks the permissions of every operation', async (t) => {
    const app = await open(t, orm);
    isOpen = false;
    const operations = [post('/notes', { text: 'note' }), post('/orders', { code: 'one' })];
    const { status, body } = await send(app, operations, { 'x-user': 'eve' });
    t.equal(status, 422);
    t.match(body, { operations: [{ index: 1, status: 403 }] });
    t.strictSame(await count(), [0, 0, 0]);
  });

  await t.test('compares If-Match under the lock of the record', async (t) => {
    const app = await open(t, orm);
    const made = await send(app, [post('/orders', { code: 'one' })]);
    const [{ headers, body: order }] = made.body.answers;
    const change = (etag: string) => ({
      method: 'PATCH',
      path: `/orders/${order.id}`,
      body: { amount: 5 },
      headers: { 'If-Match': etag },
    });
    const stale = await send(app, [change('"stale"')]);
    t.match(stale.body, { operations: [{ status: 412 }] });
    t.equal((await send(app, [change(headers.etag)])).status, 200);
    t.match((await send(app, [change(headers.etag)])).body, { operations: [{ status: 412 }] });
  });

  await t.test('reads, filters and runs actions within the transaction', async (t) => {
    const app = await open(t, orm);
    const { status, body } = await send(app, [
      post('/orders', { code: 'one', amount: 2 }),
      post('/orders', { code: 'two', amount: 3 }),
      post('/orders/sum', { add: 10 }, { id: 'sum' }),
      post('/notes', { text: 'a note' }, { id: 'n' }),
      { method: 'GET', path: '/notes?text={n.text}' },
    ]);
    t.equal(status, 200, JSON.stringify(body));
    t.strictSame(body.answers[2].body, { sum: 15 });
    t.match(body.answers[4].body, { results: [{ text: 'a note' }] });
  });

  await t.test('changes one record several times', async (t) => {
    const app = await open(t, orm);
    const made = await send(app, [post('/notes', { text: 'zero' }, { id: 'n' })]);
    const path = `/notes/${made.body.answers[0].body.id}`;
    const texts = ['one', 'two', 'one', 'zero', 'one'];
    const { body } = await send(
      app,
      texts.map((text) => ({ method: 'PATCH', path, body: { text } })),
    );
    t.strictSame(
      body.answers.map(({ body }: { body: { text: string } }) => body.text),
      texts,
    );
  });

  await t.test('writes data that looks like a reference', async (t) => {
    const app = await open(t, orm);
    const data = { $$ref: 'a.id', $$$ref: 1, list: [{ $$ref: {} }], $reference: 2, ref: 3 };
    const { status, body } = await send(app, [post('/notes', { text: 'note', data })]);
    t.equal(status, 200, JSON.stringify(body));
    const stored = { $ref: 'a.id', $$ref: 1, list: [{ $ref: {} }], $reference: 2, ref: 3 };
    t.strictSame(body.answers[0].body.data, stored);
  });

  await t.test('references objects and lists of responses', async (t) => {
    const app = await open(t, orm);
    const { status, body } = await send(app, [
      post('/notes', { text: 'one', data: { list: [{ deep: 'value' }] } }, { id: 'n' }),
      post(
        '/notes',
        { text: { $ref: 'n.data.list.0.deep' }, data: { copy: { $ref: 'n.data' }, none: null } },
        { id: 'm' },
      ),
      { method: 'GET', path: '/notes', id: 'all' },
      post('/notes', { text: { $ref: 'all.results.1.text' } }),
    ]);
    t.equal(status, 200, JSON.stringify(body));
    t.match(body.answers[1].body, { text: 'value', data: { copy: { list: [{ deep: 'value' }] }, none: null } });
    t.match(body.answers[3].body, { text: 'value' });
  });

  await t.test('a query takes any text, number or boolean', async (t) => {
    const app = await open(t, orm);
    const data = { dots: '..', empty: '', escaped: 'a&b={n.id}?', yes: true };
    const { status, body } = await send(app, [
      post('/notes', { text: 'n', data }, { id: 'n' }),
      ...['..', 'a&b={n.id}?', 'true'].map((text) => post('/notes', { text })),
      ...['dots', 'escaped', 'yes'].map((name) => ({ method: 'GET', path: `/notes?text={n.data.${name}}` })),
      { method: 'GET', path: '/notes?text={n.data.empty}' },
    ]);
    t.equal(status, 200, JSON.stringify(body));
    const found = body.answers.slice(4).map((answer: { body: { results: { text: string }[] } }) => answer.body.results);
    t.match(found, [[{ text: '..' }], [{ text: 'a&b={n.id}?' }], [{ text: 'true' }], []]);
    const segment = await send(app, [
      post('/notes', { text: 'n', data }, { id: 'n' }),
      { method: 'GET', path: '/notes/{n.data.dots}' },
    ]);
    t.match(segment.body.details, [{ path: '/operations/1/path', message: /no value that a path can have/ }]);
  });

  await t.test('rejects references to nothing, with their index', async (t) => {
    const app = await open(t, orm);
    const first = post('/notes', { text: 'one', data: { list: [1] } }, { id: 'n' });
    for (const reference of ['n.nothing', 'n.text.length', 'n.data.list.length', 'n.data.list.1', 'n.data.toString']) {
      const { status, body } = await send(app, [
        first,
        post('/notes', { text: { $ref: reference } }),
        post('/notes', {}),
      ]);
      t.equal(status, 422, reference);
      t.match(body.details, [{ path: '/operations/1/body' }, { path: '/operations/2/body/text' }]);
      t.match(body.operations, [{ index: 1, status: 400 }, { index: 2 }]);
    }
    for (const path of ['/notes/{n.nothing}', '/notes/{n.data}', '/notes/{n.data.list}']) {
      t.match(
        (await send(app, [first, { method: 'GET', path }])).body,
        { details: [{ path: '/operations/1/path' }], operations: [{ index: 1, status: 400 }] },
        path,
      );
    }
    t.strictSame(await count(), [0, 0, 0]);
  });

  await t.test('responds once for an idempotency key, and stores nothing after a failure', async (t) => {
    const app = await open(t, orm, { idempotency: new IdempotencyKeys({ account: () => 'all' }) });
    const headers = { 'idempotency-key': '"batch"' };
    const failing = [post('/orders', { code: 'one' }), post('/notes', { text: 1 }), post('/notes', {})];
    const failed = await send(app, failing, headers);
    t.equal(failed.status, 422, JSON.stringify(failed.body));
    t.strictSame(
      failed.body.operations.map(({ index }: { index: number }) => index),
      // MongoDB has no savepoints: the transaction of the key has failed as well, and nothing can be asked in it.
      database === 'mongodb' ? [1] : [1, 2],
    );
    t.equal(await orm.em.fork().count(IdempotencyRecord), 0);
    const operations = [post('/orders', { code: 'one' }), post('/notes', { text: 'note' })];
    const once = await send(app, operations, headers);
    const again = await send(app, operations, headers);
    t.equal(once.status, 200, JSON.stringify(once.body));
    t.strictSame(again.body, once.body);
    t.equal(again.headers['idempotent-replayed'], 'true');
    t.strictSame(await count(), [1, 0, 1]);
    t.strictSame(commits, ['one']);
    const keyed = post('/notes', { text: 'keyed' }, { headers: { 'Idempotency-Key': '"own"' } });
    t.equal((await send(app, [keyed, post('/notes', { text: 1 })])).status, 422);
    const [first, second] = [await send(app, [keyed]), await send(app, [keyed])];
    t.strictSame(second.body, first.body, 'an operation may have a key of its own');
    t.equal(await orm.em.fork().count(Note, { text: 'keyed' }), 1);
  });

  await t.test('work of an operation cannot end the transaction', async (t) => {
    const app = await open(t, orm);
    const { status } = await send(app, [post('/notes', { text: 'note' }), post('/orders/begin', {})]);
    t.equal(status, 500);
    t.strictSame(await count(), [0, 0, 0]);
  });

  await t.test('a change that an operation does not store fails the batch', async (t) => {
    const app = await open(t, orm);
    const { status } = await send(app, [post('/orders/kept', {}), { method: 'GET', path: '/orders/lost' }]);
    t.equal(status, 500);
    t.strictSame(await count(), [0, 0, 0]);
    t.equal((await send(app, [post('/orders/kept', {})])).status, 200);
    t.strictSame(await count(), [1, 0, 0]);
  });

  await t.test('hooks of the application run for each operation, and share the transaction', async (t) => {
    const urls: string[] = [];
    const app = await open(t, orm, {}, (app) => {
      app.addHook('onRequest', async (request) => {
        urls.push(`${request.method} ${request.url} ${String(request.headers['x-tenant'])} ${request.ip}`);
        if (request.url.startsWith('/api/notes')) request.em.create(Note, { text: 'of a hook', data: null });
      });
      app.addHook('preHandler', async (request) => {
        if (request.url.startsWith('/api/notes')) await request.em.flush();
      });
      app.addHook('onSend', async (request, reply, payload) => {
        if (request.url.startsWith('/api/notes')) reply.header('etag', '"hook"');
        return payload;
      });
    });
    const { body, status } = await send(app, [post('/notes', { text: 'note' })], { 'x-tenant': 'T', 'x-user': 'eve' });
    t.equal(status, 200, JSON.stringify(body));
    t.strictSame(urls, ['POST /api/batch T 127.0.0.1', 'POST /api/notes T 127.0.0.1']);
    t.strictSame(body.answers[0].headers.etag, '"hook"');
    t.strictSame(await count(), [0, 0, 2]);
    t.equal((await send(app, [post('/notes', { text: 'note' }), post('/notes', {})])).status, 422);
    t.equal((await send(app, [post('/orders', {}), post('/notes', { text: 'note' })])).status, 422);
    t.strictSame(await count(), [0, 0, 2], 'nothing of what hooks have written stays');
  });

  if (database === 'sqlite') await refusals(t, orm, count);
});

async function refusals(t: Test, orm: MikroORM, count: () => Promise<number[]>): Promise<void> {
  await t.test('rejects invalid operations before any of them runs', async (t) => {
    const app = await open(t, orm);
    const note = post('/notes', { text: 'note' }, { id: 'n' });
    const cases: [unknown, string, RegExp][] = [
      [post('/nothing', {}), '/path', /^POST \/nothing is no operation below "\/api\/"$/],
      [
        post('/api/notes', {}),
        '/path',
        /^POST \/api\/notes is no operation below "\/api\/"; leave out "\/api" at the beginning$/,
      ],
      [
        post('/batch', { operations: [note] }),
        '/path',
        /^POST \/batch is an operation that cannot be part of a batch$/,
      ],
      [post('/orders/quiet', {}), '/path', /cannot be part of a batch/],
      [{ method: 'GET', path: '/notes.csv' }, '/path', /cannot be part of a batch/],
      [{ method: 'GET', path: '/own/1' }, '/path', /cannot be part of a batch/],
      [{ method: 'PUT', path: '/notes' }, '/path', /no operation/],
      [{ method: 'GET', path: '/../health' }, '/path', /dots/],
      [{ method: 'GET', path: '/notes/%2e%2E' }, '/path', /dots/],
      [{ method: 'GET', path: 'notes' }, '/path', /must begin/],
      [{ method: 'GET', path: '/notes/a b' }, '/path', /characters/],
      [{ method: 'GET', path: '/notes\\x' }, '/path', /characters/],
      [{ method: 'GET', path: '/notes/x{n.id}' }, '/path', /whole segment/],
      [{ method: 'GET', path: '/notes/{n}' }, '/path', /is no reference/],
      [{ method: 'GET', path: '/notes/{x.id}' }, '/path', /refers to no operation/],
      [{ method: 'GET', path: '/notes/{n.__proto__.x}' }, '/path', /is no reference/],
      [post('/notes', { text: { $ref: 'later.id' } }), '/body/text', /does not come before/],
      [post('/notes', { text: { $ref: 'n.constructor' } }), '/body/text', /is no reference/],
      [post('/notes', { data: [{ $ref: 'n.id', more: 1 }] }), '/body/data/0', /has the key "\$ref"/],
      [post('/notes', { data: { $ref: 1 } }), '/body/data', /has the key "\$ref"/],
      [post('/notes', {}, { id: 'n' }), '/id', /earlier operation/],
      [post('/notes', {}, { headers: { authorization: 'x' } }), '/headers/authorization', /no header/],
    ];
    for (const [operation, path, message] of cases) {
      const answer = await send(app, [note, operation, post('/notes', { text: 'x' }, { id: 'later' })]);
      t.equal(answer.status, 400, JSON.stringify(operation));
      t.match(answer.body.details, [{ in: 'body', path: `/operations/1${path}`, message }], JSON.stringify(operation));
    }
    for (const body of [[], Array.from({ length: 11 }, () => note), 'x', [{ ...note, method: 'HEAD' }], [{}], [null]]) {
      t.equal((await send(app, body)).status, 400);
    }
    t.strictSame(await count(), [0, 0, 0]);
  });
  await t.test('refuses data that is nested too deeply, or too large with its references', async (t) => {
    const app = await open(t, orm);
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    const payload = `{"operations":[{"method":"POST","path":"/notes","body":${deep}}]}`;
    const headers = { 'content-type': 'application/json' };
    const answer = await app.inject({ method: 'POST', url: '/api/batch', payload, headers });
    t.equal(answer.statusCode, 400, answer.body.slice(0, 300));
    const large = await app.inject({ method: 'POST', url: '/api/batch', payload: 'x'.repeat(1_048_577), headers });
    t.equal(large.statusCode, 413);
    const many = Array.from({ length: 20_000 }, () => ({ $ref: 'n.data.text' }));
    const { body, status } = await send(app, [
      post('/notes', { text: 'n', data: { text: 'x'.repeat(500_000) } }, { id: 'n' }),
      post('/notes', { text: 'm', data: many }),
    ]);
    t.equal(status, 422);
    t.match(body.operations, [{ index: 1, status: 400, body: { error: /exceed 1048576 bytes/ } }]);
    // 6 gigabytes, if it were written out.
    const path = `/notes?text=${'{n.data.text}'.repeat(30_000)}`;
    const long = post('/notes', { text: 'n', data: { text: 'x'.repeat(200_000) } }, { id: 'n' });
    const inPath = await send(app, [long, { method: 'GET', path }]);
    t.match(inPath.body.details, [{ path: '/operations/1/path', message: /exceed 1048576 bytes/ }]);
  });
  await t.test('fails if its responses exceed the limit together, and stores nothing', async (t) => {
    const app = await open(t, orm);
    await send(app, [post('/notes', { text: 'long', data: 'x'.repeat(600_000) })]);
    const read = { method: 'GET', path: '/notes' };
    const { status, body } = await send(app, [
      post('/notes', { text: 'new' }),
      ...Array.from({ length: 9 }, () => read),
    ]);
    t.equal(status, 422, JSON.stringify(body).slice(0, 300));
    const error = /the responses of the batch exceed 4194304 bytes; send fewer operations, or request smaller pages/;
    t.match(body, { code: 'batch_failed', operations: [{ index: 7, status: 400, body: { error } }] });
    t.equal(body.details[0].path, '/operations/7/path');
    t.strictSame(await count(), [0, 0, 1], 'the note of the batch was rolled back');
    const fits = await send(app, [read, read, read, read, read, read]);
    t.equal(fits.status, 200, 'responses within the limit are sent');
  });
  await t.test('refuses numbers that JavaScript would round', async (t) => {
    const app = await open(t, orm);
    const payload = '{"operations":[{"method":"PATCH","path":"/notes/1","body":{"data":9007199254740993}}]}';
    const headers = { 'content-type': 'application/json' };
    const answer = await app.inject({ method: 'POST', url: '/api/batch', payload, headers });
    t.equal(answer.statusCode, 400, answer.body);
    t.match(answer.json(), { details: [{ path: '/operations/0/body/data' }] });
  });
  await t.test('a response that is not JSON is a 500', async (t) => {
    const app = await open(t, orm);
    const answer = await send(app, [post('/notes', { text: 'note' }), { method: 'GET', path: '/orders/text' }]);
    t.equal(answer.status, 500);
    t.strictSame(await count(), [0, 0, 0]);
  });
  await t.test('options are checked', async (t) => {
    t.throws(() => BatchViewSet({ maxOperations: 0 }), { message: /"maxOperations" must be a whole number above 0/ });
    t.throws(() => BatchViewSet({ maxByte: 1 } as never), { message: /maxByte/ });
    t.throws(() => BatchViewSet({ maxResponseBytes: 0 }), {
      message: /"maxResponseBytes" must be a whole number above 0/,
    });
    t.throws(() => action({ methods: ['post'], batchable: true, transaction: false }, () => ({})), {
      message: /"batchable"/,
    });
    t.ok(InvalidUsage);
  });
}
