import { type EntityManager, LockMode, type MikroORM } from '@mikro-orm/core';
import { canSkipLocked } from '@viewset/core';
import type { FastifyBaseLogger } from 'fastify';
import { randomUUID } from 'node:crypto';
import { ListChange, ListVersion, STORED } from './list-change.ts';

/** The most notes that one transaction takes. */
const BATCH_SIZE = 1000;

/** The version of each entity, by its name. An entity that was never written has none. */
export type Versions = ReadonlyMap<string, string>;

/** Notes that records of entities are changed, in the transaction of an entity manager. It is there if the transaction is committed. */
export async function noteChanges(em: EntityManager, entities: Iterable<string>): Promise<void> {
  const notes = [...new Set(entities)].map((entity) => ({ id: randomUUID(), entity }));
  // Whatever schema the entity manager is in, such as that of a tenant: all processes look into one table.
  const schema = em.config.getSchema();
  if (notes.length > 0) await em.insertMany(ListChange, notes, schema === undefined ? {} : { schema });
}

/**
 * The changes of all processes, by way of the database. A write adds a note, which becomes visible with its commit. Any process takes the notes that
 * it sees, and gives their entities new versions in the same transaction. So whoever reads the versions after that knows of the change, however late
 * the write was committed: no order of notes is asked for, in which one that comes late would be overlooked. Two processes that take the same note
 * give two versions, which costs one look too many.
 */
export class ChangeLog {
  readonly #orm: MikroORM;
  readonly #log: FastifyBaseLogger;
  /** PostgreSQL alone: a process does not wait for the notes that another one is about to take. */
  readonly #skipsLocked: boolean;

  constructor(orm: MikroORM, log: FastifyBaseLogger) {
    this.#orm = orm;
    this.#log = log;
    this.#skipsLocked = canSkipLocked(orm);
  }

  /**
   * Takes the notes that there are. Then returns the versions. An entity whose notes could not be taken has a new version each time, as its records
   * are changed already. On PostgreSQL another process may be taking the notes, and its versions come later. On MongoDB a process that was killed keeps
   * its locks for a minute.
   */
  async read(): Promise<Versions> {
    const left = await this.take().catch((error: unknown) => this.#untaken(error));
    const rows = await this.#orm.em.fork().find(ListVersion, {}, STORED);
    const versions = new Map(rows.map(({ id, version }) => [id, version]));
    for (const { entity } of left) versions.set(entity, randomUUID());
    return versions;
  }

  /** Takes the notes that there are. Returns those that it has left to another process. */
  async take(): Promise<ListChange[]> {
    const left: ListChange[] = [];
    for (let taken = BATCH_SIZE; taken === BATCH_SIZE;) taken = await this.#takeSome(left);
    return left;
  }

  #untaken(err: unknown): Promise<ListChange[]> {
    this.#log.debug({ err }, 'changes of live lists could not be taken');
    return this.#find(this.#orm.em.fork(), false);
  }

  async #takeSome(left: ListChange[]): Promise<number> {
    const em = this.#orm.em.fork();
    const seen = await this.#find(em, false);
    if (seen.length === 0) return 0;
    return em.transactional(async (within) => {
      const notes = this.#skipsLocked ? await this.#find(within, true) : seen;
      const ids = new Set(notes.map(({ id }) => id));
      left.push(...seen.filter(({ id }) => !ids.has(id)));
      if (notes.length === 0) return 0;
      // First of all a write, so that SQLite need not make a writer of a reader.
      await within.nativeDelete(ListChange, { id: { $in: [...ids] } }, STORED);
      // In one order, so that no two processes wait for each other.
      const entities = [...new Set(notes.map(({ entity }) => entity))].toSorted();
      for (const id of entities) {
        const version = randomUUID();
        const changed = await within.nativeUpdate(ListVersion, { id }, { version }, STORED);
        if (changed === 0) await within.insert(ListVersion, { id, version });
      }
      return notes.length;
    });
  }

  #find(em: EntityManager, isLocking: boolean): Promise<ListChange[]> {
    const some = { ...STORED, limit: BATCH_SIZE, disableIdentityMap: true } as const;
    const lockMode = LockMode.PESSIMISTIC_PARTIAL_WRITE as const;
    return em.find(ListChange, {}, isLocking ? { ...some, lockMode } : some);
  }
}
