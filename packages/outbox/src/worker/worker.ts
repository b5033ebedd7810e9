import type { MikroORM } from '@mikro-orm/core';
import { checkOrm } from '../check-orm.ts';
import { lanePlaces, type LaneName } from '../lanes.ts';
import { OutboxEvent } from '../outbox-event.ts';
import { Finisher } from './finisher.ts';
import { Lane } from './lane.ts';
import { Leases } from './leases.ts';
import { type ResolvedWorkerOptions, resolveWorkerOptions, type WorkerOptions } from './options.ts';
import { onWake } from './wake.ts';

/** How often expired delivered events are deleted. */
const PRUNE_EVERY_MS = 600_000;

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
  readonly #lanes: ReadonlyMap<LaneName, Lane>;
  readonly #forget: () => void;
  readonly #timers: readonly NodeJS.Timeout[];
  #pruning: Promise<void>;

  constructor(orm: MikroORM, options: ResolvedWorkerOptions) {
    this.#orm = orm;
    this.#options = options;
    const leases = new Leases(orm, options.leaseMs);
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
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      for (const lane of this.#all) lane.abortAll(new Error('the worker was stopped'));
      setImmediate(late.resolve);
    }, this.#options.stopTimeoutMs);
    await Promise.race([Promise.all(this.#all.map((lane) => lane.idle())), late.promise]);
    clearTimeout(timer);
    for (const each of this.#timers) clearInterval(each);
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
