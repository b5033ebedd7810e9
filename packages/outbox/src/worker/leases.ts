import { type EntityManager, type FilterQuery, LockMode, type MikroORM } from '@mikro-orm/core';
import { canSkipLocked } from '@viewset/core';
import { randomUUID } from 'node:crypto';
import { OutboxEvent, STORED } from '../outbox-event.ts';

/** Events of one subject in their order, which one worker has. */
export interface Claim {
  readonly lease: string;
  readonly events: readonly OutboxEvent[];
}

/** What came of a look for events. */
export interface Look {
  readonly claims: readonly Claim[];
  /** True if there are events that are due, all of which other workers have locked: they may leave some of them in a moment. */
  readonly isBarred: boolean;
}

/** So many events are looked at to find those of several subjects. */
const BATCH_SIZE = 100;
/** So many events of other workers are looked at to find those that come first. */
const FOREIGN_SIZE = 1000;
const WAITING = { status: 'waiting' } as const;

/**
 * The leases of one worker on waiting events. An event whose `due_at` has come belongs to nobody; a lease puts `due_at` off to its own end. So a
 * worker that dies leaves its events to the others, and no clean-up is needed.
 */
export class Leases {
  readonly #orm: MikroORM;
  readonly #leaseMs: number;
  /** PostgreSQL alone: a worker does not wait for the rows that another one is about to take. */
  readonly #skipsLocked: boolean;

  constructor(orm: MikroORM, leaseMs: number) {
    this.#orm = orm;
    this.#leaseMs = leaseMs;
    this.#skipsLocked = canSkipLocked(orm);
  }

  /**
   * Takes events that are due, of some subjects at most. Of one subject it takes the first events that wait, or none: a later event must not
   * overtake one that another worker has, or that is to be tried again.
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

  /** Extends leases, the ends of which it returns. */
  async extend(leases: readonly string[]): Promise<number> {
    const end = Date.now() + this.#leaseMs;
    const held = { lease: { $in: [...leases] }, ...WAITING };
    await this.#orm.em.fork().nativeUpdate(OutboxEvent, held, { due_at: new Date(end) }, STORED);
    return end;
  }

  /** Gives events back, to be delivered from some time on. */
  async release(events: readonly OutboxEvent[], dueAt: Date): Promise<void> {
    if (events.length === 0) return;
    await this.#orm.em.fork().nativeUpdate(OutboxEvent, heldBy(events), { lease: null, due_at: dueAt }, STORED);
  }

  /** Changes an event, and ends its lease. Answers false if the lease was lost. */
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

  /** Finds the first waiting event of each subject that the lease does not have, among those before the last one that it has. */
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
      // There are more, which may be of the subjects of which none was among these.
      names = names.filter((name) => !first.has(name));
    }
    return first;
  }
}

type DueEvent = Pick<OutboxEvent, 'id' | 'subject'>;

function dueNow() {
  return { ...WAITING, due_at: { $lte: new Date() } };
}

/** Groups events by their subjects. One without a subject is a group of its own. */
function bySubject<Event extends { readonly id: string; readonly subject?: string | null | undefined }>(
  events: readonly Event[],
): Map<string, Event[]> {
  return Map.groupBy(events, ({ id, subject }) => subject ?? ` ${id}`);
}

/** The events, as long as the worker has them. All have one lease. */
function heldBy(events: readonly OutboxEvent[]): FilterQuery<OutboxEvent> {
  return { ...WAITING, id: { $in: events.map(({ id }) => id) }, lease: events[0]!.lease! };
}

/** The time from which the events behind one may be delivered: at once if another worker has that one, which then is soon done. */
function dueAfter(event: OutboxEvent | undefined): Date {
  return event !== undefined && event.lease === null ? event.due_at : new Date();
}
