/** `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): a write that is sent again is done once, and answered alike. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import {
  action,
  afterCommit,
  file,
  FileType,
  Forbidden,
  type FileStore,
  ModelViewSet,
  nested,
  Permission,
  readShape,
  Router,
  UserRateLimit,
  type ViewsetOptions,
  type WriteData,
  writeShape,
} from '@viewset/core';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { testApp } from '../../core/test/support/library.ts';
import { IdempotencyKeys, IdempotencyRecord } from '../src/index.ts';

const Order = defineEntity({
  name: 'Order',
  tableName: 'orders',
  properties: {
    id: p.integer().primary(),
    item: p.string().length(50),
    amount: p.integer().default(1),
    version: p.integer().version(),
    slip: p.type(FileType).nullable(),
    lines: () => p.oneToMany(Line).mappedBy('order'),
  },
});
const Line = defineEntity({
  name: 'Line',
  properties: { id: p.integer().primary(), text: p.string().length(50), order: () => p.manyToOne(Order) },
});
type OrderRecord = InferEntity<typeof Order>;
type Data = WriteData<OrderRecord, { item: string; amount?: number }>;

const files = new Map<string, Buffer>();
const store: FileStore = {
  put: async (key, content) => void files.set(key, await buffer(content)),
  get: async (key) => Readable.from([files.get(key)!]),
  delete: async (key) => void files.delete(key),
};

const read = readShape(Order, ['id', 'item', 'amount']);
const write = writeShape(Order, ['item', 'amount']);

/** The writes that were run, whatever became of them. */
let runs: string[] = [];
let sent: string[] = [];
let gate: Promise<void> | undefined;
let isOpen = true;
/** Writes the record of a request past it. */
let rival: (() => Promise<unknown>) | undefined;

class MayWrite extends Permission {
  override hasPermission(request: FastifyRequest): boolean {
    return request.user !== null && isOpen;
  }
}

class OrderViewSet extends ModelViewSet(Order, { read, write, bulk: 100 }) {
  override async performCreate(request: FastifyRequest, data: Data) {
    runs.push(data.item);
    await gate;
    const order = await super.performCreate(request, data);
    await afterCommit(request, () => sent.push(data.item));
    if (data.item === 'refused') throw new Forbidden('not this one');
    if (data.item === 'broken') throw new Error('after the write');
    return order;
  }

  /** POST /orders/:pk/pay: an action that sends its answer by itself. */
  pay = action({ methods: ['post'], detail: true }, async (request, reply) => {
    const order = await this.getObject(request);
    order.amount += 1;
    return reply
      .code(202)
      .header('x-receipt', `r${order.amount}`)
      .header('set-cookie', 'a=b')
      .send({ paid: order.amount });
  });

  /** POST /orders/ship: an action that another write may be in the way of. */
  ship = action({ methods: ['post'] }, async (request, reply) => {
    runs.push('ship');
    const order = await request.em.findOneOrFail(Order, { item: 'A' });
    await rival?.();
    rival = undefined;
    order.amount += 1;
    return reply.code(202).header('x-carrier', 'North').send({ shipped: true });
  });

  /** POST /orders/fail: an answer that says that the action failed. */
  fail = action({ methods: ['post'] }, async (request, reply) => {
    runs.push('fail');
    request.em.create(Order, { item: 'failed' });
    return reply.code(409).send({ failed: runs.length });
  });

  bytes = action({ methods: ['post'] }, async (_request, reply) => {
    runs.push('bytes');
    return reply.type('application/octet-stream').send(Buffer.from([0, 255, 1, runs.length]));
  });

  text = action({ methods: ['post'] }, async () => `text ${runs.push('text')}`);

  nothing = action({ methods: ['post'] }, async (_request, reply) => {
    runs.push('nothing');
    return reply.code(204).send();
  });

  stream = action({ methods: ['post'] }, async (request) => {
    request.em.create(Order, { item: 'streamed' });
    return Readable.from(['a', 'b']);
  });

  outside = action({ methods: ['post'], transaction: false }, async (request) => ({
    runs: runs.push('outside'),
    isInTransaction: request.em.isInTransaction(),
  }));

  off = action({ methods: ['post'], idempotency: 'off' }, async () => ({ runs: runs.push('off') }));
}

