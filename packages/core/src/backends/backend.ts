import type { EntityManager, EntityMetadata, MikroORM } from '@mikro-orm/core';
import type { Awaitable } from '../support/awaitable.ts';
import type { FieldPath } from '../fields/field-path.ts';
import type { ColumnDifference } from '../mikro/column-differences.ts';
import type { Warn } from '../mikro/replicas.ts';
import type { Condition } from '../query/language/condition.ts';
import type { Group, Grouping } from '../query/language/grouping.ts';
import type { Projection } from '../query/language/projection.ts';
import type { Counting, Page, Query, Slice } from '../query/language/query.ts';
import type { DatabaseErrors, PlacedViolation, Violation } from './database-errors.ts';
import type { Source } from './source.ts';

/** Options for reading records as entities. */
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
  /** Reads the stored record. */
  readonly projection: Projection<Record>;
  /** The request behind the write. Nothing is written once it is given up. */
  readonly request: object;
}

/** A warning for the log at the start of an application. */
export interface StartWarning {
  readonly message: string;
  readonly details: object;
}

/**
 * A kind of database. It runs the queries of the language. One backend serves an ORM (`backendOf`), and hides all
 * details from the layers above. MikroORM's enabled filters apply to all reads. Within a transaction of the entity
 * manager, all work is part of it. If the driver is synchronous, so is the result.
 */
export interface Backend {
  readonly name: string;
  readonly errors: DatabaseErrors;
  /** True if a nested transaction can be rolled back separately, by a savepoint. */
  readonly hasSavepoints: boolean;
  /**
   * Ends a transaction after a part of it has failed, on a database without savepoints. Then it cannot be committed.
   * Its owner may still roll it back, which notifies MikroORM's subscribers. All other work on it fails with the error
   * that `problem` makes.
   */
  markRollbackOnly(em: EntityManager, problem: () => Error): Promise<void>;
  /** Releases resources that a transaction holds beyond its end. */
  releaseTransaction(transaction: object): Promise<void>;
  /**
   * Prepares an ORM at the start of the application, and checks its server. The application also starts if its database
   * does not answer. This waits no longer than a Fastify hook may take.
   *
   * @param warn writes to the log of the application, also later
   * @throws ImproperlyConfigured for a server that does not support the ORM
   */
  start(orm: MikroORM, warn: Warn): Promise<readonly StartWarning[]>;
  /**
   * Reports whether the database lacks the table of an entity, or a column of it: `the table "book"`. Undefined if it has
   * all of them, or needs no tables.
   */
  missingPart(em: EntityManager, meta: EntityMetadata): Promise<string | undefined>;
  /** Lists the columns that the database describes otherwise than the entities. None, if it has no columns. */
  differingColumns(orm: MikroORM): Promise<readonly ColumnDifference[]>;
  /**
   * Lists the names that no constraint of the database has. A trigger may report a name too.
   *
   * @param declared the names that an entity declares; a database that has no such constraints leaves them out
   */
  unknownConstraints(
    orm: MikroORM,
    names: readonly string[],
    declared: ReadonlySet<string>,
  ): Promise<readonly string[]>;
  /** @throws ImproperlyConfigured for an unsupported entity, with the reason */
  checkEntity(meta: EntityMetadata): void;
  /** Returns the records of a slice, or all records. */
  rows<Record>(
    source: Source,
    query: Query,
    slice: Slice | undefined,
    projection: Projection<Record>,
  ): Awaitable<Record[]>;
  /** Returns the record that also matches a condition on a unique column. */
  find<Record>(
    source: Source,
    query: Query,
    key: Condition,
    projection: Projection<Record>,
  ): Awaitable<Record | undefined>;
  /** Returns the records of a slice, the number of all records, and whether more follow. */
  page<Record>(
    source: Source,
    query: Query,
    slice: Slice | undefined,
    projection: Projection<Record>,
    counting: Counting,
  ): Awaitable<Page<Record, number | null>>;
  /** Returns the number of records. */
  count(source: Source, query: Query): Awaitable<number>;
  /** Returns the groups of the records, in any order. Empty if there are no records. */
  groups(source: Source, query: Query, grouping: Grouping): Awaitable<Group[]>;
  /** Reports whether there is any record. */
  exists(source: Source, query: Query): Awaitable<boolean>;
  /** Returns the records of a slice as entities that the source's entity manager manages. */
  entities(source: Source, query: Query, slice: Slice | undefined, options: EntityOptions): Promise<object[]>;
  /**
   * Maps values of a lookup to the stored values that the database considers equal. Databases have equal texts that
   * JavaScript does not (citext, `nocase`, `inet`). Values without a record are omitted.
   */
  storedValues(
    source: Source,
    query: Query,
    path: FieldPath,
    values: readonly unknown[],
  ): Awaitable<ReadonlyMap<unknown, unknown>>;
  /**
   * Reads the records of to-many relations that a projection shows of entities, with one statement for each relation
   * and level. Reads values from related records with one more statement. Stores both for the projection's
   * `readEntity`.
   */
  loadRelated(source: Source, entities: readonly object[], projection: Projection<unknown>): Promise<void>;
  /**
   * Stores a record without an entity, and reads the stored record. This applies to `insert`, `update` and `remove`:
   * once the request is given up, nothing is written, and a waiting statement is cancelled.
   */
  insert<Record>(write: RowWrite<Record> & { readonly data: object }): Awaitable<Record>;
  /** Changes the record that matches the condition, without an entity. Undefined if none matches. */
  update<Record>(
    write: RowWrite<Record> & { readonly data: object; readonly condition: Condition },
  ): Awaitable<Record | undefined>;
  /** Deletes the record that matches the condition, without an entity. False if none matches. */
  remove(write: Omit<RowWrite<unknown>, 'projection'> & { readonly condition: Condition }): Awaitable<boolean>;
  /** Lists the reasons why `remove` needs more than one command for the records of an entity. Empty if it needs one. */
  removalReasons(em: EntityManager, meta: EntityMetadata): readonly string[];
  /**
   * Finds the entities whose records a violation is about. The database may report it for another table than the
   * entity's: a partition, a table that inherits it, or the table beneath a view. This may run a query, so call it after
   * the failed transaction or savepoint has ended.
   */
  placeViolation(em: EntityManager, violation: Violation, metas: readonly EntityMetadata[]): Awaitable<PlacedViolation>;
  /**
   * Lists the tables whose records the database may change or drop after a write, without showing it in the result. The
   * names are in lower case and without a schema.
   */
  tablesWithTriggers(em: EntityManager): Promise<ReadonlySet<string>>;
}

/**
 * The error of an insert that stored no record, because a trigger or a rule of the table dropped it. The response is
 * 409.
 */
export class NotStored extends Error {
  constructor({ className, tableName }: EntityMetadata) {
    super(`${className}: the insert stored no record; does a trigger of the table "${tableName}" drop it?`);
  }
}
