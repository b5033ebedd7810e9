import type { MikroORM } from '@mikro-orm/core';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { checkOrm } from '../check-orm.ts';
import { lanePlaces, type LaneName } from '../lanes.ts';
import { OutboxEvent } from '../outbox-event.ts';
import { Finisher } from './finisher.ts';
import { Lane } from './lane.ts';
import { Leases } from './leases.ts';
import { type ResolvedWorkerOptions, resolveWorkerOptions, type WorkerOptions } from './options.ts';
import { onWake } from './wake.ts';
import { WorkerStopped } from './worker-stopped.ts';

/** How often expired delivered events are deleted. */
const PRUNE_EVERY_MS = 600_000;
/** How long `stop()` waits for the database after it has aborted handlers. */
const RELEASE_MS = 1000;

/**
 * Checks the options of a worker and its ORM. Returns the function that starts the worker. Throws ImproperlyConfigured.
 */
export function workerOf(owner: string, orm: MikroORM, given: WorkerOptions): () => Worker {
  const options = resolveWorkerOptions(owner, given);
  checkOrm(
    owner,
    orm,
    options.handlers.map(([, handler]) => handler),
  );
  return () => new Worker(orm, options);
}

/** Delivers events until it is stopped, each lane with its places. */
export class Worker {
  readonly #orm: MikroORM;
  readonly #options: ResolvedWorkerOptions;
  readonly #leases: Leases;
  readonly #lanes: ReadonlyMap<LaneName, Lane>;
  readonly #forget: () => void;
  readonly #timers: readonly NodeJS.Timeout[];
  #pruning: Promise<void>;

  constructor(orm: MikroORM, options: ResolvedWorkerOptions) {
    this.#orm = orm;
    this.#options = options;
    const leases = new Leases(orm, options.leaseMs);
    this.#leases = leases;
    const context = { orm, options, leases, finisher: new Finisher(leases, options.log) };
    const handlers = options.handlers.map(([, handler]) => handler);
    const places = lanePlaces(handlers, options.concurrency);
    this.#lanes = new Map([...places].map(([name, given]) => [name, new Lane(context, name, given)]));
    this.#forget = onWake(orm.em.config, (lane) => this.#lanes.get(lane)!.wake());
    this.#timers = [
      setInterval(() => void this.#extendLeases(), options.leaseMs / 3),
      setInterval(() => {
        this.#pruning = this.#prune();
      }, PRUNE_EVERY_MS),
    ];
    this.#pruning = this.#prune();
  }

  async stop(): Promise<void> {
    this.#forget();
    await Promise.all([this.#pruning, ...this.#all.map((lane) => lane.stop())]);
    const idle = Promise.all(this.#all.map((lane) => lane.idle()));
    if (!(await isInTime(idle, this.#options.stopTimeoutMs))) await this.#abort();
    this.#leases.close();
    for (const each of this.#timers) clearInterval(each);
  }

  /** Aborts the handlers, and gives the events back of those that end at once. */
  async #abort(): Promise<void> {
    for (const lane of this.#all) lane.abortAll(new WorkerStopped());
    await nextTurn();
    const running = this.#all.reduce((sum, lane) => sum + lane.running, 0);
    const message = 'handlers did not end before the stop; their events come again after their lease';
    if (running > 0) this.#options.log.warn({ running }, message);
    await isInTime(Promise.all(this.#all.map((lane) => lane.stored())), RELEASE_MS);
  }

  get #all(): readonly Lane[] {
    return [...this.#lanes.values()];
  }

  async #extendLeases(): Promise<void> {
    await Promise.all(this.#all.map((lane) => lane.extendLeases()));
  }

  async #prune(): Promise<void> {
    const { keepDeliveredMs, log } = this.#options;
    if (keepDeliveredMs === Infinity) return;
    const before = new Date(Date.now() - keepDeliveredMs);
    const expired = { status: 'delivered', delivered_at: { $lt: before } } as const;
    try {
      await this.#orm.em.fork().nativeDelete(OutboxEvent, expired, { filters: false });
    } catch (err) {
      log.error({ err }, 'the outbox could not delete delivered events');
    }
  }
}

/** Waits for a promise that never rejects, up to a time limit. Returns false after the limit. */
async function isInTime(promise: Promise<unknown>, limitMs: number): Promise<boolean> {
  const over = Promise.withResolvers<false>();
  const timer = setTimeout(over.resolve, limitMs, false);
  try {
    return await Promise.race([promise.then(() => true), over.promise]);
  } finally {
    clearTimeout(timer);
  }
}
