import { setTimeout as sleep } from 'node:timers/promises';
import type { Shop } from '../test/support/shop.ts';

export type Kind = 'read' | 'write' | 'login' | 'code';

/** One request, as its client saw it. Times are of `performance.now()`. */
export interface Entry {
  readonly kind: Kind;
  readonly shop: Shop;
  readonly startedAt: number;
  readonly endedAt: number;
  /** 0: no response. */
  readonly status: number;
  /** Whether a throttle counted it. */
  readonly counted: boolean;
  /** The problem of the response body, if it has one. */
  readonly problem: string | undefined;
}

/** Every request of the load. */
export class Journal {
  readonly #entries: Entry[] = [];

  /** When the requests that are under way were sent. */
  readonly #pending = new Set<{ readonly startedAt: number }>();

  /** Sends a request, and returns a function that records its outcome. */
  begin(): (outcome: Omit<Entry, 'startedAt' | 'endedAt'>) => void {
    const request = { startedAt: performance.now() };
    this.#pending.add(request);
    return (outcome) => {
      this.#pending.delete(request);
      this.#entries.push({ ...outcome, ...request, endedAt: performance.now() });
    };
  }

  /** Waits until all requests sent before a time have their responses. */
  async settled(before: number): Promise<void> {
    while ([...this.#pending].some(({ startedAt }) => startedAt < before)) await sleep(10);
  }

  /** Waits until each of some shops has responded to a request sent since a time. */
  async answered(since: number, shops: readonly Shop[]): Promise<void> {
    const hasResponded = (shop: Shop): boolean =>
      this.#entries.some((entry) => entry.shop === shop && entry.startedAt >= since);
    while (!shops.every(hasResponded)) await sleep(10);
  }

  /** The requests that were sent in a span of time. */
  between(from: number, to: number): Entry[] {
    return this.#entries.filter(({ startedAt }) => startedAt >= from && startedAt < to);
  }
}

/** `200 × 311, 503 × 12`. */
export function byStatus(entries: readonly Entry[]): string {
  const counts = new Map<number, number>();
  for (const { status } of entries) counts.set(status, (counts.get(status) ?? 0) + 1);
  const sorted = [...counts].toSorted(([a], [b]) => a - b);
  return sorted.map(([status, count]) => `${status === 0 ? 'no answer' : status} × ${count}`).join(', ');
}

/** How long the longest of the requests took, in milliseconds. */
export function longestMs(entries: readonly Entry[]): number {
  return Math.max(0, ...entries.map(({ startedAt, endedAt }) => endedAt - startedAt));
}
