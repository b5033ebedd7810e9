import { type EntityManager, type FilterQuery, LockMode, type MikroORM } from '@mikro-orm/core';
import { canSkipLocked } from '@viewset/core';
import { randomUUID } from 'node:crypto';
import type { LaneName } from '../lanes.ts';
import { CLAIMED_FIELDS, type ClaimedEvent, OutboxEvent, STORED } from '../outbox-event.ts';
import { type FirstWaiting, firstWaitingOf, type Head, type HeadSearch } from './first-waiting.ts';

/** Events of one subject, in order, leased by one worker. */
export interface Claim {
  readonly lease: string;
  readonly events: readonly ClaimedEvent[];
  /** True if the subject has more events than a claim may have. */
  readonly isCut: boolean;
}

/** The result of a look for events. */
export interface ClaimResult {
  readonly claims: readonly Claim[];
  /** True if events are due that the worker could have taken, but another worker was faster or has locked them. */
  readonly isBarred: boolean;
  /** True if another look at once may find more. */
  readonly isFull: boolean;
}

/** What a look may take. */
export interface Wanted {
  readonly lane: LaneName;
  /** How many due heads to look at. */
  readonly candidates: number;
  /** The most events of one subject to take. */
  readonly perSubject: number;
  /** Subjects that cannot be taken now, such as those that this worker delivers. */
  readonly skippedSubjects: readonly string[];
  /** Shares and owners whose places are all taken. */
  readonly fullShares: readonly string[];
  /** The only shares with free places; undefined: all others. */
  readonly onlyShares: readonly string[] | undefined;
  readonly fullOwners: readonly string[];
  /** Chooses the heads to take. */
  readonly choose: (heads: readonly Head[]) => readonly Head[];
}

/** A claim that is under way. */
interface PendingClaim {
  readonly lease: string;
  readonly perSubject: number;
  /** The ids of all events that the claim may have taken. */
  readonly taken: string[];
}

interface HeadsToTake extends Omit<PendingClaim, 'perSubject'> {
  readonly search: HeadSearch;
  readonly wanted: Wanted;
  readonly found: readonly Head[];
}

/** The most events of one subject in a claim. */
export const MAX_CLAIMED = 100;
/** How long a subject waits whose later event another worker still leases, in milliseconds. */
const LEASED_ELSEWHERE_MS = 100;
/** The most subjects of one query. SQLite refuses a compound query with more than 500 parts. */
const SUBJECTS_PER_QUERY = 100;
const WAITING = { status: 'waiting' } as const;

/**
 * The leases of one worker on waiting events. An event is free if it has no lease, or its lease has ended. If a worker
 * dies, its events become free by themselves, without any clean-up. A subject is free if its first waiting event is.
 */
export class Leases {
  readonly #orm: MikroORM;
  readonly #leaseMs: number;
  readonly #first: FirstWaiting;
  /** PostgreSQL only: skips rows that another worker has locked instead of waiting for them. */
  readonly #skipsLocked: boolean;
  #isClosed = false;

  constructor(orm: MikroORM, leaseMs: number) {
    this.#orm = orm;
    this.#leaseMs = leaseMs;
    this.#first = firstWaitingOf(orm);
    this.#skipsLocked = canSkipLocked(orm);
  }

  /** True after `close()`. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Makes every later call fail without using the database: the worker has stopped, so its ORM may be closed. MikroORM opens
   * a closed connection again for a late query, which keeps the process alive. The leases end by themselves.
   */
  close(): void {
    this.#isClosed = true;
  }

  /**
   * Takes subjects whose first waiting event is due, and events without a subject. Of each subject it takes the first
   * waiting events. A later event never overtakes one that another worker holds or that waits for a retry.
   */
  async claim(wanted: Wanted): Promise<ClaimResult> {
    const em = this.#fork();
    const lease = randomUUID();
    const search = { where: dueIn(wanted), limit: wanted.candidates };
    const due = await this.#first.findHeads(em, search);
    const found = wanted.choose(due);
    const isFull = due.length === wanted.candidates;
    if (found.length === 0) return { claims: [], isBarred: false, isFull };
    const taken: string[] = found.map(({ id }) => id);
    try {
      const heads = await this.#takeFound(em, { search, wanted, found, taken, lease });
      const claims = await this.#claimsOf(heads, { lease, taken, perSubject: wanted.perSubject });
      return { claims, isBarred: claims.length < found.length, isFull };
    } catch (error) {
      await this.#releaseTaken(taken, lease);
      throw error;
    }
  }

