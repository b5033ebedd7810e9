/** Writes that are sent again with one `Idempotency-Key`, over a real network. */
import { defineEntity, p } from '@mikro-orm/core';
import fastify, { type FastifyRequest } from 'fastify';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import { IdempotencyKeys, IdempotencyRecord } from '@viewset/idempotency';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { createClient } from '../src/index.ts';
import { fetchOnce } from '../src/once.ts';

const Order = defineEntity({
  name: 'Order',
  tableName: 'orders',
  properties: { id: p.integer().primary(), item: p.string().length(50) },
});

/** What happens to the next requests, after each of which the key that came is noted. */
type Mishap = (request: FastifyRequest) => Promise<void> | void;
let mishaps: Mishap[] = [];
let keys: unknown[] = [];
/** Holds the first write up within its transaction. */
let gate: Promise<void> | undefined;

class OrderViewSet extends ModelViewSet(Order, {
  read: readShape(Order, ['id', 'item']),
  write: writeShape(Order, ['item']),
  idempotency: 'required',
}) {
  override async performCreate(request: FastifyRequest, data: object) {
    const wait = gate;
    gate = undefined;
    await wait;
    return super.performCreate(request, data as never);
  }
}

const makeRouter = () => new Router({ prefix: 'api' }).register('orders', OrderViewSet);
type Api = ReturnType<typeof makeRouter>;

forEachDatabase(t, { entities: [Order, IdempotencyRecord] }, async (t, orm) => {
  const app = fastify({ ...serverOptions(), forceCloseConnections: true });
  await app.register(viewset, { orm, idempotency: new IdempotencyKeys({ account: () => 'everybody' }) });
  app.addHook('onSend', async (request, _reply, payload) => {
    keys.push(request.headers['idempotency-key']);
    await mishaps.shift()?.(request);
    return payload;
  });
  await app.register(makeRouter().plugin);
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => app.close());
  const api = createClient<Api>({ url: `${origin}/api` });
  const count = () => orm.em.fork().count(Order);
  t.beforeEach(() => {
    mishaps = [];
    keys = [];
  });

  await t.test('a response that is lost is sent again, and the write is done once', async (t) => {
    mishaps = [({ raw }) => void raw.socket.destroy()];
    const before = await count();
    const made = await api.orders.create({ item: 'Tea' }, { fetch: fetchOnce() });
    t.match(made, { item: 'Tea' });
    t.equal(await count(), before + 1);
    t.equal(keys.length, 2);
    t.match(keys[0], /^"[\da-f-]{36}"$/);
    t.equal(keys[0], keys[1]);
    await api.orders.update(made.id, { item: 'Green tea' }, { fetch: fetchOnce() });
    t.not(keys[2], keys[0], 'each write has its own key');
  });

  await t.test(
    'an attempt that takes too long is aborted, and the next one waits until the first has ended',
    async (t) => {
      let open = (): void => {};
      gate = new Promise((resolve) => (open = resolve));
      const before = await count();
      const made = api.orders.create({ item: 'Slow' }, { fetch: fetchOnce({ timeoutMs: 300, tries: 5 }) });
      void sleep(600).then(() => open());
      t.match(await made, { item: 'Slow' });
      t.equal(await count(), before + 1);
      t.ok(new Set(keys).size === 1);
    },
  );

  await t.test('a refusal is returned at once, and the last failure is thrown', async (t) => {
    const fetch = fetchOnce({ tries: 2 });
    const refused = api.orders.create({ item: '' }, { fetch });
    t.match(await refused.catch((error: unknown) => error), { status: 400 });
    t.equal(keys.length, 1);
    mishaps = Array.from(
      { length: 9 },
      () =>
        ({ raw }) =>
          void raw.socket.destroy(),
    );
    t.match(await api.orders.create({ item: 'Lost' }, { fetch }).catch((error: unknown) => error), {
      code: 'network_error',
    });
    t.equal(keys.length, 3);
  });

  await t.test('a call that is aborted is sent no more', async (t) => {
    const stop = new AbortController();
    mishaps = [
      ({ raw }) => {
        stop.abort(new Error('enough'));
        raw.socket.destroy();
      },
    ];
    const call = api.orders.create({ item: 'Never' }, { fetch: fetchOnce(), signal: stop.signal });
    await t.rejects(call, { message: 'enough' });
    await sleep(500);
    t.equal(keys.length, 1);
  });
});

t.test('without a server of keys', async (t) => {
  const sent: (string | null)[] = [];
  const answers =
    (...list: Response[]) =>
    async (_url: string, init: RequestInit) => {
      sent.push(`${init.method} ${new Headers(init.headers).get('idempotency-key')}`);
      return list.shift()!;
    };
  const response = (status: number, after?: string) =>
    new Response(null, { status, ...(after !== undefined && { headers: { 'retry-after': after } }) });
  t.beforeEach(() => void sent.splice(0));

  await t.test('429, 503 and the 409 of a try that runs are sent again, other conflicts are not', async (t) => {
    const fetch = fetchOnce({
      tries: 4,
      fetch: answers(response(429), response(503, '0'), response(409, '0'), response(201)),
    });
    t.equal((await fetch('/', { method: 'post', headers: { 'idempotency-key': '"mine"' } })).status, 201);
    t.strictSame(
      sent,
      Array.from({ length: 4 }, () => 'post "mine"'),
    );
    t.equal((await fetchOnce({ fetch: answers(response(409)) })('/', { method: 'PATCH' })).status, 409);
    t.equal(
      (await fetchOnce({ fetch: answers(response(503, '11')) })('/', { method: 'PATCH' })).status,
      503,
      'too long',
    );
  });

  await t.test('other methods and streams are sent as they are', async (t) => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      t.equal((await fetchOnce({ fetch: answers(response(503)) })('/', { method })).status, 503);
    }
    const body = new ReadableStream();
    await fetchOnce({ fetch: answers(response(503)) })('/', { method: 'POST', body });
    t.strictSame(sent, ['GET null', 'PUT null', 'DELETE null', 'POST null']);
  });
});
