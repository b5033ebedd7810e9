import type { MikroORM } from '@mikro-orm/core';
import { checkFlushed, forkForTenant, keptKey } from '@viewset/core';
import type { LaneName, LanePlaces } from '../lanes.ts';
import type { ClaimedEvent, OutboxEvent } from '../outbox-event.ts';
import { type Finisher, warnOfLostLease } from './finisher.ts';
import type { Head } from './first-waiting.ts';
import { matches } from './handlers.ts';
import { type Claim, type ClaimResult, type Leases, MAX_CLAIMED } from './leases.ts';
import type { ResolvedWorkerOptions } from './options.ts';
import { Payloads } from './payloads.ts';
import { PutOff, retryTimeOf, Undeliverable } from './retry-later.ts';
import { type HealthChoice, ShareHealth } from './share-health.ts';
import { within } from './within.ts';
import { WorkerStopped } from './worker-stopped.ts';

const MAX_ERROR_LENGTH = 1000;
/** The wait before a look is repeated after a failure or because other workers had the events, in milliseconds. */
const RETRY_MS = 100;
/** After this time a subject gives its place to the next one, in milliseconds. */
const TURN_MS = 500;
/** How many due subjects a look reads for each one that it may take. */
const CANDIDATES_PER_PLACE = 4;
/** A look takes up to this number of subjects for each free place, as long as their handlers are fast. */
const MAX_AHEAD = 8;
/** After this time the worker gives back the subjects that it took ahead, in milliseconds. */
const AHEAD_MS = 50;
/** The most subjects that are left out of a round, and the most that no look reads before their retry. */
const MAX_SKIPPED = 1000;
/** The last places of a lane, for those owners of shares that have none: one of so many. */
const RESERVED_PART = 4;
/** The most events that running deliveries have in memory, and those that were taken ahead, without their payloads. */
const MAX_EVENTS = 1000;

/** The events of one subject that are being delivered. */
interface Delivery {
  readonly claim: Claim;
  /** When the handlers of the first event were called, in milliseconds since 1970. */
  begunAt: number;
  /** Aborts the signal of the handlers of the current event. */
  abort: AbortController;
  leasedUntil: number;
}

/** What a delivery has left to store. */
interface Outcome {
  readonly finished: readonly Promise<void>[];
  readonly failure?: { readonly event: ClaimedEvent; readonly error: unknown };
  readonly rest: readonly ClaimedEvent[];
}

/** What the lanes of a worker share. */
export interface LaneContext {
  readonly orm: MikroORM;
  readonly options: ResolvedWorkerOptions;
  readonly leases: Leases;
  readonly finisher: Finisher;
}

/**
 * Delivers the events of one lane until it is stopped: looks for events, starts their deliveries, and sleeps until there
 * may be more. A subject takes a place while its handlers run.
 */
export class Lane {
  readonly #context: LaneContext;
  readonly #name: LaneName;
  readonly #places: LanePlaces;
  /** Deliveries whose handlers run. */
  readonly #running = new Set<Delivery>();
  /** These, and those whose result is being stored. Each has a promise that resolves when the delivery has ended. */
  readonly #leased = new Map<Delivery, Promise<void>>();
  /** Subjects that were taken ahead, and wait for a place for a moment. */
  #ready: Delivery[] = [];
  #readyTimer: NodeJS.Timeout | undefined;
  /** How many subjects a look takes for each free place. */
  #ahead = 1;
  /** Subjects with a backlog that have had their turn in this round. A new round begins when no others are due. */
  readonly #served = new Set<string>();
  /** Subjects whose first event waits for a retry, with the time until which no look reads them. */
  readonly #putOff = new Map<string, number>();
  readonly #payloads: Payloads;
  /** Only in a lane whose shares have limits. */
  readonly #health: ShareHealth | undefined;
  /** Timers that wake the lane for a retry that is due before its next regular look. */
  readonly #retries = new Set<NodeJS.Timeout>();
  readonly #run: Promise<void>;
  #isStopped = false;
  #isWoken = false;
  #wake: () => void = () => {};

