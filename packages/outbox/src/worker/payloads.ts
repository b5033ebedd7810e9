import type { ClaimedEvent } from '../outbox-event.ts';
import type { Leases } from './leases.ts';

/** The most payloads that one delivery reads at once, and so has in memory. */
const MAX_AT_ONCE = 8;
/** About the most characters that one delivery reads at once, as far as earlier payloads show how long they are. */
const MAX_CHARACTERS = 65_536;

/** The payloads of one delivery. */
export interface DeliveryPayloads {
  /** Returns the payload of the event at a place; undefined if the event was deleted. */
  at(index: number): Promise<{ readonly payload: unknown } | undefined>;
}

interface Waiting {
  readonly events: readonly ClaimedEvent[];
  readonly resolve: (payloads: Map<string, unknown>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Reads the payloads of a lane's events shortly before their handlers run. A claim of a hundred events has no payloads, so
 * that large ones do not fill the memory. Small payloads are read several at once.
 */
export class Payloads {
  readonly #leases: Pick<Leases, 'payloadsOf'>;
  /** The deliveries whose payloads the next query reads. */
  #waiting: Waiting[] = [];
  /** How many to read at once next. */
  #atOnce = 1;

  constructor(leases: Pick<Leases, 'payloadsOf'>) {
    this.#leases = leases;
  }

  /** Begins with the payloads of one delivery, in the order of its events. */
  of(events: readonly ClaimedEvent[]): DeliveryPayloads {
    let payloads = new Map<string, unknown>();
    let end = 0;
    return {
      at: async (index) => {
        if (index >= end) {
          // The payloads of the events before this one are free from here on.
          payloads = new Map();
          const next = events.slice(index, index + this.#atOnce);
          payloads = await this.#read(next);
          end = index + next.length;
          this.#adapt([...payloads.values()]);
        }
        const { id } = events[index]!;
        return payloads.has(id) ? { payload: payloads.get(id) } : undefined;
      },
    };
  }

  /** Reads payloads, with those of other deliveries that begin at the same moment, by one query. */
  #read(events: readonly ClaimedEvent[]): Promise<Map<string, unknown>> {
    const { promise, resolve, reject } = Promise.withResolvers<Map<string, unknown>>();
    if (this.#waiting.push({ events, resolve, reject }) === 1) setImmediate(() => void this.#readAll());
    return promise;
  }

  async #readAll(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      const payloads = await this.#leases.payloadsOf(waiting.flatMap(({ events }) => events));
      for (const { events, resolve } of waiting) {
        resolve(new Map(events.flatMap(({ id }) => (payloads.has(id) ? [[id, payloads.get(id)] as const] : []))));
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }

  #adapt(payloads: readonly unknown[]): void {
    const characters = payloads.reduce((sum: number, payload) => sum + sizeOf(payload), 0);
    const average = Math.max(1, characters / Math.max(1, payloads.length));
    this.#atOnce = Math.max(1, Math.min(MAX_AT_ONCE, this.#atOnce * 2, Math.floor(MAX_CHARACTERS / average)));
  }
}

/** About how many characters a value has as JSON. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 8;
  return Object.entries(value).reduce((sum, [name, each]) => sum + name.length + 4 + sizeOf(each), 2);
}
