import { type EntityManager, type FilterQuery, LockMode, type MikroORM } from '@mikro-orm/core';
import { canSkipLocked } from '@viewset/core';
import { randomUUID } from 'node:crypto';
import { OutboxEvent, STORED } from '../outbox-event.ts';

/** Events of one subject, in order, held by one worker. */
export interface Claim {
  readonly lease: string;
  readonly events: readonly OutboxEvent[];
}

/** The result of a look for events. */
export interface Look {
  readonly claims: readonly Claim[];
  /** True if events are due but other workers have locked them all. Some may be free again in a moment. */
  readonly isBarred: boolean;
}

/** How many due events one look reads, to find several subjects. */
const BATCH_SIZE = 100;
/** How many events of other workers one query reads, to find the first of each subject. */
const FOREIGN_SIZE = 1000;
const WAITING = { status: 'waiting' } as const;

/**
 * The leases of one worker on waiting events. An event is free once its `due_at` has passed; a lease moves `due_at` to
 * the end of the lease. If a worker dies, its events become free by themselves, without any clean-up.
 */
export class Leases {
  readonly #orm: MikroORM;
  readonly #leaseMs: number;
  /** PostgreSQL only: skips rows that another worker has locked instead of waiting for them. */
  readonly #skipsLocked: boolean;

  constructor(orm: MikroORM, leaseMs: number) {
    this.#orm = orm;
    this.#leaseMs = leaseMs;
    this.#skipsLocked = canSkipLocked(orm);
  }

  /**
   * Takes due events of up to `maxSubjects` subjects. Of each subject it takes the first waiting events, or none. A
   * later event must not overtake one that another worker holds or that waits for a retry.
   */
  async claim(maxSubjects: number): Promise<Look> {
    const em = this.#orm.em.fork();
    const lease = randomUUID();
    const found = await this.#findDue(em, false);
    if (found.length === 0) return { claims: [], isBarred: false };
    const taken = await (this.#skipsLocked
      ? em.transactional(async (within) => this.#take(within, await this.#findDue(within, true), lease, maxSubjects))
      : this.#take(em, found, lease, maxSubjects));
    if (taken === 0) return { claims: [], isBarred: this.#skipsLocked };
    const events = await this.#orm.em
      .fork()
      .find(OutboxEvent, { lease, ...WAITING }, { ...STORED, orderBy: { id: 'asc' } });
    const claims: Claim[] = [];
    const subjects = bySubject(events);
    const foreign = await this.#firstForeign(subjects, lease);
    for (const [subject, own] of subjects) {
      const before = foreign.get(subject);
      const count = before === undefined ? own.length : own.filter(({ id }) => id < before.id).length;
      if (count > 0) claims.push({ lease, events: own.slice(0, count) });
      await this.release(own.slice(count), dueAfter(before));
    }
    return { claims, isBarred: false };
  }

  /** Extends leases and returns their new end. */
  async extend(leases: readonly string[]): Promise<number> {
    const end = Date.now() + this.#leaseMs;
    const held = { lease: { $in: [...leases] }, ...WAITING };
    await this.#orm.em.fork().nativeUpdate(OutboxEvent, held, { due_at: new Date(end) }, STORED);
    return end;
  }

  /** Gives events back, due at a given time. */
  async release(events: readonly OutboxEvent[], dueAt: Date): Promise<void> {
    if (events.length === 0) return;
    await this.#orm.em.fork().nativeUpdate(OutboxEvent, heldBy(events), { lease: null, due_at: dueAt }, STORED);
  }

  /** Changes an event and ends its lease. Returns false if the lease was lost. */
  async finish(event: OutboxEvent, changes: Partial<OutboxEvent>): Promise<boolean> {
    const changed = await this.#orm.em
      .fork()
      .nativeUpdate(OutboxEvent, heldBy([event]), { ...changes, lease: null }, STORED);
    return changed > 0;
  }

  #findDue(em: EntityManager, isLocking: boolean): Promise<DueEvent[]> {
    return em.find(OutboxEvent, dueNow(), {
      ...STORED,
      fields: ['id', 'subject'],
      orderBy: { due_at: 'asc', id: 'asc' },
      limit: BATCH_SIZE,
      disableIdentityMap: true,
      ...(isLocking && { lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE }),
    });
  }

  async #take(em: EntityManager, found: readonly DueEvent[], lease: string, maxSubjects: number): Promise<number> {
    const ids = [...bySubject(found).values()].slice(0, maxSubjects).flatMap((events) => events.map(({ id }) => id));
    if (ids.length === 0) return 0;
    const end = new Date(Date.now() + this.#leaseMs);
    return em.nativeUpdate(OutboxEvent, { ...dueNow(), id: { $in: ids } }, { lease, due_at: end }, STORED);
  }

  /**
   * Finds the first waiting event of each subject that is not in this lease and comes before the lease's last event.
   */
  async #firstForeign(
    subjects: ReadonlyMap<string, readonly OutboxEvent[]>,
    lease: string,
  ): Promise<Map<string, OutboxEvent>> {
    const first = new Map<string, OutboxEvent>();
    const others = { $or: [{ lease: null }, { lease: { $ne: lease } }] };
    let names = [...subjects.values()].flatMap(([event]) => event!.subject ?? []);
    while (names.length > 0) {
      const last = names
        .map((name) => subjects.get(name)!.at(-1)!.id)
        .toSorted()
        .at(-1)!;
      const events = await this.#orm.em
        .fork()
        .find(
          OutboxEvent,
          { ...WAITING, subject: { $in: names }, id: { $lt: last }, ...others },
          { ...STORED, fields: ['id', 'subject', 'lease', 'due_at'], orderBy: { id: 'asc' }, limit: FOREIGN_SIZE },
        );
      for (const [subject, [event]] of bySubject(events)) first.set(subject, event as unknown as OutboxEvent);
      if (events.length < FOREIGN_SIZE) break;
      // The page was full: look again for the subjects that were not in it.
      names = names.filter((name) => !first.has(name));
    }
    return first;
  }
}

type DueEvent = Pick<OutboxEvent, 'id' | 'subject'>;

function dueNow() {
  return { ...WAITING, due_at: { $lte: new Date() } };
}

/** Groups events by their subjects. An event without a subject is its own group. */
function bySubject<Event extends { readonly id: string; readonly subject?: string | null | undefined }>(
  events: readonly Event[],
): Map<string, Event[]> {
  return Map.groupBy(events, ({ id, subject }) => subject ?? ` ${id}`);
}

/** Matches the events while the worker holds them. All have the same lease. */
function heldBy(events: readonly OutboxEvent[]): FilterQuery<OutboxEvent> {
  return { ...WAITING, id: { $in: events.map(({ id }) => id) }, lease: events[0]!.lease! };
}

/**
 * When the events behind another one are due. If another worker holds that one, it is soon done, so they are due at
 * once.
 */
function dueAfter(event: OutboxEvent | undefined): Date {
  return event !== undefined && event.lease === null ? event.due_at : new Date();
}
