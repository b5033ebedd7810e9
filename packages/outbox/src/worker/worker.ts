import type { MikroORM } from '@mikro-orm/core';
import { isInTime } from '@viewset/core';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { checkOrm } from '../check-orm.ts';
import { lanePlaces, type LaneName } from '../lanes.ts';
import { OutboxEvent, STORED } from '../outbox-event.ts';
import { Finisher } from './finisher.ts';
import { Lane } from './lane.ts';
import { Leases } from './leases.ts';
import { type ResolvedWorkerOptions, resolveWorkerOptions, type WorkerOptions } from './options.ts';
import { onWake } from './wake.ts';
import { WorkerStopped } from './worker-stopped.ts';

/** How often expired delivered events are deleted. */
const PRUNE_EVERY_MS = 600_000;
/** The most events of one statement that deletes. */
const PRUNE_BATCH = 500;
/** How long `stop()` waits for the database after it has aborted the handlers. */
export const RELEASE_MS = 1000;

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
  readonly #stopping = new AbortController();
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
    this.#forget = onWake(orm.em.config, (lane) => this.#lanes.get(lane)?.wake());
    this.#timers = [
      setInterval(() => void this.#extendLeases(), options.leaseMs / 3),
      setInterval(() => {
        this.#pruning = this.#prune();
      }, PRUNE_EVERY_MS),
    ];
    this.#pruning = this.#prune();
  }

  /** Resolves within `stopTimeoutMs` and `RELEASE_MS`, whatever the database and the handlers do. */
  async stop(): Promise<void> {
    this.#forget();
    this.#stopping.abort();
    const lanes = this.#all;
    const ended = Promise.all([this.#pruning, ...lanes.map((lane) => lane.stop())]);
    const idle = ended.then(() => Promise.all(lanes.map((lane) => lane.idle())));
    // A receiver may hang for longer than the process may live. Its deliveries are sent again.
    this.#lanes.get('deliveries')?.abortAll(new WorkerStopped());
    if (!(await isInTime(idle, this.#options.stopTimeoutMs))) await this.#abort(ended);
    this.#leases.close();
    for (const each of this.#timers) clearInterval(each);
  }

  /** Aborts the handlers. Releases the events of handlers that end at once. */
  async #abort(ended: Promise<unknown>): Promise<void> {
    const { log } = this.#options;
    for (const lane of this.#all) lane.abortAll(new WorkerStopped());
    await nextTurn();
    const running = this.#all.reduce((sum, lane) => sum + lane.running, 0);
    const message = 'handlers did not end before the stop; their events come again after their lease';
    if (running > 0) log.warn({ running }, message);
    const stored = ended.then(() => Promise.all(this.#all.map((lane) => lane.stored())));
    if (await isInTime(stored, RELEASE_MS)) return;
    log.warn(
      {},
      'the database did not respond before the stop; the events of this worker come again after their lease',
    );
  }

  get #all(): readonly Lane[] {
    return [...this.#lanes.values()];
  }

  async #extendLeases(): Promise<void> {
    await Promise.all(this.#all.map((lane) => lane.extendLeases()));
  }

  /** Deletes expired events in batches, because one statement for all of them may exceed a limit of the database. */
  async #prune(): Promise<void> {
    const { keepDeliveredMs, log } = this.#options;
    if (keepDeliveredMs === Infinity) return;
    const before = new Date(Date.now() - keepDeliveredMs);
    const expired = { status: 'delivered', delivered_at: { $lt: before } } as const;
    const oldest = { ...STORED, fields: ['id'], orderBy: { delivered_at: 'asc' }, limit: PRUNE_BATCH } as const;
    try {
      while (!this.#stopping.signal.aborted) {
        const em = this.#orm.em.fork();
        const ids = (await em.find(OutboxEvent, expired, oldest)).map(({ id }) => id);
        // The process may have waited: the ORM may be closed by now.
        if (ids.length === 0 || this.#leases.isClosed) return;
        // An event that was sent again in the meantime is not deleted.
        await em.nativeDelete(OutboxEvent, { ...expired, id: { $in: ids } }, { filters: false });
        if (ids.length < PRUNE_BATCH) return;
      }
    } catch (err) {
      if (!this.#leases.isClosed) log.error({ err }, 'the outbox could not delete delivered events');
    }
  }
}
