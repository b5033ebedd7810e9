import type { EntityManager, EntityMetadata, MikroORM } from '@mikro-orm/core';
import type { Awaitable } from '../awaitable.ts';
import type { FieldPath } from '../fields/field-path.ts';
import type { Condition } from '../language/condition.ts';
import type { Group, Grouping } from '../language/grouping.ts';
import type { Projection } from '../language/projection.ts';
import type { Counting, Page, Query, Slice } from '../language/query.ts';
import type { DatabaseErrors } from './database-errors.ts';
import type { Source } from './source.ts';

/** Options of records that are read as entities. */
export interface EntityOptions {
  /** To-one relations (`role`, `role.parent`) and lazy fields to load in the same statement. */
  readonly populate?: readonly string[];
  /** Locks the records against other writers until the transaction ends (`for update`). Only inside a transaction. */
  readonly lock?: boolean;
}

/** A write of one record without an entity. */
export interface RowWrite<Record> {
  readonly em: EntityManager;
  readonly meta: EntityMetadata;
  /** Reads the record as it was stored. */
  readonly projection: Projection<Record>;
  /** The request that the record is written for; nothing is written once it is given up. */
  readonly request: object;
}

/** A line for the log of an application that starts. */
export interface StartWarning {
  readonly message: string;
  readonly details: object;
}

/**
 * A kind of database: runs what the language says. One serves an ORM (`backendOf`), and nothing above it knows how. The
 * filters of MikroORM that are on apply to whatever is read; within a transaction of the entity manager everything is
 * part of it. An answer comes at once if the driver answers at once.
 */
export interface Backend {
  readonly name: string;
  readonly errors: DatabaseErrors;
  /** True if a transaction within another is rolled back by itself: by a savepoint. */
  readonly hasSavepoints: boolean;
  /**
   * Tells if an error says that a transaction has lost a race against another, nothing of it was written, and it is to be run anew. A
   * database whose transactions wait for each other by locks has none.
   */
  isLostRace(error: unknown): boolean;
  /**
   * Ends the transaction of an entity manager of which a part has failed, on a database without savepoints: nobody can commit it any more.
   * Its owner may still roll it back, of which MikroORM's subscribers then hear; anything else that is asked of it fails with the error that
   * `problem` makes.
   */
  spoilTransaction(em: EntityManager, problem: () => Error): Promise<void>;
  /** Gives back what a transaction holds beyond its end. */
  releaseTransaction(transaction: object): Promise<void>;
  /**
   * Prepares an ORM when the application starts, and checks its server. An application starts without an answer of its database too: it
   * waits no longer than a hook of Fastify may take.
   *
   * @throws ImproperlyConfigured for a server that cannot serve the ORM
   */
  start(orm: MikroORM): Promise<readonly StartWarning[]>;
  /** @throws ImproperlyConfigured for an entity that cannot be served, with the reason */
  checkEntity(meta: EntityMetadata): void;
  /** The records of a slice, or all of them. */
  rows<Record>(
    source: Source,
    query: Query,
    slice: Slice | undefined,
    projection: Projection<Record>,
  ): Awaitable<Record[]>;
  /** The record for which a condition on a unique column is true as well. */
  find<Record>(
    source: Source,
    query: Query,
    key: Condition,
    projection: Projection<Record>,
  ): Awaitable<Record | undefined>;
  /** The records of a slice, how many there are without it, and whether any follow. */
  page<Record>(
    source: Source,
    query: Query,
    slice: Slice | undefined,
    projection: Projection<Record>,
    counting: Counting,
  ): Awaitable<Page<Record, number | null>>;
  /** The number of records. */
  count(source: Source, query: Query): Awaitable<number>;
  /** The groups that the records are in, in any order; none if there are no records. */
  groups(source: Source, query: Query, grouping: Grouping): Awaitable<Group[]>;
  /** True if there is any record. */
  exists(source: Source, query: Query): Awaitable<boolean>;
  /** The records of a slice as entities that the entity manager of the source manages. */
  entities(source: Source, query: Query, slice: Slice | undefined, options: EntityOptions): Promise<object[]>;
  /**
   * Returns, for values that records were looked up by, what the records of a query have in their place: databases hold texts equal that
   * JavaScript does not (citext, `nocase`, `inet`). A value without a record is left out.
   */
  storedValues(
    source: Source,
    query: Query,
    path: FieldPath,
    values: readonly unknown[],
  ): Awaitable<ReadonlyMap<unknown, unknown>>;
  /**
   * Reads the records of relations to many that a projection shows of entities, by one statement for each relation and level, and
   * what related records tell of them, by one more. Keeps both for its `readEntity`.
   */
  loadRelated(source: Source, entities: readonly object[], projection: Projection<unknown>): Promise<void>;
  /**
   * Stores a record without an entity, and reads what was stored. Of this and the two that follow, nothing is
   * written once the request is given up, and a statement that waits by then is cancelled.
   */
  insert<Record>(write: RowWrite<Record> & { readonly data: object }): Awaitable<Record>;
  /** Changes the record that the condition names, without an entity; undefined if it is true of none. */
  update<Record>(
    write: RowWrite<Record> & { readonly data: object; readonly condition: Condition },
  ): Awaitable<Record | undefined>;
  /** Deletes the record that the condition names, without an entity; false if it is true of none. */
  remove(write: Omit<RowWrite<unknown>, 'projection'> & { readonly condition: Condition }): Awaitable<boolean>;
  /** Tells why `remove` takes more than one command for the records of an entity; no reason if it is one. */
  removalReasons(em: EntityManager, meta: EntityMetadata): readonly string[];
  /**
   * The tables whose records the database itself may change or drop after a write, which the answer of the write does not
   * show: in lower case and of any schema.
   */
  tablesWithTriggers(em: EntityManager): Promise<ReadonlySet<string>>;
}

/** The error of an insert after which there is no record: a trigger or a rule of the table has dropped it. It is answered by a 409. */
export class NotStored extends Error {
  constructor({ className, tableName }: EntityMetadata) {
    super(`${className}: the insert stored no record; does a trigger of the table "${tableName}" drop it?`);
  }
}
