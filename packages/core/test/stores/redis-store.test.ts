import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { ImproperlyConfigured } from '../../src/errors/errors.ts';
import { RedisStore } from '../../src/stores/redis-store.ts';
import { StoreUnavailable } from '../../src/stores/store.ts';
import { redisClient, withRedisServer, withRedis } from '../support/redis.ts';
import { testStore } from './store-suite.ts';

const prefix = `viewset-test-${process.pid}-${Date.now()}:`;

/** For tests of what Redis answers, and not of how long it takes. */
const PATIENT = { timeoutMs: 60_000 };

withRedis(t, 'the Redis store', async (t, url) => {
  testStore(t, new RedisStore(redisClient(t, url), { prefix, ...PATIENT }));
});

withRedis(t, 'the Redis store, on a client with a key prefix and numbers as text', async (t, url) => {
  testStore(
    t,
    new RedisStore(redisClient(t, url, { keyPrefix: `${prefix}own:`, stringNumbers: true, protocol: 2 }), PATIENT),
  );
});

withRedisServer(t, 'keys expire, and a counter is compact', async (t, redis) => {
  const client = redisClient(t, redis.url);
  const store = new RedisStore(client, PATIENT);
  for (let i = 0; i < 1000; i++) await store.hit('client', 1000, 60_000);
  const ttlMs = await client.pttl('viewset:hits:client');
  t.ok(ttlMs > 59_000 && ttlMs <= 61_000, `${ttlMs}`);
  const bytes = Number(await client.memory('USAGE', 'viewset:hits:client', 'SAMPLES', 0));
  t.comment(`a log of 1000 hits takes ${bytes} bytes in Redis`);
  t.ok(bytes < 16_000);
  await store.put('code', 'value', 500);
  t.ok((await client.pttl('viewset:value:code')) <= 500);
  await sleep(510);
  t.same(await client.keys('*code*'), []);
});

withRedisServer(t, 'it goes on when the server has forgotten the scripts', async (t, redis) => {
  const client = redisClient(t, redis.url);
  const store = new RedisStore(client, PATIENT);
  await store.hit('key', 2, 60_000);
  await client.script('FLUSH');
  t.equal((await store.hit('key', 2, 60_000)).remaining, 0);
});

withRedisServer(
  t,
  'a clock that steps back never lets more through, nor stops for more than a window',
  async (t, redis) => {
    const client = redisClient(t, redis.url);
    const store = new RedisStore(client, PATIENT);
    const nowUs = Date.now() * 1000;
    await client.rpush('viewset:hits:skew', nowUs - 10_000, nowUs + 500_000);
    const hit = await store.hit('skew', 3, 1000);
    t.ok(hit.allowed && hit.remaining === 0);
    const refused = await store.hit('skew', 3, 1000);
    t.ok(!refused.allowed && refused.retryAfterMs > 0 && refused.retryAfterMs <= 1000);
    t.same((await client.lrange('viewset:hits:skew', -1, -1))[0], String(nowUs + 500_000), 'time stood still');

    await client.rpush('viewset:hits:far', nowUs + 5_000_000);
    t.match(await store.hit('far', 1, 1000), { allowed: true }, 'from further than a window ahead: discarded');
  },
);

withRedisServer(t, 'a server that is gone is an error at once, and is found when it is back', async (t, redis) => {
  const client = redisClient(t, redis.url);
  // Waiting would take longer than the test may.
  const store = new RedisStore(client, { timeoutMs: 600_000 });
  await store.hit('key', 5, 60_000);
  await redis.kill();
  await sleep(100);
  const calls = [
    store.hit('key', 5, 60_000),
    store.peek('key', 5, 60_000),
    store.undo('key', 1),
    store.put('key', 'value', 1000),
    store.take('key', 'value', 5),
    store.remove('key'),
    store.remove('key', 'value'),
  ];
  for (const result of await Promise.allSettled<unknown>(calls)) {
    t.ok(result.status === 'rejected' && result.reason instanceof StoreUnavailable);
  }
  await redis.start();
  await untilReady(client);
  t.ok((await store.hit('key', 5, 60_000)).allowed);
});

withRedisServer(t, 'a server that never was there is an error in time', async (t, redis) => {
  await redis.kill();
  const client = redisClient(t, redis.url);
  const store = new RedisStore(client, { timeoutMs: 200 });
  await t.rejects(store.hit('key', 5, 60_000), StoreUnavailable);
  await redis.start();
  await untilReady(client);
  t.ok((await store.hit('key', 5, 60_000)).allowed);
});

withRedisServer(t, 'a server that falls silent costs one wait, not one a request', async (t, redis) => {
  const client = redisClient(t, redis.url);
  const store = new RedisStore(client, { timeoutMs: 500 });
  await store.hit('key', 500, 60_000);
  redis.freeze();
  await t.rejects(store.hit('key', 500, 60_000), { cause: { message: 'Redis did not answer within 500 ms' } });
  const reasons: { message: string }[] = [];
  const hits = Array.from({ length: 50 }, () =>
    store.hit('key', 500, 60_000).catch((error: unknown) => void reasons.push((error as { cause: Error }).cause)),
  );
  await Promise.all(hits);
  const messages = reasons.map(({ message }) => message);
  t.equal(messages.indexOf('Redis did not answer within 500 ms'), 49, 'one tries, and is the last to be answered');
  t.equal(messages.lastIndexOf('Redis does not answer'), 48, 'the others do not wait for it');
  redis.thaw();
  await sleep(200);
  t.ok((await store.hit('key', 500, 60_000)).allowed, 'a late answer is an answer: it is back without a trial');
});

withRedisServer(t, 'a pause of this process is not taken for silence', async (t, redis) => {
  const store = new RedisStore(redisClient(t, redis.url), { timeoutMs: 100 });
  await store.hit('key', 5, 60_000);
  const pending = store.hit('key', 5, 60_000);
  await new Promise((resolve) => setImmediate(resolve));
  const until = performance.now() + 300;
  while (performance.now() < until);
  t.ok((await pending).allowed);
});

withRedisServer(t, 'an error of the server is an error of the store', async (t, redis) => {
  const client = redisClient(t, redis.url);
  const store = new RedisStore(client);
  await client.set('viewset:hits:string', 'no list');
  await t.rejects(store.hit('string', 5, 60_000), {
    name: 'StoreUnavailable',
    statusCode: 503,
    cause: { message: /WRONGTYPE/ },
  });
  t.ok((await store.hit('other', 5, 60_000)).allowed);
});

t.test('wrong arguments are refused', async (t) => {
  const client = { status: 'ready', call: async () => null };
  t.throws(() => new RedisStore('redis://localhost' as never), {
    message: /option "client" must be a Redis or Cluster of ioredis/,
  });
  t.throws(() => new RedisStore(client, { timeout: 5 } as object), {
    message: /unknown option "timeout"; did you mean "timeoutMs"/,
  });
  t.throws(() => new RedisStore(client, { timeoutMs: 0 }), ImproperlyConfigured);
  t.throws(() => new RedisStore(client, { prefix: 5 as never }), ImproperlyConfigured);
});

async function untilReady(client: { status: string }): Promise<void> {
  while (client.status !== 'ready') await sleep(10);
}