  /** Takes the heads that were found. On PostgreSQL it skips those that another worker has locked. */
  async #takeFound(em: EntityManager, { search, wanted, found, taken, lease }: HeadsToTake): Promise<readonly Head[]> {
    if (!this.#skipsLocked) return this.#takeHeads(em, found, lease);
    return em.transactional(async (within) => {
      const options = { lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE };
      const unlocked = wanted.choose(await this.#first.findHeads(within, { ...search, options }));
      taken.push(...unlocked.map(({ id }) => id));
      return this.#takeHeads(within, unlocked, lease);
    });
  }

  /** Releases what a failed claim may have taken. If that fails too, the events are free after their lease. */
  async #releaseTaken(ids: readonly string[], lease: string): Promise<void> {
    if (this.#isClosed) return;
    const free = { lease: null, leased_until: null };
    await this.#fork()
      .nativeUpdate(OutboxEvent, { ...WAITING, id: { $in: [...ids] }, lease }, free, STORED)
      .catch(() => {});
  }

  /** Extends leases and returns their new end. */
  async extend(events: readonly ClaimedEvent[]): Promise<number> {
    const end = Date.now() + this.#leaseMs;
    const leased_until = new Date(end);
    await this.#fork().nativeUpdate(OutboxEvent, leasedBy(events), { leased_until }, STORED);
    return end;
  }

  /** Gives events back to all workers. */
  async release(events: readonly ClaimedEvent[]): Promise<void> {
    if (events.length === 0) return;
    const free = { lease: null, leased_until: null };
    await this.#fork().nativeUpdate(OutboxEvent, leasedBy(events), free, STORED);
  }

  /** Changes events and ends their leases. Returns how many still had their lease. */
  async finish(events: readonly ClaimedEvent[], changes: Partial<OutboxEvent>): Promise<number> {
    return this.#fork().nativeUpdate(
      OutboxEvent,
      leasedBy(events),
      { ...changes, lease: null, leased_until: null },
      STORED,
    );
  }

  /** Reads payloads, by the ids of their events. */
  async payloadsOf(events: readonly ClaimedEvent[]): Promise<Map<string, unknown>> {
    const options = { ...STORED, fields: ['id', 'payload'], disableIdentityMap: true } as const;
    const found = await this.#fork().find(OutboxEvent, { id: { $in: events.map(({ id }) => id) } }, options);
    return new Map(found.map(({ id, payload }) => [id, payload]));
  }

  #fork(): EntityManager {
    if (this.#isClosed) throw new Error('The worker has stopped');
    return this.#orm.em.fork();
  }

  /** Takes heads. Returns those that no other worker has taken in the meantime. */
  async #takeHeads(em: EntityManager, heads: readonly Head[], lease: string): Promise<readonly Head[]> {
    if (heads.length === 0) return [];
    const ids = heads.map(({ id }) => id);
    const where = { ...WAITING, id: { $in: ids }, ...isFree() };
    const taken = await em.nativeUpdate(OutboxEvent, where, this.#newLease(lease), STORED);
    if (taken === heads.length) return heads;
    const mine = { ...WAITING, id: { $in: ids }, lease };
    const left = new Set((await em.find(OutboxEvent, mine, { ...STORED, fields: ['id'] })).map(({ id }) => id));
    return heads.filter(({ id }) => left.has(id));
  }

