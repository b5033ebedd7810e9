/** Receivers that fail for long: they delay nobody else, rest, are disabled, and get old events again. */
import fastify from 'fastify';
import t, { type Test } from 'tap';
import { IsAuthenticated, Router } from '@viewset/core';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { testApp } from '../../core/test/support/library.ts';
import {
  emit,
  OutboxEvent,
  startOutbox,
  webhooks,
  type WebhookOptions,
  WebhookSubscription,
  WebhookViewSet,
  type WorkerOptions,
} from '../src/index.ts';
import { retryAfterMs } from '../src/webhooks/retry-after.ts';
import { until } from './support/until.ts';

const silent = { warn: () => {}, error: () => {} };
const DELIVERY = '~webhook.delivery';
const HOUR_MS = 3_600_000;

class Webhooks extends WebhookViewSet({ permissionClasses: [IsAuthenticated], development: true, maxPerOwner: 3 }) {}

/** A server with a response for each path: a status, headers, or no response at all. */
async function receiver(t: Test, respond: (path: string) => number | [number, Record<string, string>] | 'never') {
  const got: string[] = [];
  const server = fastify({ forceCloseConnections: true });
  server.post('/*', (request, reply) => {
    got.push(request.url);
    const response = respond(request.url);
    if (response === 'never') return;
    const [status, headers] = typeof response === 'number' ? [response, {}] : response;
    void reply.code(status).headers(headers).send();
  });
  const address = await server.listen({ port: 0, host: '127.0.0.1' });
  t.teardown(() => server.close());
  return { address, got };
}

