import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import type { Shop } from '../test/support/shop.ts';
import type { Arena } from './arena.ts';
import type { Phase } from './phase.ts';

/** How long a store stays away, and how long all has to be well after that. */
export const DOWN_MS = 3000;
export const AFTER_MS = 4500;

/** A way of a database to go and to come back. */
export interface DatabaseFault {
  /** The name of its health check. */
  readonly check: string;
  readonly down: () => Promise<void> | void;
  /** Resolves when the database responds again. */
  readonly up: () => Promise<void> | void;
  /** Default: `DOWN_MS`. */
  readonly downMs?: number;
}

/** Requests that need the database return 503 in time; afterwards everything works as before. */
export async function databaseFault(t: Test, arena: Arena, name: string, fault: DatabaseFault): Promise<Phase> {
  const { check, downMs = DOWN_MS } = fault;
  let downAt = 0;
  let startedAt = 0;
  let backAt = 0;
  const phase = await arena.during(name, async () => {
    await fault.down();
    downAt = performance.now();
    await sleep(downMs);
    await arena.answered(downAt);
    for (const shop of arena.shops) await reports(t, shop, check, 'unavailable');
    startedAt = performance.now();
    await fault.up();
    backAt = performance.now();
    await sleep(AFTER_MS);
    await arena.answered(backAt);
    for (const shop of arena.shops) await reports(t, shop, check, 'ok');
  });
  phase.holds(t, { mayFail: () => true });
  const down = phase.entries.filter((entry) => entry.startedAt > downAt && entry.endedAt < startedAt);
  t.ok(down.length > 0, 'meanwhile requests are answered');
  const works = down.filter(({ status }) => status !== 503);
  t.ok(
    works.every(({ kind }) => kind === 'code'),
    'and only what needs no database works',
  );
  phase.recovers(t, backAt, arena.shops, ({ status }) => status < 300);
  return phase;
}

/** Requests the health of a shop, and compares it with the state of a store. */
export async function reports(t: Test, shop: Shop, check: string, status: 'ok' | 'unavailable'): Promise<void> {
  const answer = await shop.get<{ status: string; checks: Record<string, { status: string }> }>('/health/');
  t.equal(answer.body.checks[check]?.status, status, `/health/ says so: ${check} is ${status}`);
  t.equal(answer.status, status === 'ok' ? 200 : 503);
  t.equal((await shop.get('/health/live')).status, 200);
}
