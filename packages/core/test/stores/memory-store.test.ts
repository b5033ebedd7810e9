// Needs a process of its own: it measures the heap.
import { spawnSync } from 'node:child_process';
import { mock } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { ImproperlyConfigured } from '../../src/errors/errors.ts';
import { MemoryStore } from '../../src/stores/memory-store.ts';
import { testStore } from './store-suite.ts';

/** A store whose clock the test moves. */
function storeAt(options: { maxCounterBytes?: number; maxValueBytes?: number } = {}): {
  store: MemoryStore;
  clock: { now: number };
} {
  const clock = { now: 1_000_000 };
  return { clock, store: new MemoryStore({ ...options, clock: () => clock.now }) };
}

/** Numbers that are the same on every run. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

t.test('the memory store', async (t) => testStore(t, new MemoryStore()));

t.test('it returns values, not promises', async (t) => {
  const store = new MemoryStore();
  t.type(store.hit('key', 1, 1000).allowed, 'boolean');
  t.equal(store.put('key', 'value', 1000), true);
});

t.test('a hit expires exactly one window after it was made', async (t) => {
  const { store, clock } = storeAt();
  store.hit('key', 1, 1000);
  clock.now += 999;
  t.match(store.hit('key', 1, 1000), { allowed: false, retryAfterMs: 1, resetMs: 1 });
  clock.now += 1;
  t.match(store.hit('key', 1, 1000), { allowed: true, retryAfterMs: 0, resetMs: 1000 });
});

t.test('a clock with fractions does not make a wait longer than its window', async (t) => {
  const { store, clock } = storeAt();
  const waits = new Set<number>();
  for (let step = 0; step < 100; step++) {
    clock.now += 0.1;
    waits.add(store.hit(`key ${step}`, 1, 60_000).resetMs);
  }
  t.same([...waits], [60_000]);
});

t.test('it agrees with a simple model for random calls', async (t) => {
  const { store, clock } = storeAt();
  const random = randomNumbers(42);
  const recorded = new Map<string, number[]>();
  const windowMs = 1000;
  for (let step = 0; step < 20_000; step++) {
    if (random(4) === 0) clock.now += random(400);
    const [key, limit, action] = [`key ${random(5)}`, 1 + random(9), random(8)];
    const times = (recorded.get(key) ?? []).filter((time) => time + windowMs > clock.now);
    const allowed = times.length < limit;
    if (action === 0 && times.length > 0) {
      const stamp = times[random(times.length)]!;
      times.splice(times.lastIndexOf(stamp), 1);
      store.undo(key, stamp);
    } else {
      if (action > 1 && allowed) times.push(clock.now);
      const result = action > 1 ? store.hit(key, limit, windowMs) : store.peek(key, limit, windowMs);
      const leaver = times[Math.max(0, times.length - limit)];
      const resetMs = leaver === undefined ? 0 : leaver + windowMs - clock.now;
      const remaining = Math.max(0, limit - times.length);
      const expected = { allowed, remaining, retryAfterMs: allowed ? 0 : resetMs, resetMs, stamp: clock.now };
      if (!isDeepStrictEqual(result, expected)) t.same(result, expected, `step ${step}`);
    }
    recorded.set(key, times);
  }
});

t.test('expired entries make room as new ones come', async (t) => {
  const { store, clock } = storeAt();
  for (let i = 0; i < 1000; i++) store.hit(`old ${i}`, 5, 60_000);
  clock.now += 60_000;
  for (let i = 0; i < 1000; i++) store.hit(`new ${i}`, 5, 60_000);
  t.equal(store.size, 1000);
});

t.test('expired entries go by themselves, a batch at a time', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const { store, clock } = storeAt();
  for (let i = 0; i < 7000; i++) store.hit(`counter ${i}`, 5, 1000);
  store.put('value', 'v', 1000);
  clock.now += 1000;
  mock.timers.tick(10_000);
  t.equal(store.size, 2000, 'no sweep holds others up for long');
  mock.timers.tick(1);
  t.equal(store.size, 0);
});

t.test('it does not keep the process alive', async (t) => {
  const store = new URL('../../src/stores/memory-store.ts', import.meta.url).href;
  const source = `import { MemoryStore } from '${store}'; new MemoryStore().hit('key', 1, 600_000);`;
  const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', source], { timeout: 5000 });
  t.equal(status, 0);
});

t.test('a million clients take no more memory than they may', async (t) => {
  const maxCounterBytes = 32 * 2 ** 20;
  const store = new MemoryStore({ maxCounterBytes });
  const before = heapBytes();
  const startedAt = performance.now();
  for (let i = 0; i < 1_000_000; i++) {
    store.hit(`app:0:IPRateLimit:10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, 100, 60_000);
  }
  const each = ((performance.now() - startedAt) * 1000) / 1_000_000;
  const taken = heapBytes() - before;
  t.comment(
    `${store.size} of 1,000,000 clients kept in ${(taken / 2 ** 20).toFixed(1)} MiB, ${each.toFixed(2)} µs each`,
  );
  t.ok(taken < maxCounterBytes * 1.25, `${taken} bytes`);
  t.ok(taken > maxCounterBytes * 0.75, 'the estimate is not far off');
});

t.test('if there is no room, the entries that expire first are removed first', async (t) => {
  const { store, clock } = storeAt({ maxCounterBytes: 50_000 });
  store.hit('long', 1, 600_000);
  for (let i = 0; i < 10_000; i++) {
    clock.now += 0.001;
    store.hit(`flood ${i}`, 1, 60_000);
  }
  t.ok(store.size > 100 && store.size < 250, `${store.size} are kept`);
  t.notOk(store.peek('long', 1, 600_000).allowed, 'a long window survives the flood');
  t.notOk(store.peek('flood 9999', 1, 60_000).allowed, 'and so do the newest');
  t.ok(store.peek('flood 0', 1, 60_000).allowed);
});

t.test('a hit keeps its counter from being the first to go', async (t) => {
  const { store, clock } = storeAt({ maxCounterBytes: 50_000 });
  for (let i = 0; i < 1000; i++) {
    clock.now += 1;
    store.hit('busy', 2000, 60_000);
    store.hit(`flood ${i}`, 1, 60_000);
  }
  t.equal(store.peek('busy', 2000, 60_000).remaining, 1000);
});

t.test('values have a separate limit', async (t) => {
  const { store } = storeAt({ maxCounterBytes: 10_000, maxValueBytes: 10_000 });
  store.put('code', 'value', 600_000);
  for (let i = 0; i < 1000; i++) store.hit(`flood ${i}`, 1, 60_000);
  t.match(store.take('code', 'value', 5), { outcome: 'matched' });
  for (let i = 0; i < 1000; i++) store.put(`code ${i}`, 'value', 600_000 + i);
  t.match(store.take('code 999', 'value', 5), { outcome: 'matched' });
  t.match(store.take('code 0', 'value', 5), { outcome: 'missing' });
});

t.test('wrong options are refused', async (t) => {
  t.throws(() => new MemoryStore({ maxBytes: 1 } as object), ImproperlyConfigured);
  for (const maxCounterBytes of [0, -1, 1.5, Number.NaN, '64' as unknown as number]) {
    t.throws(() => new MemoryStore({ maxCounterBytes }), { message: /maxCounterBytes" must be a positive integer/ });
  }
});