forEachDatabase(t, { entities: [OutboxEvent, WebhookSubscription], orm: { pool: { max: 8 } } }, async (t, orm) => {
  const em = () => orm.em.fork();
  const subscribe = (address: string, rows: readonly Partial<WebhookSubscription>[]) =>
    em().insertMany(
      WebhookSubscription,
      rows.map((row) => ({
        url: `${address}/${row.id}`,
        secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
        created_at: new Date(),
        is_enabled: true,
        event_types: [row.id!],
        ...row,
      })) as never,
    );
  const work = (t: Test, options: Partial<WebhookOptions> = {}, worker: Partial<WorkerOptions> = {}) => {
    const { handlers = {}, ...rest } = worker;
    const all = [webhooks({ mayReceive: () => true, development: true, ...options }), handlers].flat();
    const started = startOutbox(orm, { log: silent, pollMs: 50, backoffMs: 10, ...rest, handlers: all });
    t.teardown(() => started.stop());
    return started;
  };
  const count = (where: object) => em().count(OutboxEvent, where);
  const find = (id: string) => em().findOneOrFail(WebhookSubscription, { id });

  t.test('receivers that hang use only their share of the places, and delay neither others nor handlers', async (t) => {
    await orm.schema.clear();
    const { address, got } = await receiver(t, (path) => (path === '/healthy' || !isDown ? 204 : 'never'));
    let isDown = false;
    await subscribe(address, [
      { id: 'hangs', owner: 'A' },
      { id: 'hangs too', owner: 'A', event_types: ['hangs.x'] },
      { id: 'healthy', owner: 'B' },
    ]);
    const own: string[] = [];
    // With one of 12 places free, the healthy receiver has its turn.
    const options = { concurrency: 12, concurrencyPerSubscription: 8, concurrencyPerOwner: 11, timeoutMs: 600_000 };
    const worker = work(t, options, { handlers: { own: ({ type }) => own.push(type) }, stopTimeoutMs: 1 });
    // Once they have succeeded, they may use the places of a healthy subscription.
    await emit({ em: em() }, 'hangs', {});
    await emit({ em: em() }, 'hangs.x', {});
    await until(async () => (await count({ type: DELIVERY, status: 'delivered' })) === 2);
    isDown = true;
    got.length = 0;
    await em().transactional(async (work) => {
      for (let each = 0; each < 60; each++) {
        await emit({ em: work }, each % 2 === 0 ? 'hangs.x' : 'hangs', {}, { subject: `S/${each}` });
      }
    });
    // On a busy machine the first ones count as failing before the last begin, and have half of the places.
    await until(() => got.length >= 6);
    for (let each = 0; each < 5; each++) await emit({ em: em() }, 'healthy', {}, { subject: `T/${each}` });
    await emit({ em: em() }, 'own', {});
    await until(() => own.length === 1 && got.filter((path) => path === '/healthy').length === 5);
    t.ok(got.filter((path) => path === '/hangs').length <= 8, 'at most the share of a subscription');
    t.ok(got.filter((path) => path !== '/healthy').length <= 11, 'at most the share of an owner');
    await worker.stop();
  });

  t.test(
    'healthy receivers of several owners that begin to hang at the same moment leave places to others',
    async (t) => {
      await orm.schema.clear();
      let isDown = false;
      const { address, got } = await receiver(t, (path) => (isDown && path.startsWith('/hangs') ? 'never' : 204));
      const hanging = Array.from({ length: 12 }, (_, place) => ({
        id: `hangs${place}`,
        event_types: ['x'],
        owner: `H${place % 4}`,
      }));
      await subscribe(address, [...hanging, { id: 'healthy', owner: 'A' }, { id: 'without', owner: null }]);
      const worker = work(t, { timeoutMs: 600_000 });
      for (const type of ['x', 'healthy', 'without']) await emit({ em: em() }, type, {});
      await until(async () => (await count({ status: 'waiting' })) === 0);
      isDown = true;
      got.length = 0;
      await em().transactional(async (work) => {
        for (let each = 0; each < 20; each++) await emit({ em: work }, 'x', {}, { subject: `S/${each}` });
      });
      // On a busy machine the first ones count as failing before the last begin, and have half of the places.
      await until(() => got.length >= 20);
      for (const type of ['healthy', 'without']) {
        for (let each = 0; each < 5; each++) await emit({ em: em() }, type, {}, { subject: `T/${each}` });
      }
      const reached = (path: string): number => got.filter((each) => each === path).length;
      await until(() => reached('/healthy') === 5 && reached('/without') === 5);
      t.ok(got.filter((path) => path.startsWith('/hangs')).length <= 30, 'at most three quarters of the places');
      await worker.stop();
    },
  );

  t.test('many owners whose receivers hang leave places to healthy receivers and to new ones', async (t) => {
    await orm.schema.clear();
    const { address, got } = await receiver(t, (path) => (path.startsWith('/hangs') ? 'never' : 204));
    const hanging = Array.from({ length: 60 }, (_, place) => ({
      id: `hangs${place}`,
      event_types: ['x'],
      // Forty of six owners, and twenty without one.
      owner: place < 40 ? `H${place % 6}` : null,
    }));
    await subscribe(address, [...hanging, { id: 'healthy', owner: 'A' }, { id: 'new', owner: 'B' }]);
    const worker = work(t, { timeoutMs: 600_000 });
    await emit({ em: em() }, 'healthy', {});
    await until(() => got.includes('/healthy'));
    await until(async () => (await count({ status: 'waiting' })) === 0);
    for (let each = 0; each < 10; each++) await emit({ em: em() }, 'x', {}, { subject: `S/${each}` });
    await until(() => got.filter((path) => path.startsWith('/hangs')).length === 30);
    for (let each = 0; each < 20; each++) await emit({ em: em() }, 'healthy', {}, { subject: `T/${each}` });
    await until(() => got.filter((path) => path === '/healthy').length === 21);
    t.equal(got.filter((path) => path.startsWith('/hangs')).length, 30, 'three quarters of the places, one each');
    t.equal(new Set(got.filter((path) => path.startsWith('/hangs'))).size, 30);
    await worker.stop();
  });

  t.test('subscriptions that fail take half of the places at most, also those without an owner', async (t) => {
    await orm.schema.clear();
    const { address, got } = await receiver(t, (path) => (path.startsWith('/hangs') ? 'never' : 204));
    const ids = Array.from({ length: 10 }, (_, place) => `hangs${place}`);
    const hanging = ids.map((id) => ({ id, event_types: ['x'] }));
    await subscribe(address, [...hanging, { id: 'new', event_types: ['new'] }]);
    const worker = work(t, { timeoutMs: 1000, restAfter: 1000, concurrency: 8 });
    for (let each = 0; each < 100; each++) await emit({ em: em() }, 'x', {}, { subject: `S/${each}` });
    const failed = async () => (await em().findAll(WebhookSubscription)).filter(({ failures }) => failures > 0).length;
    await until(async () => (await failed()) === 10);
    const before = got.length;
    await until(() => got.length >= before + 4);
    await emit({ em: em() }, 'new', {});
    await until(() => got.includes('/new'));
    t.pass('a subscription that nothing is known of has a place');
    await worker.stop();
  });

  t.test('a stop aborts requests at once, and they are sent again', async (t) => {
    await orm.schema.clear();
    const { address, got } = await receiver(t, () => 'never');
    await subscribe(address, [{ id: 'hangs' }]);
    const worker = work(t, {}, { stopTimeoutMs: 600_000 });
    await emit({ em: em() }, 'hangs', {});
    await until(() => got.length === 1);
    await worker.stop();
    t.match(await find('hangs'), { failures: 0, failing_since: null });
    t.equal(await count({ type: DELIVERY, status: 'waiting', attempts: 0, lease: null }), 1);
    work(t, {}, { stopTimeoutMs: 1 });
    await until(() => got.length === 2);
  });

  t.test('a stop does not count as a failure of the receiver that it interrupts', async (t) => {
    await orm.schema.clear();
    const { address, got } = await receiver(t, () => 'never');
    await subscribe(address, [{ id: 'hangs' }]);
    const worker = work(t, { restAfter: 1 }, { stopTimeoutMs: 1 });
    await emit({ em: em() }, 'hangs', {});
    await until(() => got.length === 1);
    await worker.stop();
    t.match(await find('hangs'), { failures: 0, rests_until: null });
    t.equal(await count({ type: DELIVERY, status: 'waiting', attempts: 0, lease: null }), 1);
  });

  t.test('a slow fan-out has separate places', async (t) => {
    await orm.schema.clear();
    await subscribe('http://127.0.0.1:1', [{ id: 'any' }]);
    const own: string[] = [];
    let isAsked = false;
    const mayReceive = () => {
      isAsked = true;
      return new Promise<boolean>(() => {});
    };
    const worker = work(t, { mayReceive }, { handlers: { '*': ({ type }) => own.push(type) }, stopTimeoutMs: 1 });
    for (let each = 0; each < 20; each++) await emit({ em: em() }, 'any', {}, { subject: `S/${each}` });
    await until(() => own.length === 20 && isAsked);
    await until(async () => (await count({ type: 'any', status: 'delivered' })) === 20);
    await worker.stop();
  });

  t.test('a subscription that fails repeatedly is paused, and continues after a success', async (t) => {
    await orm.schema.clear();
    let isDown = true;
    const { address, got } = await receiver(t, () => (isDown ? 500 : 204));
    await subscribe(address, [{ id: 'down' }]);
    work(t, { restAfter: 3, concurrencyPerSubscription: 1 });
    for (let each = 0; each < 8; each++) await emit({ em: em() }, 'down', {}, { subject: `S/${each}` });
    await until(async () => (await find('down')).rests_until instanceof Date);
    await until(async () => (await count({ type: DELIVERY, status: 'waiting' })) === 8);
    const rest = (await find('down')).rests_until!;
    t.ok(rest.getTime() > Date.now());
    await until(async () => (await count({ type: DELIVERY, due_at: { $gte: rest } })) === 8);
    t.equal(got.length, 3);
    await emit({ em: em() }, 'down', {}, { subject: 'S/late' });
    await until(async () => (await count({ type: DELIVERY, status: 'waiting', due_at: { $gte: rest } })) === 9);

    isDown = false;
    await em().nativeUpdate(WebhookSubscription, { id: 'down' }, { rests_until: null });
    await em().nativeUpdate(OutboxEvent, { status: 'waiting' }, { due_at: new Date() });
    await until(async () => (await count({ type: DELIVERY, status: 'delivered' })) === 9);
    t.match(await find('down'), { failures: 0, failing_since: null, rests_until: null, is_enabled: true });
    t.equal(await count({ type: DELIVERY, attempts: { $gt: 4 } }), 0, 'a rest is no attempt');
  });

  t.test('a subscription without a success for days is disabled, and its owner gets an event', async (t) => {
    await orm.schema.clear();
    const { address, got } = await receiver(t, (path) => (path === '/dead' ? 500 : 204));
    const old = { failures: 9, failing_since: new Date(Date.now() - 6 * 24 * HOUR_MS) };
    await subscribe(address, [
      { id: 'dead', owner: 'A', ...old },
      { id: 'mine', owner: 'A', event_types: ['webhook_subscription.*'] },
      { id: 'foreign', owner: 'B', event_types: ['*'] },
    ]);
    const own: unknown[] = [];
    work(t, {}, { handlers: { 'webhook_subscription.disabled': ({ payload }) => own.push(payload) } });
    await emit({ em: em() }, 'dead', {});
    await until(async () => got.includes('/mine') && own.length === 1);
    t.match(await find('dead'), { is_enabled: false, disabled_reason: /^no delivery has succeeded since 2/ });
    t.match(own, [{ id: 'dead', url: `${address}/dead`, owner: 'A', reason: /^no delivery has succeeded since/ }]);
    await until(async () => (await count({ status: 'waiting', type: { $ne: DELIVERY } })) === 0);
    t.strictSame(
      got.filter((path) => path === '/foreign'),
      ['/foreign'],
      'other owners get the event "dead" only',
    );
  });

  for (const [name, status, change, expected] of [
    ['a failure of the old URL', 500, { url: '/new' }, { is_enabled: true, failures: 0, failing_since: null }],
    ['a 410 of the old URL', 410, { url: '/new' }, { is_enabled: true, failures: 0, failing_since: null }],
    [
      'a failure from before the subscription was enabled again',
      500,
      { is_enabled: true },
      { is_enabled: true, failures: 0, failing_since: null, disabled_reason: null },
    ],
  ] as const) {
    t.test(`${name} does not count once the owner has changed the subscription`, async (t) => {
      await orm.schema.clear();
      const app = await testApp(t, orm, [new Router().register('webhooks', Webhooks)]);
      const headers = { 'x-user': 'Ada' };
      let id = '';
      const server = fastify();
      server.post('/*', async (request, reply) => {
        if (request.url === '/new') return reply.code(204).send();
        const { url, ...rest }: { url?: string; is_enabled?: boolean } = change;
        if (rest.is_enabled) await em().nativeUpdate(WebhookSubscription, { id }, { is_enabled: false });
        const payload = { ...rest, ...(url && { url: address + url }) };
        const changed = await app.inject({ method: 'PATCH', url: `/webhooks/${id}`, payload, headers });
        t.equal(changed.statusCode, 200);
        return reply.code(status).send();
      });
      const address = await server.listen({ port: 0, host: '127.0.0.1' });
      t.teardown(() => server.close());
      const payload = { url: `${address}/old`, event_types: ['a'] };
      id = (await app.inject({ method: 'POST', url: '/webhooks', payload, headers })).json().id;
      const failing_since = new Date(Date.now() - 6 * 24 * HOUR_MS);
      await em().nativeUpdate(WebhookSubscription, { id }, { failures: 40, failing_since });
      work(t, {}, { maxAttempts: 1 });
      await emit({ em: em() }, 'a', {});
      await until(async () => (await count({ type: DELIVERY, status: { $in: ['dead', 'delivered'] } })) === 1);
      t.match(await find(id), expected);
    });
  }

  t.test('what waits for a subscription that is disabled is not lost', async (t) => {
    await orm.schema.clear();
    const { address, got } = await receiver(t, () => 204);
    const app = await testApp(t, orm, [new Router().register('webhooks', Webhooks)]);
    const headers = { 'x-user': 'Ada' };
    const url = `${address}/a`;
    const made = await app.inject({ method: 'POST', url: '/webhooks', payload: { url, event_types: ['a'] }, headers });
    const { id } = made.json<{ id: string }>();
    const later = new Date(Date.now() + HOUR_MS);
    await em().nativeUpdate(WebhookSubscription, { id }, { failures: 50, rests_until: later });
    work(t);
    for (let each = 0; each < 3; each++) await emit({ em: em() }, 'a', { each }, { subject: 'S/1' });
    await until(async () => (await count({ type: DELIVERY, status: 'waiting' })) === 3);
    await em().nativeUpdate(WebhookSubscription, { id }, { is_enabled: false, rests_until: null });
    await em().nativeUpdate(OutboxEvent, { type: DELIVERY }, { due_at: new Date() });
    await until(async () => (await count({ type: DELIVERY, status: 'waiting' })) === 0);
    t.equal(await count({ type: DELIVERY, status: 'dead', last_error: 'the subscription is disabled' }), 3);
    t.equal(got.length, 0);
    const change = { method: 'PATCH', url: `/webhooks/${id}`, payload: { is_enabled: true }, headers } as const;
    t.equal((await app.inject(change)).statusCode, 200);
    const payload = { since: new Date(Date.now() - HOUR_MS).toISOString() };
    const again = await app.inject({ method: 'POST', url: `/webhooks/${id}/send-again`, payload, headers });
    t.match(again.json(), { count: 3 });
    await until(() => got.length === 3);
  });

  t.test('Retry-After puts off all deliveries of the subscription', async (t) => {
    await orm.schema.clear();
    const { address, got } = await receiver(t, () => [429, { 'retry-after': '1800' }]);
    await subscribe(address, [{ id: 'busy' }]);
    work(t, { concurrencyPerSubscription: 1 });
    for (let each = 0; each < 3; each++) await emit({ em: em() }, 'busy', {}, { subject: `S/${each}` });
    await until(
      async () => (await count({ type: DELIVERY, due_at: { $gt: new Date(Date.now() + HOUR_MS / 3) } })) === 3,
    );
    t.equal(got.length, 1);
    const { rests_until: until_ } = await find('busy');
    t.ok(Math.abs(until_!.getTime() - Date.now() - HOUR_MS / 2) < 60_000);
  });

  t.test('owners send old events again, end a rest, and have a bounded number of webhooks', async (t) => {
    await orm.schema.clear();
    let isDown = true;
    const { address, got } = await receiver(t, () => (isDown ? 500 : 204));
    const app = await testApp(t, orm, [new Router().register('webhooks', Webhooks)]);
    const ada = { 'x-user': 'Ada' };
    const send = async (method: 'POST' | 'PATCH', path: string, payload: object, headers = ada) =>
      app.inject({ method, url: `/webhooks${path}`, payload, headers });
    const { id } = (await send('POST', '', { url: `${address}/a`, event_types: ['a'] })).json();
    const worker = work(t, { restAfter: 100 }, { maxAttempts: 2 });
    const ids: string[] = [];
    for (let each = 0; each < 3; each++) ids.push(await emit({ em: em() }, 'a', { each }));
    await until(async () => (await count({ type: DELIVERY, status: 'dead' })) === 3);
    isDown = false;
    const before = got.length;
    t.match((await send('POST', `/${id}/send-again`, { event: ids[1] })).json(), { count: 1 });
    await until(() => got.length === before + 1);
    await until(async () => (await count({ type: DELIVERY, status: 'delivered' })) === 1);
    t.equal((await send('POST', `/${id}/send-again`, { event: ids[1] })).statusCode, 200, 'a delivered one too');
    await until(() => got.length === before + 2);
    const since = new Date(Date.now() - HOUR_MS).toISOString();
    t.match((await send('POST', `/${id}/send-again`, { since })).json(), { count: 2 });
    await until(async () => (await count({ type: DELIVERY, status: 'delivered' })) === 3);
    for (const [body, status] of [
      [{}, 400],
      [{ event: ids[0], since }, 400],
      [{ since: 'yesterday' }, 400],
      [{ event: 'unknown' }, 404],
    ] as const) {
      t.equal((await send('POST', `/${id}/send-again`, body)).statusCode, status, JSON.stringify(body));
    }
    t.equal((await send('POST', `/${id}/send-again`, { event: ids[0] }, { 'x-user': 'Grace' })).statusCode, 404);
    await worker.stop();

    const rest = new Date(Date.now() + HOUR_MS);
    await em().nativeUpdate(
      WebhookSubscription,
      { id },
      { failures: 12, failing_since: new Date(), rests_until: rest },
    );
    await em().nativeUpdate(OutboxEvent, { type: DELIVERY }, { status: 'waiting', due_at: rest });
    const changed = await send('PATCH', `/${id}`, { url: `${address}/b` });
    t.match(changed.json(), { rests_until: null, failing_since: null });
    t.equal(await count({ type: DELIVERY, due_at: { $lte: new Date() } }), 3);
    await send('PATCH', `/${id}`, { is_enabled: false });
    t.equal((await send('POST', `/${id}/send-again`, { since })).statusCode, 409);

    const payload = { url: `${address}/c`, event_types: ['a'] };
    for (const status of [201, 201, 409, 409]) t.equal((await send('POST', '', payload)).statusCode, status);
    t.equal((await send('POST', '', payload, { 'x-user': 'Grace' })).statusCode, 201, 'of each owner');
  });
});

t.test('Retry-After is seconds or a date', async (t) => {
  const now = Date.now();
  t.ok(Math.abs(retryAfterMs('120') - now - 120_000) < 60_000);
  t.equal(retryAfterMs('Wed, 21 Oct 2065 07:28:00 GMT'), Date.UTC(2065, 9, 21, 7, 28));
  for (const wrong of [undefined, '', 'soon', '-5', '1e400']) t.equal(retryAfterMs(wrong), 0, String(wrong));
});