class StrictViewSet extends ModelViewSet(Order, {
  read,
  write,
  idempotency: 'required',
  permissionClasses: [MayWrite],
  throttles: [new UserRateLimit(1000, 60)],
}) {}

class SlipViewSet extends ModelViewSet(Order, {
  read: readShape(Order, ['id', 'item', 'slip']),
  write: writeShape(Order, ['item'], { slip: file({ store, maxBytes: 10_000, types: ['text/plain'] }) }),
}) {}

class NestedViewSet extends ModelViewSet(Order, {
  read,
  write: writeShape(Order, ['item'], { lines: nested(writeShape(Line, ['text'])) }),
}) {}

const router = () =>
  new Router()
    .register('orders', OrderViewSet)
    .register('strict', StrictViewSet)
    .register('slips', SlipViewSet)
    .register('nested', NestedViewSet);

interface Sent {
  readonly method?: 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly key?: string | undefined;
  readonly user?: string | null;
  readonly payload?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

function sender(app: FastifyInstance) {
  return async ({ method = 'POST', url, key, user = 'ada', payload, headers = {} }: Sent) =>
    app.inject({
      method,
      url,
      headers: {
        ...headers,
        ...(user === null ? {} : { 'x-user': user }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      ...(payload === undefined ? {} : { payload }),
    });
}

const newKey = (): string => JSON.stringify(randomUUID());

forEachDatabase(
  t,
  { entities: [Order, Line, IdempotencyRecord], orm: { pool: { max: 8 } } },
  async (t, orm, database) => {
    const start = async (t: Test, options: Partial<ViewsetOptions> = {}) =>
      sender(await testApp(t, orm, [router()], { options: { idempotency: new IdempotencyKeys(), ...options } }));
    const items = async () => (await orm.em.fork().findAll(Order, { orderBy: { id: 'asc' } })).map(({ item }) => item);
    t.beforeEach(async () => {
      await orm.schema.clear();
      files.clear();
      [runs, sent, gate, isOpen, rival] = [[], [], undefined, true, undefined];
    });

    await t.test('a repeated create writes nothing, and returns the bytes of the first response', async (t) => {
      const send = await start(t);
      const key = newKey();
      const first = await send({ url: '/orders', key, payload: { item: 'tea' } });
      const plain = await send({ url: '/orders', payload: { item: 'tea' } });
      const again = await send({ url: '/orders', key, payload: { item: 'tea' } });
      t.equal(first.statusCode, 201);
      t.equal(again.statusCode, 201);
      t.equal(again.body, first.body);
      t.strictSame(await items(), ['tea', 'tea'], 'of the first and of that without a key');
      t.strictSame(sent, ['tea', 'tea'], 'work after the commit is done once');
      for (const name of ['location', 'etag', 'content-type', 'content-length']) {
        t.equal(again.headers[name], first.headers[name], name);
        t.equal(typeof first.headers[name], typeof plain.headers[name], `${name}, as without a key`);
      }
      t.equal(first.headers['content-type'], plain.headers['content-type']);
      t.equal(first.headers['idempotent-replayed'], undefined);
      t.equal(again.headers['idempotent-replayed'], 'true');
      t.match(plain.json(), { item: 'tea', amount: 1 });
      t.strictSame({ ...first.json(), id: 0 }, { ...plain.json(), id: 0 });
    });

    await t.test('a key is of one account, one route and one request', async (t) => {
      const send = await start(t);
      const key = newKey();
      await send({ url: '/orders', key, payload: { item: 'tea' } });
      const other = await send({ url: '/orders', key, payload: { item: 'milk' } });
      t.equal(other.statusCode, 422);
      t.match(other.json(), { code: 'idempotency_key_reused' });
      t.equal((await send({ url: '/orders?x=1', key, payload: { item: 'tea' } })).statusCode, 400, 'checked as ever');
      t.equal(
        (await send({ url: '/orders', key, payload: { item: 'tea', amount: 'x' } })).statusCode,
        400,
        'so is the body',
      );
      t.equal(
        (await send({ url: '/orders', key, user: 'grace', payload: { item: 'milk' } })).statusCode,
        201,
        'another account',
      );
      t.equal((await send({ url: '/strict', key, payload: { item: 'milk' } })).statusCode, 201, 'another route');
      t.strictSame(await items(), ['tea', 'milk', 'milk']);
    });

    await t.test('a request that fails stores nothing, so that its key is free', async (t) => {
      const send = await start(t);
      for (const item of ['refused', 'broken']) {
        const key = newKey();
        const failed = await send({ url: '/orders', key, payload: { item } });
        t.equal(failed.statusCode, item === 'refused' ? 403 : 500);
        t.strictSame(await items(), []);
        t.equal(
          (await send({ url: '/orders', key, payload: { item: 'tea' } })).statusCode,
          201,
          'even with another body',
        );
        await orm.em.fork().nativeDelete(Order, {});
      }
      const key = newKey();
      t.strictSame((await send({ url: '/orders/fail', key })).json(), { failed: 4 + 1 });
      const again = await send({ url: '/orders/fail', key });
      t.equal(again.statusCode, 409);
      t.equal(again.headers['retry-after'], undefined);
      t.strictSame(await items(), [], 'an answer of 400 or more is rolled back');
      t.equal(await orm.em.fork().count(IdempotencyRecord, {}), 2);
    });

    await t.test('a PATCH and an action are done once, with If-Match too', async (t) => {
      const send = await start(t);
      const created = await send({ url: '/orders', payload: { item: 'tea' } });
      const { id } = created.json<{ id: number }>();
      const key = newKey();
      const patch = {
        method: 'PATCH',
        url: `/orders/${id}`,
        key,
        payload: { amount: 5 },
        headers: { 'if-match': String(created.headers['etag']) },
      } as const;
      const first = await send(patch);
      t.equal(first.statusCode, 200);
      const again = await send(patch);
      t.equal(again.statusCode, 200, 'although the tag is another by now');
      t.equal(again.body, first.body);
      t.equal(again.headers['etag'], first.headers['etag']);
      t.equal((await send({ ...patch, key: newKey() })).statusCode, 412);

      const pay = { url: `/orders/${id}/pay`, key };
      const paid = await send(pay);
      const repaid = await send(pay);
      t.equal(paid.statusCode, 202);
      t.strictSame(paid.json(), { paid: 6 });
      t.equal(repaid.body, paid.body);
      t.equal(repaid.statusCode, 202);
      t.equal(repaid.headers['x-receipt'], 'r6', 'headers of the handler are stored');
      t.equal(paid.headers['set-cookie'], 'a=b');
      t.equal(repaid.headers['set-cookie'], undefined, 'but for cookies');
      t.equal((await send({ url: '/orders/999/pay', key })).statusCode, 422, 'another path');
    });

    await t.test('a response stored after a lost race is returned again with its headers', async (t) => {
      const send = await start(t);
      await send({ url: '/orders', payload: { item: 'A' } });
      // Only here does a transaction that lost a race run again.
      if (database === 'mongodb') rival = () => orm.em.fork().nativeUpdate(Order, { item: 'A' }, { amount: 7 });
      const key = newKey();
      const first = await send({ url: '/orders/ship', key });
      const again = await send({ url: '/orders/ship', key });
      t.strictSame(runs, ['A', ...(database === 'mongodb' ? ['ship', 'ship'] : ['ship'])]);
      t.match(first, { statusCode: 202, headers: { 'x-carrier': 'North' } });
      t.match(again, { statusCode: 202, headers: { 'x-carrier': 'North', 'idempotent-replayed': 'true' } });
    });

    await t.test('responses of any kind are returned again', async (t) => {
      const send = await start(t);
      for (const url of ['/orders/bytes', '/orders/text', '/orders/nothing']) {
        const key = newKey();
        const first = await send({ url, key });
        const again = await send({ url, key });
        t.ok(first.statusCode < 300, url);
        t.equal(again.statusCode, first.statusCode);
        t.same(again.rawPayload, first.rawPayload);
        t.equal(again.headers['content-type'], first.headers['content-type']);
      }
      t.equal(runs.length, 3);
      const streamed = await send({ url: '/orders/stream', key: newKey() });
      t.equal(streamed.statusCode, 500, 'a stream cannot be stored');
      t.strictSame(await items(), [], 'and is rolled back');
      t.equal((await send({ url: '/orders/stream' })).body, 'ab', 'without a key it is sent');
    });

    await t.test('routes that take no key ignore it', async (t) => {
      const send = await start(t);
      const key = newKey();
      for (const url of ['/orders/outside', '/orders/off']) {
        t.not((await send({ url, key })).body, (await send({ url, key })).body);
      }
      t.strictSame((await send({ url: '/orders/outside', key })).json().isInTransaction, false);
      const { id } = (await send({ url: '/orders', payload: { item: 'tea' } })).json<{ id: number }>();
      t.equal(
        (await send({ method: 'PUT', url: `/orders/${id}`, key: 'bad', payload: { item: 'milk' } })).statusCode,
        200,
      );
      t.equal((await send({ method: 'DELETE', url: `/orders/${id}`, key: 'bad' })).statusCode, 204);
    });

    await t.test('a missing or malformed key returns 400 with the received value', async (t) => {
      const send = await start(t);
      const missing = await send({ url: '/strict', payload: { item: 'tea' } });
      t.equal(missing.statusCode, 400);
      t.match(missing.json(), { code: 'invalid_usage', error: /^Idempotency-Key is required/ });
      const wrong = [
        '',
        '""',
        '"abc',
        'abc"',
        '"a"b"',
        '"a", "b"',
        'a, b',
        'a,b',
        'a b',
        'a;b',
        'a\\b',
        '\u00e9',
        '"\u00e9"',
      ];
      for (const key of [...wrong, `"${'x'.repeat(256)}"`, 'x'.repeat(256)]) {
        const answer = await send({ url: '/strict', key, payload: { item: 'tea' } });
        t.equal(answer.statusCode, 400, key);
        t.match(
          answer.json().error,
          /^Idempotency-Key must be one text of 1 to 255 ASCII characters, such as "8e03978e", got .*$/,
        );
      }
      for (const key of [
        '"x"',
        `"${'x'.repeat(255)}"`,
        String.raw`"a\"b\\c"`,
        ' "padded" ',
        'y'.repeat(255),
        'a=b&c:d',
      ]) {
        t.equal((await send({ url: '/strict', key, payload: { item: 'tea' } })).statusCode, 201, key);
      }
      const anonymous = await send({ url: '/orders', key: newKey(), user: null, payload: { item: 'tea' } });
      t.equal(anonymous.statusCode, 400);
      t.match(anonymous.json().error, /nobody is logged in/);
      t.equal((await send({ url: '/orders', user: null, payload: { item: 'tea' } })).statusCode, 201, 'without a key');
    });

    await t.test('a key without quotes is the same key', async (t) => {
      const send = await start(t);
      const key = newKey();
      const first = await send({ url: '/orders', key: key.replaceAll('"', ''), payload: { item: 'tea' } });
      t.equal(first.statusCode, 201);
      const again = await send({ url: '/orders', key, payload: { item: 'tea' } });
      t.match(again.headers, { 'idempotent-replayed': 'true' });
      t.equal(again.body, first.body);
    });

    await t.test('permissions and throttles are checked before a response is returned again', async (t) => {
      const send = await start(t);
      const key = newKey();
      const request = { url: '/strict', key, payload: { item: 'tea' } };
      const first = await send(request);
      isOpen = false;
      t.equal((await send(request)).statusCode, 403, 'the account may no longer write');
      t.equal((await send({ ...request, user: null })).statusCode, 401);
      isOpen = true;
      const again = await send(request);
      t.equal(again.body, first.body);
      t.ok(
        Number(again.headers['ratelimit-remaining']) < Number(first.headers['ratelimit-remaining']),
        'it is counted',
      );
    });

    await t.test('bulk requests, children and files are written once', async (t) => {
      const send = await start(t);
      const key = newKey();
      const many = { url: '/orders', key, payload: [{ item: 'a' }, { item: 'b' }] };
      const first = await send(many);
      t.equal(first.statusCode, 201);
      t.equal((await send(many)).body, first.body);
      t.strictSame(await items(), ['a', 'b']);

      const tree = { url: '/nested', key, payload: { item: 'c', lines: [{ text: 'x' }, { text: 'y' }] } };
      const parent = await send(tree);
      t.equal(parent.statusCode, 201);
      t.equal((await send(tree)).body, parent.body);
      t.equal(await orm.em.fork().count(Line, {}), 2);

      const slip = await send({ url: '/slips', key, ...form('d', 'one') });
      t.equal(slip.statusCode, 201, slip.body);
      t.equal((await send({ url: '/slips', key, ...form('d', 'one') })).body, slip.body, 'with another boundary');
      t.equal((await send({ url: '/slips', key, ...form('d', 'two') })).statusCode, 422, 'another content');
      t.equal(files.size, 1);
    });

    await t.test('while the first one runs, others get a 409 at once', async (t) => {
      const send = await start(t);
      const elsewhere = await start(t);
      const opened = Promise.withResolvers<void>();
      gate = opened.promise;
      const key = newKey();
      const request = { url: '/orders', key, payload: { item: 'tea' } };
      const first = send(request);
      while (runs.length === 0) await sleep(1);
      // On SQLite, another process waits for the only transaction.
      const senders = database === 'sqlite' ? [send] : [send, elsewhere];
      for (const each of senders) {
        const answer = await each(request);
        t.equal(answer.statusCode, 409);
        t.equal(answer.headers['retry-after'], '1');
        t.match(answer.json(), { code: 'idempotency_key_in_use' });
      }
      const waiting = elsewhere(request);
      opened.resolve();
      t.equal((await first).statusCode, 201);
      await waiting;
      const again = await elsewhere(request);
      t.equal(again.body, (await first).body);
      t.strictSame(runs, ['tea']);
      t.strictSame(await items(), ['tea']);
    });

    await t.test('the same is true if the stored response of the key has expired', async (t) => {
      const send = await start(t);
      // On SQLite, another process waits for the only transaction.
      const elsewhere = database === 'sqlite' ? send : await start(t);
      const request = { url: '/orders', key: newKey(), payload: { item: 'tea' } };
      await send(request);
      await orm.em.fork().nativeUpdate(IdempotencyRecord, {}, { expiresAt: new Date(Date.now() - 1) });
      const opened = Promise.withResolvers<void>();
      gate = opened.promise;
      const first = send(request);
      while (runs.length === 1) await sleep(1);
      const answer = await elsewhere(request);
      opened.resolve();
      t.equal(answer.statusCode, 409);
      t.match(answer.json(), { code: 'idempotency_key_in_use' });
      t.equal((await first).statusCode, 201);
      t.strictSame(await items(), ['tea', 'tea']);
    });

    await t.test('of many concurrent requests with one key, exactly one writes', async (t) => {
      const senders = [await start(t), await start(t)];
      for (let round = 0; round < 5; round++) {
        const key = newKey();
        const request = { url: '/orders', key, payload: { item: `tea ${round}` } };
        const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => senders[index % 2]!(request)));
        const statuses = new Set(answers.map(({ statusCode }) => statusCode));
        t.strictSame(
          [...statuses].filter((status) => status !== 201 && status !== 409),
          [],
        );
        t.equal(new Set(answers.filter(({ statusCode }) => statusCode === 201).map(({ body }) => body)).size, 1);
      }
      t.equal((await items()).length, 5);
    });

    await t.test('an expired response is not returned, and is deleted in time', async (t) => {
      const keys = new IdempotencyKeys({ ttlSeconds: 1 });
      const send = await start(t, { idempotency: keys });
      const request = { url: '/orders', key: newKey(), payload: { item: 'tea' } };
      await send(request);
      await orm.em.fork().nativeUpdate(IdempotencyRecord, {}, { expiresAt: new Date(Date.now() - 1) });
      t.equal((await send({ ...request, payload: { item: 'milk' } })).statusCode, 201);
      t.strictSame(await items(), ['tea', 'milk']);
      await orm.em.fork().nativeUpdate(IdempotencyRecord, {}, { expiresAt: new Date(Date.now() - 1) });
      await keys.prune(orm.em.fork());
      t.equal(await orm.em.fork().count(IdempotencyRecord, {}), 0);
    });

    await t.test('the table does not reveal keys, requests or responses', async (t) => {
      const send = await start(t);
      const key = newKey();
      await send({ url: '/orders', key, payload: { item: 'a secret' } });
      const [row] = await orm.em.fork().findAll(IdempotencyRecord);
      const text = JSON.stringify(row) + Buffer.from(row!.answer!, 'base64').toString('latin1');
      t.notMatch(text, /secret/);
      t.notOk(text.includes(JSON.parse(key) as string));
    });
  },
);

/** A form with a boundary of its own. */
function form(item: string, content: string): { payload: string; headers: Record<string, string> } {
  const boundary = `b${randomUUID()}`;
  const part = (head: string, value: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`;
  return {
    payload: `${part('name="item"', item)}${part('name="slip"; filename="a.txt"\r\nContent-Type: text/plain', content)}--${boundary}--\r\n`,
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  };
}