  constructor(context: LaneContext, name: LaneName, places: LanePlaces) {
    this.#context = context;
    this.#name = name;
    this.#places = places;
    this.#payloads = new Payloads(context.leases);
    if (places.perShare !== undefined) this.#health = new ShareHealth(places.concurrency);
    this.#run = this.#loop();
  }

  wake(): void {
    this.#isWoken = true;
    this.#wake();
  }

  /** Takes no more events. Resolves when the last look is done, which may never happen if the database hangs. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.wake();
    await this.#run;
    await this.#giveBack();
    for (const retry of this.#retries) clearTimeout(retry);
  }

  /** Resolves when all deliveries are stored. */
  async idle(): Promise<void> {
    await Promise.all(this.#leased.values());
  }

  abortAll(reason: Error): void {
    for (const { abort } of this.#running) abort.abort(reason);
  }

  /** Resolves when the results of all handlers that have ended are stored. */
  async stored(): Promise<void> {
    const ended = [...this.#leased].filter(([delivery]) => !this.#running.has(delivery));
    await Promise.all(ended.map(([, done]) => done));
  }

  /** Extends the leases of all deliveries, and aborts deliveries whose lease has ended. */
  async extendLeases(): Promise<void> {
    const { leases, options } = this.#context;
    const deliveries = [...this.#leased.keys()];
    if (deliveries.length === 0) return;
    try {
      const kept = deliveries.filter((each) => !this.#isLost(each));
      const end = await leases.extend(kept.flatMap(({ claim }) => claim.events));
      // A lease that ended in the meantime may belong to another worker by now.
      for (const each of kept) if (!this.#isLost(each)) each.leasedUntil = end;
    } catch (err) {
      if (leases.isClosed) return;
      options.log.error({ err }, 'the outbox could not extend its leases');
    }
    for (const each of deliveries) this.#isLost(each);
  }

  async #loop(): Promise<void> {
    const { leases, options } = this.#context;
    const { pollMs, log } = options;
    let failures = 0;
    while (!this.#isStopped) {
      let look: ClaimResult = { claims: [], isBarred: false, isFull: false };
      this.#isWoken = false;
      try {
        look = await this.#look();
        failures = 0;
      } catch (err) {
        // `stop()` has logged that the database did not respond.
        if (leases.isClosed) return;
        log.error({ err }, 'the outbox could not look for events');
        failures += 1;
        // A smaller claim may be within the limits of the database.
        this.#ahead = 1;
        // The worker looks again soon anyway; if the database is down, it must not retry at once.
        this.#isWoken = false;
      }
      const isMore = look.isBarred ? look.claims.length > 0 : look.isFull;
      if (isMore && this.#free > 0) continue;
      // A random wait keeps processes that start together from looking at the same time.
      const restMs = pollMs * (0.9 + 0.2 * Math.random());
      const retryMs = RETRY_MS * 2 ** failures;
      await this.#sleep(failures > 0 || look.isBarred ? Math.min(retryMs, restMs) : restMs);
    }
  }

  /** The number of deliveries whose handlers run. */
  get running(): number {
    return this.#running.size;
  }

  get #free(): number {
    return this.#places.concurrency - this.#running.size;
  }

  /** Starts deliveries for as many subjects as there are places. */
  async #look(): Promise<ClaimResult> {
    if (this.#free <= 0 || this.#ready.length > 0) return { claims: [], isBarred: false, isFull: false };
    const wanted = this.#free * this.#ahead;
    const { options, leases } = this.#context;
    const leasedUntil = Date.now() + options.leaseMs;
    const health = this.#healthChoice();
    const look = await leases.claim({
      lane: this.#name,
      candidates: wanted * CANDIDATES_PER_PLACE,
      perSubject: Math.max(1, Math.min(MAX_CLAIMED, Math.floor(MAX_EVENTS / (this.#places.concurrency * this.#ahead)))),
      skippedSubjects: this.#skippedSubjects(),
      fullShares: [...this.#full('share', this.#most('share', this.#running.size)), ...(health?.excluded ?? [])],
      onlyShares: health?.only,
      fullOwners: this.#full('share_owner', this.#most('share_owner', this.#running.size)),
      choose: (heads) => this.#choose(heads, wanted),
    });
    for (const claim of look.claims) this.#start(claim, leasedUntil);
    // The places of shares are counted when a delivery begins, so they cannot be taken ahead.
    const isAhead = look.isFull && this.#places.perShare === undefined;
    this.#ahead = isAhead ? Math.min(MAX_AHEAD, this.#ahead * 2) : 1;
    if (look.isFull || look.claims.length >= wanted || this.#served.size === 0) return look;
    this.#served.clear();
    return { ...look, isFull: true };
  }

  #skippedSubjects(): string[] {
    const now = Date.now();
    for (const [subject, until] of this.#putOff) if (until <= now) this.#putOff.delete(subject);
    const leased = [...this.#leased.keys()].flatMap(({ claim }) => claim.events[0]!.subject ?? []);
    return [...new Set([...leased, ...this.#putOff.keys(), ...this.#served])];
  }

  #healthChoice(): HealthChoice | undefined {
    const running = [...this.#running].map(({ claim, begunAt }) => ({ share: claim.events[0]!.share, begunAt }));
    return this.#health?.choice(running);
  }

  /** Counts the places that are taken by each share, or owner of shares. */
  #taken(name: 'share' | 'share_owner'): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { claim } of this.#running) count(counts, claim.events[0]![name]);
    return counts;
  }

  #full(name: 'share' | 'share_owner', most = Infinity): string[] {
    return [...this.#taken(name)].filter(([, taken]) => taken >= most).map(([value]) => value);
  }

  /**
   * The most places of one share or owner, while so many are taken. Owners that have a place get none of the last quarter.
   * So receivers of several owners that begin to hang at the same moment leave places to all others.
   */
  #most(name: 'share' | 'share_owner', taken: number): number {
    const { concurrency, perShare, perOwner } = this.#places;
    if (perOwner === undefined) return perShare ?? Infinity;
    const isReserved = taken >= concurrency - Math.floor(concurrency / RESERVED_PART);
    return isReserved ? 1 : ((name === 'share' ? perShare : perOwner) ?? Infinity);
  }

  /** Chooses the subjects to take, within the shares. */
  #choose(heads: readonly Head[], most: number): Head[] {
    const [shares, owners] = [this.#taken('share'), this.#taken('share_owner')];
    const health = this.#healthChoice();
    const chosen: Head[] = [];
    for (const head of heads) {
      if (chosen.length === most) break;
      const taken = this.#running.size + chosen.length;
      if ((shares.get(head.share ?? '') ?? 0) >= this.#most('share', taken)) continue;
      if ((owners.get(head.share_owner ?? '') ?? 0) >= this.#most('share_owner', taken)) continue;
      if (typeof head.share === 'string' && health?.fits(head.share) === false) continue;
      if (typeof head.share === 'string') health?.add(head.share);
      count(shares, head.share);
      count(owners, head.share_owner);
      chosen.push(head);
    }
    return chosen;
  }

  /** Waits until the lane is woken, or `restMs` have passed. */
  async #sleep(restMs: number): Promise<void> {
    if (this.#isWoken || this.#isStopped) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, restMs);
    await promise;
    clearTimeout(timer);
  }

  /** Begins the delivery of a claim, or keeps it for a moment if no place is free. */
  #start(claim: Claim, leasedUntil: number): void {
    const delivery: Delivery = { claim, leasedUntil, begunAt: Date.now(), abort: new AbortController() };
    if (this.#free > 0) return this.#begin(delivery);
    this.#leased.set(delivery, Promise.resolve());
    this.#ready.push(delivery);
    this.#readyTimer ??= setTimeout(() => void this.#giveBack(), AHEAD_MS);
  }

  #begin(delivery: Delivery): void {
    delivery.begunAt = Date.now();
    this.#running.add(delivery);
    const done = this.#deliver(delivery)
      .catch((err: unknown) => {
        // `stop()` has logged that these events come again.
        if (this.#context.leases.isClosed) return;
        const message = 'the outbox could not note a delivery; the events come again after their lease';
        this.#context.options.log.error({ err }, message);
      })
      .finally(() => {
        this.#running.delete(delivery);
        this.#leased.delete(delivery);
        this.wake();
      });
    this.#leased.set(delivery, done);
  }

  /** Gives the free places to the subjects that were taken ahead. */
  #beginReady(): void {
    while (this.#free > 0 && this.#ready.length > 0) this.#begin(this.#ready.shift()!);
    if (this.#ready.length > 0) return;
    clearTimeout(this.#readyTimer);
    this.#readyTimer = undefined;
  }

  /** Gives the subjects that were taken ahead to other workers, because the handlers are slow. */
  async #giveBack(): Promise<void> {
    clearTimeout(this.#readyTimer);
    this.#readyTimer = undefined;
    const ready = this.#ready;
    if (ready.length === 0) return;
    this.#ready = [];
    this.#ahead = 1;
    try {
      await this.#context.leases.release(ready.flatMap(({ claim }) => claim.events));
    } catch (err) {
      this.#context.options.log.error(
        { err },
        'the outbox could not give events back; they come again after their lease',
      );
    }
    for (const delivery of ready) this.#leased.delete(delivery);
    this.wake();
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { finished, failure, rest } = await this.#runHandlers(delivery);
    this.#running.delete(delivery);
    const { events, isCut } = delivery.claim;
    if (rest.length > 0 || isCut) this.#endTurn(events[0]!.subject);
    this.#beginReady();
    this.wake();
    await Promise.all(finished);
    const { leases } = this.#context;
    if (failure === undefined) return leases.release(rest);
    // A handler that `stop()` has aborted did not fail: another worker tries the event, as the same attempt.
    if (delivery.abort.signal.reason instanceof WorkerStopped) return leases.release([failure.event, ...rest]);
    await this.#fail(failure.event, failure.error);
    await leases.release(rest);
  }

  #endTurn(subject: string | null | undefined): void {
    if (typeof subject === 'string' && this.#served.size < MAX_SKIPPED) this.#served.add(subject);
  }

  /** Calls the handlers of the events, in order, until one fails or the turn of the subject is over. */
  async #runHandlers(delivery: Delivery): Promise<Outcome> {
    const { events } = delivery.claim;
    const finished: Promise<void>[] = [];
    const end = Date.now() + TURN_MS;
    const payloads = this.#payloads.of(events);
    for (const [index, event] of events.entries()) {
      if (this.#isLost(delivery)) return { finished, rest: [] };
      const isOver = index > 0 && Date.now() > end;
      if (this.#isStopped || isOver) return { finished, rest: events.slice(index) };
      const read = await payloads.at(index);
      // Somebody has deleted the event.
      if (read === undefined) continue;
      try {
        await this.#handle(event, read.payload, delivery);
        this.#noteHealth(event, true);
      } catch (error) {
        if (!isNoAttempt(error, delivery)) this.#noteHealth(event, false);
        return { finished, failure: { event, error }, rest: events.slice(index + 1) };
      }
      const stored = this.#context.finisher.finish(event);
      // A failure of the database is reported when the handlers are done.
      stored.catch(() => {});
      finished.push(stored);
    }
    return { finished, rest: [] };
  }

  #noteHealth({ share }: ClaimedEvent, isSuccess: boolean): void {
    if (typeof share === 'string') this.#health?.note(share, isSuccess);
  }

  async #handle(event: ClaimedEvent, payload: unknown, delivery: Delivery): Promise<void> {
    const { orm, options, leases } = this.#context;
    const { id, type, subject = null, created_at, attempts, tenant_key: kept = null } = event;
    const handled = { id, type, subject, payload, created_at, attempt: attempts + 1, tenant: keptKey(kept) };
    delivery.abort = new AbortController();
    const { signal } = delivery.abort;
    const limitMs = this.#places.timeoutMs ?? options.handlerTimeoutMs;
    for (const [pattern, handler] of options.handlers) {
      if (!matches(pattern, type)) continue;
      if (leases.isClosed) throw new WorkerStopped();
      const em = forkForTenant(orm.em, kept);
      await within(limitMs, delivery.abort, () => handler(handled, { em, signal }));
      checkFlushed(em, `The handler of "${pattern}"`);
    }
  }

  /** Stores the failure of an event: the time of its next attempt, or that it is a dead letter. */
  async #fail(event: ClaimedEvent, error: unknown): Promise<void> {
    const { maxAttempts, backoffMs, maxBackoffMs, log } = this.#context.options;
    if (error instanceof PutOff) return this.#retry(event, error.retryAt, {});
    const attempts = event.attempts + 1;
    const last_error = String(error instanceof Error ? error.message : error)
      .replaceAll('\0', '')
      .slice(0, MAX_ERROR_LENGTH);
    const isDead = error instanceof Undeliverable || attempts >= maxAttempts;
    const { id, type } = event;
    log.warn({ err: error, id, type, attempts }, isDead ? 'an event is a dead letter' : 'an event was not delivered');
    if (isDead) return this.#note(event, { status: 'dead', attempts, last_error });
    const waitMs = Math.min(maxBackoffMs, backoffMs * 2 ** (attempts - 1)) * (0.5 + 0.5 * Math.random());
    const dueMs = Math.max(Date.now() + waitMs, Math.min(retryTimeOf(error), Date.now() + maxBackoffMs));
    await this.#retry(event, dueMs, { attempts, last_error });
  }

  async #retry(event: ClaimedEvent, dueMs: number, changes: Partial<OutboxEvent>): Promise<void> {
    this.#wakeAt(dueMs, event.subject);
    await this.#note(event, { ...changes, due_at: new Date(dueMs) });
  }

  #wakeAt(dueMs: number, subject: string | null | undefined): void {
    const { pollMs } = this.#context.options;
    if (typeof subject === 'string' && this.#putOff.size < MAX_SKIPPED) {
      this.#putOff.set(subject, Math.min(dueMs, Date.now() + pollMs));
    }
    // Node's timers may fire a millisecond early.
    const waitMs = Math.max(0, dueMs - Date.now()) + 2;
    if (waitMs >= pollMs || this.#isStopped) return;
    const timer = setTimeout(() => {
      this.#retries.delete(timer);
      this.wake();
    }, waitMs);
    this.#retries.add(timer);
  }

  async #note(event: ClaimedEvent, changes: Partial<OutboxEvent>): Promise<void> {
    const { leases, options } = this.#context;
    const stored = await leases.finish([event], changes);
    if (stored === 0) warnOfLostLease(options.log, [event], stored);
  }

  #isLost(delivery: Delivery): boolean {
    if (Date.now() < delivery.leasedUntil) return false;
    delivery.abort.abort(new Error('the lease of this event has ended'));
    return true;
  }
}

function count(counts: Map<string, number>, value: string | null | undefined): void {
  if (typeof value === 'string') counts.set(value, (counts.get(value) ?? 0) + 1);
}

/** True for an error that says nothing about the receiver: nothing was sent, or the worker has stopped. */
function isNoAttempt(error: unknown, { abort }: Delivery): boolean {
  return error instanceof PutOff || error instanceof Undeliverable || abort.signal.reason instanceof WorkerStopped;
}
