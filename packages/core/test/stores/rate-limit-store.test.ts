/** Runs @fastify/rate-limit itself on our stores, and shows why our rules do not stand on it. */
import rateLimit from '@fastify/rate-limit';
import { fastify } from 'fastify';
import t, { type Test } from 'tap';
import { MemoryStore, rateLimitStore } from '../../src/index.ts';

/** A store whose clock the test moves. */
function storeAt(t: Test) {
  const clock = { now: 1_000_000 };
  const store = new MemoryStore({ clock: () => clock.now });
  t.teardown(() => store.close());
  return { store, clock };
}

t.test('in any span of one window at most the limit is allowed', async (t) => {
  const { store, clock } = storeAt(t);
  const app = fastify();
  t.teardown(() => app.close());
  await app.register(rateLimit, { max: 2, timeWindow: 60_000, store: rateLimitStore(store) });
  app.get('/', async () => 'ok');
  app.get('/own', { config: { rateLimit: { max: 1, timeWindow: 1000 } } }, async () => 'ok');
  const statusOf = async (url: string) => (await app.inject(url)).statusCode;
  t.equal(await statusOf('/'), 200);
  clock.now += 59_000;
  t.equal(await statusOf('/'), 200);
  const refused = await app.inject('/');
  t.equal(refused.statusCode, 429);
  t.equal(refused.headers['retry-after'], '1', 'the wait is that of the oldest request');
  t.equal(await statusOf('/own'), 200, 'a route has a counter of its own');
  t.equal(await statusOf('/own'), 429);
  clock.now += 1000;
  t.equal(await statusOf('/'), 200);
  t.equal(await statusOf('/'), 429, 'a fixed window would let two pass here');
});

t.test('a store that fails is an error, or allows the request with skipOnError', async (t) => {
  class Down extends MemoryStore {
    override hit(): never {
      throw new Error('down');
    }
  }
  for (const [skipOnError, status] of [
    [false, 500],
    [true, 200],
  ] as const) {
    const app = fastify();
    t.teardown(() => app.close());
    await app.register(rateLimit, { max: 1, skipOnError, store: rateLimitStore(new Down()) });
    app.get('/', async () => 'ok');
    t.equal((await app.inject('/')).statusCode, status);
  }
});

t.test('if one of several limits refuses, hits of the limits before it are not undone', async (t) => {
  const { store } = storeAt(t);
  const app = fastify();
  t.teardown(() => app.close());
  await app.register(rateLimit, { global: false, store: rateLimitStore(store) });
  const byAddress = app.createRateLimit({ max: 2, timeWindow: 60_000, routeInfo: { url: 'address' } } as object);
  const byTenant = app.createRateLimit({
    max: 1,
    timeWindow: 60_000,
    keyGenerator: (request) => String(request.headers['x-tenant']),
  });
  app.get('/', async (request) => {
    for (const limit of [byAddress, byTenant]) {
      const result = await limit(request);
      if (!result.isAllowed && result.isExceeded) return { passed: false };
    }
    return { passed: true };
  });
  const passes = async (tenant: string) =>
    (await app.inject({ url: '/', headers: { 'x-tenant': tenant } })).json().passed as boolean;
  t.equal(await passes('a'), true);
  t.equal(await passes('a'), false, 'the tenant has asked');
  t.equal(await passes('b'), false, 'though only one request of two has passed; with our rules it is true');
});
