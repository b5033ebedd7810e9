import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import type { HitResult, Store, TakeResult } from '../../src/stores/store.ts';

const WINDOW_MS = 300;
/** A window that a pause of the machine does not outlast. */
const PATIENT_MS = 1000;

/** Waits until so many milliseconds have passed. A timer alone may fire up to two too early. */
async function passed(since: number, ms: number): Promise<void> {
  for (let left = ms; left >= 0; left = ms - (performance.now() - since)) await sleep(left);
}

/** What every store must do, whatever it is made of. `store` is empty, and nobody else uses it. */
export function testStore(t: Test, store: Store): void {
  t.test('hits up to the limit are allowed, and the next is not', async (t) => {
    const results: HitResult[] = [];
    for (let i = 0; i < 5; i++) results.push(await store.hit('limit', 3, 60_000));
    t.same(
      results.map((result) => result.allowed),
      [true, true, true, false, false],
    );
    t.same(
      results.map((result) => result.remaining),
      [2, 1, 0, 0, 0],
    );
    t.same(
      results.map((result) => result.retryAfterMs > 0),
      [false, false, false, true, true],
    );
    for (const { resetMs } of results) {
      t.ok(resetMs > 59_000 && resetMs <= 60_000, 'the first hit leaves after a window');
    }
    t.equal(results[4]!.retryAfterMs, results[4]!.resetMs, 'refused: the wait and the reset are one moment');
  });

  t.test('waiting for retryAfterMs succeeds, and not much less does', async (t) => {
    await store.hit('wait', 2, PATIENT_MS);
    await sleep(100);
    await store.hit('wait', 2, PATIENT_MS);
    const askedAt = performance.now();
    const refused = await store.hit('wait', 2, PATIENT_MS);
    const refusedAt = performance.now();
    t.notOk(refused.allowed);
    t.ok(refused.retryAfterMs <= PATIENT_MS - 95, 'the oldest hit decides');
    await sleep(refused.retryAfterMs / 2);
    const early = await store.hit('wait', 2, PATIENT_MS);
    if (performance.now() - askedAt < refused.retryAfterMs) t.notOk(early.allowed, 'this does not prolong the wait');
    await passed(refusedAt, refused.retryAfterMs);
    const last = early.allowed ? early : await store.hit('wait', 2, PATIENT_MS);
    t.ok(last.allowed);
  });

  t.test('a window that slides holds no more than the limit, wherever it begins', async (t) => {
    const allowed: { readonly before: number; readonly after: number }[] = [];
    const wrongly: number[] = [];
    const until = performance.now() + 4 * WINDOW_MS;
    while (performance.now() < until) {
      const before = performance.now();
      if ((await store.hit('slide', 4, WINDOW_MS)).allowed) allowed.push({ before, after: performance.now() });
      else if (allowed.filter(({ after }) => after > before - WINDOW_MS - 1).length < 4) wrongly.push(before);
      await sleep(5);
    }
    t.ok(allowed.length >= 4);
    t.same(wrongly, [], 'none is refused while there is room');
    // The hit itself was somewhere between before and after.
    const spans = allowed.slice(4).map(({ after }, place) => after - allowed[place]!.before);
    t.ok(
      spans.every((span) => span >= WINDOW_MS),
      spans.join(' '),
    );
  });

  t.test('of many concurrent hits exactly the limit is allowed', async (t) => {
    const results = await Promise.all(Array.from({ length: 200 }, async () => store.hit('burst', 70, 60_000)));
    t.equal(results.filter((result) => result.allowed).length, 70);
  });

  t.test('keys do not share a counter', async (t) => {
    await store.hit('one', 1, 60_000);
    t.ok((await store.hit('two', 1, 60_000)).allowed);
  });

  t.test('a limit that was lowered refuses until enough hits have left', async (t) => {
    await store.hit('lowered', 3, WINDOW_MS);
    await sleep(200);
    const lastAt = performance.now();
    await store.hit('lowered', 3, WINDOW_MS);
    const refused = await store.hit('lowered', 1, WINDOW_MS);
    const refusedAt = performance.now();
    t.equal(refused.remaining, 0);
    t.ok(refused.retryAfterMs >= WINDOW_MS - (refusedAt - lastAt) - 1, 'the last hit decides');
    await passed(refusedAt, refused.retryAfterMs);
    t.ok((await store.hit('lowered', 1, WINDOW_MS)).allowed);
  });

  t.test('peek returns the result of a hit, and does not count', async (t) => {
    t.match(await store.peek('peek', 1, 60_000), { allowed: true, remaining: 1, retryAfterMs: 0, resetMs: 0 });
    await store.hit('peek', 1, 60_000);
    const full = await store.peek('peek', 1, 60_000);
    t.match(full, { allowed: false, remaining: 0 });
    t.ok(full.retryAfterMs > 59_000);
    t.ok((await store.hit('peek', 2, 60_000)).allowed, 'two peeks and one hit leave room for one');
  });

  t.test('undo takes back one hit, and only that one', async (t) => {
    await store.hit('undo', 3, 60_000);
    const second = await store.hit('undo', 3, 60_000);
    const third = await store.hit('undo', 3, 60_000);
    await store.undo('undo', second.stamp);
    t.equal((await store.peek('undo', 3, 60_000)).remaining, 1);
    await store.undo('undo', second.stamp + 1e6);
    t.equal((await store.peek('undo', 3, 60_000)).remaining, 1, 'a stamp that is not there changes nothing');
    await store.undo('undo', third.stamp);
    t.equal((await store.peek('undo', 3, 60_000)).remaining, 2);
    await store.undo('never-hit', third.stamp);
  });

  t.test('a value is taken once', async (t) => {
    t.equal(await store.put('code', '0123', 60_000), true);
    const taken = (await store.take('code', '0123', 5)) as TakeResult & { outcome: 'matched' };
    t.match(taken, { outcome: 'matched', tries: 0 });
    t.ok(taken.ttlMs > 59_000 && taken.ttlMs <= 60_000);
    t.same(await store.take('code', '0123', 5), { outcome: 'missing' });
  });

  t.test('of many concurrent takes exactly one succeeds', async (t) => {
    await store.put('race', 'value', 60_000);
    const results = await Promise.all(Array.from({ length: 100 }, async () => store.take('race', 'value', 5)));
    t.equal(results.filter((result) => result.outcome === 'matched').length, 1);
    t.equal(results.filter((result) => result.outcome === 'missing').length, 99);
  });

  t.test('the last wrong try voids the value', async (t) => {
    await store.put('tries', 'right', 60_000);
    for (let i = 0; i < 4; i++) t.same(await store.take('tries', `wrong ${i}`, 5), { outcome: 'mismatched' });
    t.match(
      await store.take('tries', 'right', 5),
      { outcome: 'matched', tries: 4 },
      'the fifth try may still be right',
    );

    await store.put('tries', 'right', 60_000);
    for (let i = 0; i < 5; i++) t.same(await store.take('tries', 'wrong', 5), { outcome: 'mismatched' });
    t.same(await store.take('tries', 'right', 5), { outcome: 'missing' });
  });

  t.test('wrong tries at once are all counted', async (t) => {
    await store.put('guess', 'right', 60_000);
    const results = await Promise.all(Array.from({ length: 50 }, async () => store.take('guess', 'wrong', 5)));
    t.equal(results.filter((result) => result.outcome === 'mismatched').length, 5);
    t.same(await store.take('guess', 'right', 5), { outcome: 'missing' });
  });

  t.test('a value that is put again starts with no tries, and one put back keeps its tries', async (t) => {
    await store.put('again', 'old', 60_000);
    await store.take('again', 'wrong', 5);
    await store.put('again', 'new', 60_000);
    t.match(await store.take('again', 'old', 5), { outcome: 'mismatched' });
    t.match(await store.take('again', 'new', 5), { outcome: 'matched', tries: 1 });
    await store.put('again', 'new', 60_000, { tries: 4 });
    t.same(await store.take('again', 'wrong', 5), { outcome: 'mismatched' });
    t.same(await store.take('again', 'new', 5), { outcome: 'missing' });
    await store.put('again', 'new', 60_000, { tries: 5 });
    t.same(await store.take('again', 'new', 5), { outcome: 'missing' }, 'put back with no tries left');
  });

  t.test('onlyIfAbsent does not replace an existing value', async (t) => {
    t.equal(await store.put('absent', 'first', 60_000, { onlyIfAbsent: true }), true);
    t.equal(await store.put('absent', 'second', 60_000, { onlyIfAbsent: true }), false);
    t.match(await store.take('absent', 'first', 5), { outcome: 'matched' });
    t.equal(await store.put('absent', 'third', 60_000, { onlyIfAbsent: true }), true);
  });

  t.test('a value expires, and wrong tries do not prolong it', async (t) => {
    await store.put('expires', 'value', PATIENT_MS);
    const putAt = performance.now();
    await sleep(150);
    t.same(await store.take('expires', 'wrong', 5), { outcome: 'mismatched' });
    await passed(putAt, PATIENT_MS);
    t.same(await store.take('expires', 'value', 5), { outcome: 'missing' });
    t.equal(await store.put('expires', 'next', 60_000, { onlyIfAbsent: true }), true);
  });

  t.test('remove deletes the given key or value', async (t) => {
    t.equal(await store.remove('gone'), false);
    await store.put('gone', 'a:b', 60_000);
    t.equal(await store.remove('gone', 'b'), false, 'another value');
    t.equal(await store.remove('gone', 'a:b'), true);
    t.same(await store.take('gone', 'a:b', 5), { outcome: 'missing' });
    await store.put('gone', 'c', 60_000);
    t.equal(await store.remove('gone'), true);
    t.equal(await store.remove('gone', 'c'), false);
  });

  t.test('read returns a value, leaves it, and counts no try', async (t) => {
    t.equal(await store.read('seen'), undefined);
    await store.put('seen', 'a:b', 60_000, { tries: 3 });
    for (let round = 0; round < 6; round++) t.equal(await store.read('seen'), 'a:b');
    t.match(await store.take('seen', 'a:b', 5), { outcome: 'matched', tries: 3 });
    t.equal(await store.read('seen'), undefined);
  });

  t.test('any text can be a key and a value, and counters and values do not share keys', async (t) => {
    for (const text of ['', ' ', ':', '{tag}', 'a:b:c', 'é\u{1F600}', '%s "quoted"\n', 'x'.repeat(5000)]) {
      t.ok((await store.hit(text, 1, 60_000)).allowed);
      t.equal(await store.put(text, text, 60_000), true);
      t.match(await store.take(text, text, 1), { outcome: 'matched' });
      t.notOk((await store.hit(text, 1, 60_000)).allowed);
    }
  });
}
