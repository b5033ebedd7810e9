import { type EntityManager, type FilterQuery, LockMode, type MikroORM } from '@mikro-orm/core';
import { randomUUID } from 'node:crypto';
import { OutboxEvent, STORED } from '../outbox-event.ts';

/** Events of one subject in their order, which one worker has. */
export interface Claim {
  readonly lease: string;
  readonly events: readonly OutboxEvent[];
}

/** So many events are looked at to find those of several subjects. */
const BATCH_SIZE = 100;
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
    this.#skipsLocked = orm.em.getPlatform().supportsRowLevelSecurity();
  }

  /**
   * Takes events that are due, of some subjects at most. Of one subject it takes the first events that wait, or none: a later event must not
   * overtake one that another worker has, or that is to be tried again.
   */
  async claim(maxSubjects: number): Promise<Claim[]> {
    const em = this.#orm.em.fork();
    const lease = randomUUID();
    const take = (within: EntityManager): Promise<number> => this.#take(within, lease, maxSubjects);
    const taken = await (this.#skipsLocked ? em.transactional(take) : take(em));
    if (taken === 0) return [];
    const events = await this.#orm.em
      .fork()
      .find(OutboxEvent, { lease, ...WAITING }, { ...STORED, orderBy: { id: 'asc' } });
    const subjects = bySubject(events);
    const places = await this.#placesOf(subjects);
    const claims: Claim[] = [];
    for (const [subject, own] of subjects) {
      const waiting = places.get(subject);
      const foreign = waiting?.findIndex((each) => each.lease !== lease) ?? -1;
      const first = foreign === -1 ? own : own.slice(0, foreign);
      if (first.length > 0) claims.push({ lease, events: first });
      if (first.length < own.length) await this.release(own.slice(first.length), dueAfter(waiting?.[foreign]));
    }
    return claims;
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

  async #take(em: EntityManager, lease: string, maxSubjects: number): Promise<number> {
    const now = new Date();
    const due: FilterQuery<OutboxEvent> = { ...WAITING, due_at: { $lte: now } };
    const found = await em.find(OutboxEvent, due, {
      ...STORED,
      fields: ['id', 'subject'],
      orderBy: { due_at: 'asc', id: 'asc' },
      limit: BATCH_SIZE,
      disableIdentityMap: true,
      ...(this.#skipsLocked && { lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE }),
    });
    const ids = [...bySubject(found).values()].slice(0, maxSubjects).flatMap((events) => events.map(({ id }) => id));
    if (ids.length === 0) return 0;
    const end = new Date(now.getTime() + this.#leaseMs);
    return em.nativeUpdate(OutboxEvent, { ...due, id: { $in: ids } }, { lease, due_at: end }, STORED);
  }

  /** Finds the events of subjects that wait, up to the last one that was taken, in their order. */
  async #placesOf(subjects: ReadonlyMap<string, readonly OutboxEvent[]>): Promise<Map<string, OutboxEvent[]>> {
    const names = [...subjects.values()].flatMap(([first]) => first!.subject ?? []);
    if (names.length === 0) return new Map();
    const last = [...subjects.values()]
      .flatMap((events) => events.at(-1)!.id)
      .toSorted()
      .at(-1)!;
    const waiting = await this.#orm.em
      .fork()
      .find(
        OutboxEvent,
        { ...WAITING, subject: { $in: names }, id: { $lte: last } },
        { ...STORED, fields: ['id', 'subject', 'lease', 'due_at'], orderBy: { id: 'asc' }, limit: 10 * BATCH_SIZE },
      );
    return bySubject(waiting as unknown as OutboxEvent[]);
  }
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