  /** Takes the events behind the heads. Nobody else does, because the head of their subject is leased. */
  async #claimsOf(heads: readonly Head[], { lease, taken, perSubject }: PendingClaim): Promise<readonly Claim[]> {
    if (heads.length === 0) return [];
    const em = this.#fork();
    const subjects = heads.flatMap(({ subject }) => subject ?? []);
    const single = heads.filter(({ subject }) => typeof subject !== 'string').map(({ id }) => id);
    const options = { ...STORED, fields: CLAIMED_FIELDS } as const;
    const alone =
      single.length === 0 ? [] : await em.find(OutboxEvent, { ...WAITING, id: { $in: single }, lease }, options);
    const claims: Claim[] = alone.map((event) => ({ lease, events: [event], isCut: false }));
    for (const events of await this.#findFirst(subjects, perSubject)) {
      const due = events.slice(0, events.findIndex(isLater) >>> 0);
      taken.push(...due.map(({ id }) => id));
      // An event may be stored with an earlier id than one that another worker leases. Two workers must not have one subject.
      const isForeign = events.some((event) => event.lease !== lease && isLeased(event));
      if (isForeign || !(await this.#takeBehind(em, due, lease))) await this.#putOff(events, lease);
      else claims.push({ lease, events: due, isCut: due.length === perSubject });
    }
    return claims;
  }

  /** Finds the first waiting events of each subject. */
  async #findFirst(subjects: readonly string[], perSubject: number): Promise<(readonly ClaimedEvent[])[]> {
    const found: ClaimedEvent[] = [];
    for (let start = 0; start < subjects.length; start += SUBJECTS_PER_QUERY) {
      const some = subjects.slice(start, start + SUBJECTS_PER_QUERY);
      found.push(...(await this.#first.findFirst(this.#fork(), some, perSubject)));
    }
    return [...Map.groupBy(found, ({ subject }) => subject).values()];
  }

  /** Takes the events of a subject that are not leased yet. Returns false if another worker has taken one of them. */
  async #takeBehind(em: EntityManager, events: readonly ClaimedEvent[], lease: string): Promise<boolean> {
    const behind = events.filter((event) => event.lease !== lease).map(({ id }) => id);
    for (const event of events) event.lease = lease;
    if (behind.length === 0) return true;
    const where = { ...WAITING, id: { $in: behind }, ...isFree() };
    return (await em.nativeUpdate(OutboxEvent, where, this.#newLease(lease), STORED)) === behind.length;
  }

  /** Gives a subject back for a moment, because another worker has events of it. */
  async #putOff(events: readonly ClaimedEvent[], lease: string): Promise<void> {
    const where = { ...WAITING, id: { $in: events.map(({ id }) => id) }, lease };
    const changes = { lease: null, leased_until: null, due_at: new Date(Date.now() + LEASED_ELSEWHERE_MS) };
    await this.#fork().nativeUpdate(OutboxEvent, where, changes, STORED);
  }

  #newLease(lease: string) {
    return { lease, leased_until: new Date(Date.now() + this.#leaseMs) };
  }
}

function isLeased({ leased_until: until }: ClaimedEvent): boolean {
  return until instanceof Date && until.getTime() > Date.now();
}

function isLater({ due_at: dueAt }: ClaimedEvent): boolean {
  return dueAt.getTime() > Date.now();
}

function isFree() {
  return { $or: [{ leased_until: null }, { leased_until: { $lte: new Date() } }] };
}

function dueIn({ lane, skippedSubjects, fullShares, onlyShares, fullOwners }: Wanted): FilterQuery<OutboxEvent> {
  const conditions: FilterQuery<OutboxEvent>[] = [{ ...WAITING, lane, due_at: { $lte: new Date() } }, isFree()];
  // In SQL, null is not in a list and not outside of it.
  const without = (name: 'subject' | 'share' | 'share_owner', values: readonly string[]): void => {
    if (values.length > 0) conditions.push({ $or: [{ [name]: null }, { [name]: { $nin: [...values] } }] });
  };
  without('subject', skippedSubjects);
  without('share', fullShares);
  without('share_owner', fullOwners);
  if (onlyShares !== undefined) conditions.push({ share: { $in: [...onlyShares] } });
  return { $and: conditions };
}

/** Matches the events while the worker leases them. */
function leasedBy(events: readonly ClaimedEvent[]): FilterQuery<OutboxEvent> {
  const leases = [...new Set(events.map(({ lease }) => lease!))];
  return { ...WAITING, id: { $in: events.map(({ id }) => id) }, lease: { $in: leases } };
}
