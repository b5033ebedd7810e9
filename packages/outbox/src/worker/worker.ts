import type { MikroORM } from '@mikro-orm/core';
import { checkOrm } from '../check-orm.ts';
import { OutboxEvent } from '../outbox-event.ts';
import { matches } from './handlers.ts';
import { type Claim, Leases, type Look } from './leases.ts';
import { type ResolvedWorkerOptions, resolveWorkerOptions, type WorkerOptions } from './options.ts';
import { onWake } from './wake.ts';
import { within } from './within.ts';

/** How often expired delivered events are deleted. */
const PRUNE_EVERY_MS = 600_000;
const MAX_ERROR_LENGTH = 1000;
/**
 * The wait before a look is repeated after a failure or because other workers had locked the events, in milliseconds.
 */
const RETRY_MS = 100;

/** Events that are being delivered. */
interface Delivery {
  readonly claim: Claim;
  /** Aborts the signal of the handlers of the current event. */
  abort: AbortController;
  leasedUntil: number;
  done: Promise<void>;
}

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

/**
 * Delivers events until it is stopped: looks for events, starts their deliveries, and sleeps until there may be more.
 */
export class Worker {
  readonly #orm: MikroORM;
  readonly #options: ResolvedWorkerOptions;
  readonly #leases: Leases;
  readonly #deliveries = new Set<Delivery>();
  readonly #forget: () => void;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #run: Promise<void>;
  #isStopped = false;
  #isWoken = false;
  #wake: () => void = () => {};
  /** Timers that wake the worker for a retry that is due before its next regular look. */
  readonly #retries = new Set<NodeJS.Timeout>();
  #prunedAt = 0;

  constructor(orm: MikroORM, options: ResolvedWorkerOptions) {
    this.#orm = orm;
    this.#options = options;
    this.#leases = new Leases(orm, options.leaseMs);
    this.#forget = onWake(orm.em.config, () => this.wake());
    this.#heartbeat = setInterval(() => void this.#extend(), options.leaseMs / 3);
    this.#run = this.#loop();
  }

