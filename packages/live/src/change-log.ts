import { type EntityManager, LockMode, type MikroORM } from '@mikro-orm/core';
import { canSkipLocked } from '@viewset/core';
import type { FastifyBaseLogger } from 'fastify';
import { randomUUID } from 'node:crypto';
import { ListChange, ListVersion, STORED } from './list-change.ts';

/** The most notes that one transaction takes. */
const BATCH_SIZE = 1000;

/** The version of each entity, by name. An entity that was never written has none. */
export type Versions = ReadonlyMap<string, string>;

/**
 * Notes that records of entities have changed, in an entity manager's transaction. The note only exists if the
 * transaction commits.
 */
export async function noteChanges(em: EntityManager, entities: Iterable<string>): Promise<void> {
  const notes = [...new Set(entities)].map((entity) => ({ id: randomUUID(), entity }));
  // Ignores the entity manager's own schema, such as a tenant's: all processes use one table.
  const schema = em.config.getSchema();
  if (notes.length > 0) await em.insertMany(ListChange, notes, schema === undefined ? {} : { schema });
}

/**
 * The changes of all processes, shared through the database. A write adds a note, which becomes visible with its
 * commit. A process takes the notes that it sees, and gives their entities new versions in the same transaction.
 * Anybody who reads the versions afterwards sees the change, however late its write was committed. Notes need no order,
 * in which a late one could be missed. If two processes take the same note, it gets two versions, which only costs one
 * unnecessary look.
 */
export class ChangeLog {
  readonly #orm: MikroORM;
  readonly #log: FastifyBaseLogger;
  /** PostgreSQL only: skips notes that another process has locked instead of waiting for them. */
  readonly #skipsLocked: boolean;

  constructor(orm: MikroORM, log: FastifyBaseLogger) {
    this.#orm = orm;
    this.#log = log;
    this.#skipsLocked = canSkipLocked(orm);
  }

  /**
   * Takes the existing notes. Then returns the versions. If an entity's notes could not be taken, it gets a new version
   * on every call, because its records have already changed. On PostgreSQL, another process may be taking the notes,
   * and its versions come later. On MongoDB, a killed process keeps its locks for a minute.
   */
  async read(): Promise<Versions> {
    const left = await this.take().catch((error: unknown) => this.#untaken(error));
    const rows = await this.#orm.em.fork().find(ListVersion, {}, STORED);
    const versions = new Map(rows.map(({ id, version }) => [id, version]));
    for (const { entity } of left) versions.set(entity, randomUUID());
    return versions;
  }

  /** Takes the existing notes. Returns the notes that were left to another process. */
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
      // The write comes first, so that SQLite does not have to turn a reader into a writer.
      await within.nativeDelete(ListChange, { id: { $in: [...ids] } }, STORED);
      // Sorted, so that two processes cannot wait for each other.
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
