import type { EntityManager } from '@mikro-orm/core';
import type { Awaitable } from '../support/awaitable.ts';
import type { EntityManagerSource } from '../backends/source.ts';
import { type Projection, withJoinedChildren } from './language/projection.ts';
import type { QuerySet } from './queryset.ts';

/**
 * Finds a record by its primary key in a query set, ignoring its order and slice. Use it for a query that every request
 * makes, because its statement is built once. The active MikroORM filters apply.
 *
 * If the projection reads a to-many relation, the same statement reads it: a user comes with its roles. That suits a
 * few related records. Each further to-many relation, and each one with a `limit`, runs a separate statement.
 *
 * @example
 * const active = new RecordFinder(QuerySet.of(em, Account).filter({ is_active: true }), projection);
 * await active.find(request, 7);   // a record, or undefined
 */
export class RecordFinder<Entity extends object, R> {
  readonly #records: QuerySet<Entity>;
  readonly #projection: Projection<R>;

  constructor(records: QuerySet<Entity>, projection: Projection<R>) {
    this.#records = records.by('view');
    this.#projection = withJoinedChildren(projection);
  }

  /**
   * Returns the record, or undefined if it does not exist. It is synchronous if the driver is. Errors about the key are
   * always thrown synchronously.
   *
   * @param source the request or entity manager to read with
   * @throws FieldValueError for a key of another type than the primary key's
   * @throws ImproperlyConfigured for undefined
   */
  find(source: EntityManager | EntityManagerSource, key: unknown): Awaitable<R | undefined> {
    return this.#records.using(source).find(key, this.#projection);
  }
}