  wake(): void {
    this.#isWoken = true;
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#forget();
    this.wake();
    await this.#run;
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#abortAll();
      setImmediate(late.resolve);
    }, this.#options.stopTimeoutMs);
    await Promise.race([Promise.all([...this.#deliveries].map(({ done }) => done)), late.promise]);
    clearTimeout(timer);
    clearInterval(this.#heartbeat);
    for (const retry of this.#retries) clearTimeout(retry);
  }

  async #loop(): Promise<void> {
    const { concurrency, pollMs, log } = this.#options;
    let failures = 0;
    while (!this.#isStopped) {
      const free = concurrency - this.#deliveries.size;
      let look: Look = { claims: [], isBarred: false };
      this.#isWoken = false;
      try {
        look = await this.#look(free);
        await this.#prune();
        failures = 0;
      } catch (err) {
        log.error({ err }, 'the outbox could not look for events');
        failures += 1;
        // The worker looks again soon anyway; if the database is down, it must not retry at once.
        this.#isWoken = false;
      }
      const { claims, isBarred } = look;
      if (claims.length > 0 && claims.length < free) continue;
      // A random wait keeps processes that start together from looking at the same time.
      const restMs = pollMs * (0.9 + 0.2 * Math.random());
      const retryMs = RETRY_MS * 2 ** failures;
      await this.#sleep(failures > 0 || isBarred ? Math.min(retryMs, restMs) : restMs);
    }
  }

  /** Starts deliveries for up to `free` subjects. */
  async #look(free: number): Promise<Look> {
    if (free === 0) return { claims: [], isBarred: false };
    const leasedUntil = Date.now() + this.#options.leaseMs;
    const look = await this.#leases.claim(free);
    for (const claim of look.claims) this.#start(claim, leasedUntil);
    return look;
  }

  /** Waits until the worker is woken, or `restMs` have passed. */
  async #sleep(restMs: number): Promise<void> {
    if (this.#isWoken || this.#isStopped) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, restMs);
    await promise;
    clearTimeout(timer);
  }

  #start(claim: Claim, leasedUntil: number): void {
    const delivery: Delivery = { claim, leasedUntil, abort: new AbortController(), done: Promise.resolve() };
    this.#deliveries.add(delivery);
    delivery.done = this.#deliver(delivery)
      .catch((err: unknown) => {
        this.#options.log.error(
          { err },
          'the outbox could not note a delivery; the events come again after their lease',
        );
      })
      .finally(() => {
        this.#deliveries.delete(delivery);
        this.wake();
      });
  }

  /** Delivers the events of one subject in order. A failed event holds up the events behind it. */
  async #deliver(delivery: Delivery): Promise<void> {
    const { events } = delivery.claim;
    for (const [index, event] of events.entries()) {
      if (this.#isStopped) return this.#leases.release(events.slice(index), new Date());
      if (this.#isLost(delivery)) return;
      const problem = await this.#handle(event, delivery);
      if (problem === undefined) {
        await this.#note(event, { status: 'delivered', delivered_at: new Date(), attempts: event.attempts + 1 });
        continue;
      }
      const dueAt = await this.#fail(event, problem.error);
      if (dueAt !== undefined) return this.#leases.release(events.slice(index + 1), dueAt);
    }
  }

  async #handle(event: OutboxEvent, delivery: Delivery): Promise<{ readonly error: unknown } | undefined> {
    const { id, type, subject = null, payload, created_at, attempts } = event;
    const handled = { id, type, subject, payload, created_at, attempt: attempts + 1 };
    const abort = new AbortController();
    delivery.abort = abort;
    try {
      for (const [pattern, handler] of this.#options.handlers) {
        if (!matches(pattern, type)) continue;
        const context = { em: this.#orm.em.fork(), signal: abort.signal };
        await within(this.#options.handlerTimeoutMs, abort, () => handler(handled, context));
      }
      return undefined;
    } catch (error) {
      return { error };
    }
  }

  /** Stores the failure of an event. Returns the time of the next attempt; undefined if the event is a dead letter. */
  async #fail(event: OutboxEvent, error: unknown): Promise<Date | undefined> {
    const { maxAttempts, backoffMs, maxBackoffMs, log } = this.#options;
    const attempts = event.attempts + 1;
    const last_error = String(error instanceof Error ? error.message : error)
      .replaceAll('\0', '')
      .slice(0, MAX_ERROR_LENGTH);
    const isDead = attempts >= maxAttempts;
    const { id, type } = event;
    log.warn({ err: error, id, type, attempts }, isDead ? 'an event is a dead letter' : 'an event was not delivered');
    if (isDead) {
      await this.#note(event, { status: 'dead', attempts, last_error });
      return undefined;
    }
    const waitMs = Math.min(maxBackoffMs, backoffMs * 2 ** (attempts - 1)) * (0.5 + 0.5 * Math.random());
    const due_at = new Date(Date.now() + waitMs);
    await this.#note(event, { attempts, last_error, due_at });
    this.#wakeAt(due_at);
    return due_at;
  }

  #wakeAt(dueAt: Date): void {
    // Node's timers may fire a millisecond early.
    const waitMs = Math.max(0, dueAt.getTime() - Date.now()) + 2;
    if (waitMs >= this.#options.pollMs || this.#isStopped) return;
    const timer = setTimeout(() => {
      this.#retries.delete(timer);
      this.wake();
    }, waitMs);
    this.#retries.add(timer);
  }

  async #note(event: OutboxEvent, changes: Partial<OutboxEvent>): Promise<void> {
    if (await this.#leases.finish(event, changes)) return;
    const { id, type } = event;
    this.#options.log.warn({ id, type }, 'the lease of an event was lost; it may be delivered twice');
  }

  /** Extends the leases of all deliveries, and aborts deliveries whose lease has ended. */
  async #extend(): Promise<void> {
    const deliveries = [...this.#deliveries];
    if (deliveries.length === 0) return;
    try {
      const kept = deliveries.filter((each) => !this.#isLost(each));
      const end = await this.#leases.extend([...new Set(kept.map(({ claim }) => claim.lease))]);
      // A lease that ended in the meantime may belong to another worker by now.
      for (const each of kept) if (!this.#isLost(each)) each.leasedUntil = end;
    } catch (err) {
      this.#options.log.error({ err }, 'the outbox could not extend its leases');
    }
    for (const each of deliveries) this.#isLost(each);
  }

  #isLost(delivery: Delivery): boolean {
    if (Date.now() < delivery.leasedUntil) return false;
    delivery.abort.abort(new Error('the lease of this event has ended'));
    return true;
  }

  #abortAll(): void {
    for (const { abort } of this.#deliveries) abort.abort(new Error('the worker was stopped'));
  }

  async #prune(): Promise<void> {
    const { keepDeliveredMs } = this.#options;
    if (keepDeliveredMs === Infinity || Date.now() < this.#prunedAt + PRUNE_EVERY_MS) return;
    this.#prunedAt = Date.now();
    const before = new Date(Date.now() - keepDeliveredMs);
    await this.#orm.em
      .fork()
      .nativeDelete(OutboxEvent, { status: 'delivered', delivered_at: { $lt: before } }, { filters: false });
  }
}
