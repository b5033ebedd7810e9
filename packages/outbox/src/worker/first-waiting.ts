import { type EntityManager, type FilterQuery, type MikroORM, raw } from '@mikro-orm/core';
import { CLAIMED_FIELDS, type ClaimedEvent, OutboxEvent, STORED } from '../outbox-event.ts';

/** The event that may be delivered next, of a subject or without one. */
export type Head = Pick<OutboxEvent, 'id' | 'subject' | 'share' | 'share_owner'>;

/** Due events to look for. */
export interface HeadSearch {
  /** Events that are due and free. */
  readonly where: FilterQuery<OutboxEvent>;
  readonly limit: number;
  /** Options of the query, such as a lock. */
  readonly options?: object;
}

/** Finds what may be delivered next: the first waiting event of each subject, and events without a subject. */
export interface FirstWaiting {
  /** Finds due heads, those due longest first. */
  findHeads(em: EntityManager, search: HeadSearch): Promise<readonly Head[]>;
  /** Finds the first waiting events of each subject, `perSubject` at most, in order. */
  findFirst(em: EntityManager, subjects: readonly string[], perSubject: number): Promise<readonly ClaimedEvent[]>;
}

const FIELDS = ['id', 'subject', 'share', 'share_owner'] as const;
const BY_DUE = { ...STORED, fields: FIELDS, orderBy: { due_at: 'asc', id: 'asc' }, disableIdentityMap: true } as const;
const WAITING = { status: 'waiting' } as const;

/** Chooses the queries of an ORM's database. */
export function firstWaitingOf(orm: MikroORM): FirstWaiting {
  return orm.em.getPlatform().usesPivotTable() ? new SqlFirstWaiting(orm) : new DocumentFirstWaiting();
}

/** One query, which compares each due event with the first waiting one of its subject. */
class SqlFirstWaiting implements FirstWaiting {
  readonly #first: (alias: string) => string;

  constructor({ em, config }: MikroORM) {
    const meta = em.getMetadata(OutboxEvent);
    const quote = (name: string): string => em.getPlatform().quoteIdentifier(name);
    const schema = meta.schema ?? config.getSchema();
    const table = schema === undefined ? quote(meta.tableName) : `${quote(schema)}.${quote(meta.tableName)}`;
    const [id, subject, status] = (['id', 'subject', 'status'] as const).map((name) =>
      quote(meta.properties[name].fieldNames[0]!),
    );
    // A subquery with a limit, because PostgreSQL could turn "not exists" into a join of all waiting events.
    this.#first = (name) =>
      `select f.${id} from ${table} f where f.${subject} = ${name} and f.${status} = 'waiting' order by f.${id} limit `;
    this.#columns = { id: id!, subject: subject! };
  }

  readonly #columns: { readonly id: string; readonly subject: string };

  async findHeads(em: EntityManager, { where, limit, options }: HeadSearch): Promise<readonly Head[]> {
    const { id, subject } = this.#columns;
    const isFirst = raw(
      (alias) => `(${alias}.${subject} is null or ${alias}.${id} = (${this.#first(`${alias}.${subject}`)} 1))`,
    );
    const heads = { $and: [where, { [isFirst as unknown as string]: [] }] } as FilterQuery<OutboxEvent>;
    return em.find(OutboxEvent, heads, { ...BY_DUE, limit, ...options });
  }

  async findFirst(
    em: EntityManager,
    subjects: readonly string[],
    perSubject: number,
  ): Promise<readonly ClaimedEvent[]> {
    if (subjects.length === 0) return [];
    const each = subjects.map(() => `select * from (${this.#first('?')} ${perSubject}) f`).join(' union all ');
    const isFirst = raw((alias) => `${alias}.${this.#columns.id} in (${each})`, [...subjects]);
    const where = { ...WAITING, [isFirst as unknown as string]: [] } as FilterQuery<OutboxEvent>;
    return em.find(OutboxEvent, where, { ...STORED, fields: CLAIMED_FIELDS, orderBy: { id: 'asc' } });
  }
}

/** How many due events one query of a document database reads. */
const WINDOW_SIZE = 200;

/**
 * One query for due events, and one for the first event of each of their subjects. Events behind another one are passed
 * by subject, so a backlog of one subject costs one round.
 */
class DocumentFirstWaiting implements FirstWaiting {
  async findHeads(em: EntityManager, search: HeadSearch): Promise<readonly Head[]> {
    const heads: Head[] = [];
    const passed: string[] = [];
    const passedIds: string[] = [];
    for (;;) {
      const others = { $or: [{ subject: null }, { subject: { $nin: [...passed] } }] };
      const rest = { $and: [search.where, others, { id: { $nin: [...passedIds] } }] } as FilterQuery<OutboxEvent>;
      const found = await em.find(OutboxEvent, rest, { ...BY_DUE, limit: WINDOW_SIZE });
      const bySubject = Map.groupBy(found, ({ id, subject }) => subject ?? ` ${id}`);
      const some = [...bySubject.values()].slice(0, search.limit - heads.length);
      const first = await Promise.all(some.map((events) => this.#headOf(em.fork(), events, search)));
      heads.push(...first.flat());
      if (heads.length === search.limit || (found.length < WINDOW_SIZE && some.length === bySubject.size)) return heads;
      for (const [event] of some) {
        if (typeof event!.subject !== 'string') passedIds.push(event!.id);
        else passed.push(event!.subject);
      }
    }
  }

  /** Finds the first waiting event of the subject of some due events, if it is due and free. */
  async #headOf(em: EntityManager, found: readonly Head[], { where }: HeadSearch): Promise<readonly Head[]> {
    const { subject } = found[0]!;
    if (typeof subject !== 'string') return found;
    const options = { ...STORED, fields: FIELDS, disableIdentityMap: true } as const;
    const [first] = await em.find(
      OutboxEvent,
      { ...WAITING, subject },
      { ...options, orderBy: { id: 'asc' }, limit: 1 },
    );
    if (first === undefined) return [];
    const known = found.find(({ id }) => id === first.id);
    if (known !== undefined) return [known];
    return em.find(OutboxEvent, { $and: [where, { id: first.id }] }, options);
  }

  async findFirst(
    em: EntityManager,
    subjects: readonly string[],
    perSubject: number,
  ): Promise<readonly ClaimedEvent[]> {
    const options = { ...STORED, fields: CLAIMED_FIELDS, orderBy: { id: 'asc' }, limit: perSubject } as const;
    const found = await Promise.all(
      subjects.map((subject) => em.fork().find(OutboxEvent, { ...WAITING, subject }, options)),
    );
    return found.flat();
  }
}
