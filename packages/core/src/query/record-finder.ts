import type { EntityManager } from '@mikro-orm/core';
import type { Awaitable } from '../awaitable.ts';
import type { EntityManagerSource } from '../backends/source.ts';
import { type Projection, withJoinedChildren } from '../language/projection.ts';
import type { QuerySet } from './queryset.ts';

/**
 * Finds a record by its primary key among the records of a query set, whatever its order and slice: for a question that
 * every request asks. Its statement is written once. The filters of MikroORM that are on apply.
 *
 * If the records show a relation to many, the same statement reads it: a user comes with its roles. That fits few related records. Further
 * relations to many, and those with a `limit`, take a statement each.
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
   * The record, or undefined if there is none: at once if the driver answers at once. What is thrown for a key is thrown
   * at once.
   *
   * @param source what to read with: a request, or an entity manager
   * @throws FieldValueError for a key of another type than the primary key's
   * @throws ImproperlyConfigured for undefined
   */
  find(source: EntityManager | EntityManagerSource, key: unknown): Awaitable<R | undefined> {
    return this.#records.using(source).find(key, this.#projection);
  }
}
