import { ServiceUnavailable } from '@viewset/core';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { inBcryptQueue } from '../src/passwords/bcrypt-queue.ts';

const limit = Math.max(1, Math.min(3, availableParallelism()));

t.test('only a few run concurrently, in the order of arrival, and a failure delays no other', async (t) => {
  let running = 0;
  let most = 0;
  const order: number[] = [];
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, (_, index) =>
      inBcryptQueue(async () => {
        most = Math.max(most, ++running);
        order.push(index);
        await sleep(1);
        running--;
        if (index === 3) throw new Error('three');
        return index;
      }),
    ),
  );
  t.equal(most, limit);
  t.strictSame(
    order,
    order.toSorted((a, b) => a - b),
  );
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 19);
});

t.test('excess calls are rejected immediately, and queued ones still run', async (t) => {
  let served = 0;
  const calls = Array.from({ length: limit * 300 }, () =>
    inBcryptQueue(async () => {
      await sleep(0);
      served++;
    }).catch((error: unknown) => error),
  );
  const refused = (await Promise.all(calls)).filter((error) => error !== undefined);
  t.equal(refused.length, limit * 300 - limit * 257);
  t.ok(refused.every((error) => error instanceof ServiceUnavailable));
  t.equal(served, limit * 257);
});
