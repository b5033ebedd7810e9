import type { EventHandler } from './worker/handlers.ts';

/** The lanes of a worker, which have separate places: a lane whose places are all taken delays no other lane. */
export const LANE_NAMES = ['handlers', 'fan-out', 'deliveries'] as const;
export type LaneName = (typeof LANE_NAMES)[number];

/** How many subjects of a lane are delivered at the same time by one worker. */
export interface LanePlaces {
  readonly concurrency: number;
  /** The most of them with the same `share`. Default: all. */
  readonly perShare?: number;
  /** The most of them with the same `share_owner`. Default: all. */
  readonly perOwner?: number;
  /** The limit of a handler in this lane, in milliseconds. Default: the worker's `handlerTimeoutMs`. */
  readonly timeoutMs?: number;
}

/** The places of lanes by a handler of each lane. */
const places = new WeakMap<EventHandler, readonly [LaneName, LanePlaces]>();

/** Gives a lane its places. The worker with this handler uses them. */
export function withLane(handler: EventHandler, lane: LaneName, given: LanePlaces): EventHandler {
  places.set(handler, [lane, given]);
  return handler;
}

/**
 * Returns the places of each lane that this worker delivers. Events of an internal lane without a handler stay waiting,
 * for a worker that has it.
 */
export function lanePlaces(handlers: readonly EventHandler[], concurrency: number): Map<LaneName, LanePlaces> {
  const lanes = new Map<LaneName, LanePlaces>([['handlers', { concurrency }]]);
  for (const handler of handlers) {
    const [lane, given] = places.get(handler) ?? [];
    if (lane !== undefined) lanes.set(lane, given!);
  }
  return lanes;
}
