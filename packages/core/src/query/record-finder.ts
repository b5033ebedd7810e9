import type { EntityManager } from '@mikro-orm/core';
import { type Awaitable, whenReady } from '../awaitable.ts';
import type { FieldPath } from '../fields/field-path.ts';
import { compare } from '../language/compare.ts';
import { and, type Condition, isNever } from '../language/condition.ts';
import { type EntityManagerSource, unfilteredReader } from './entity-manager-source.ts';
import { primaryKey } from '../language/order.ts';
import type { Projection } from '../language/projection.ts';
import type { QuerySet } from './queryset.ts';
import { entityPlan, type EntityPlan } from '../backends/sql/entity-plan.ts';
import { selectionOf } from '../backends/sql/selection.ts';
import { bindStatement, type Bound, oneRow } from '../backends/sql/statement.ts';

/** The statement of one schema, and the values that it binds behind those of the key. */
interface Prepared extends Bound {
  readonly plan: EntityPlan;
}

/**
 * Finds a record by its primary key among the records of a query set, whatever its order and slice: for a question that
 * every request asks. What does not depend on the key is settled once. The filters of MikroORM that are on apply.
 *
 * @example
 * const active = new RecordFinder(QuerySet.of(em, Account).filter({ is_active: true }), projection);
 * await active.find(request, 7);   // a record, or undefined
 */
export class RecordFinder<Entity extends object, R> {
  readonly #records: QuerySet<Entity>;
  readonly #projection: Projection<R>;
  readonly #key: FieldPath;
  #prepared: Prepared | undefined;

  constructor(records: QuerySet<Entity>, projection: Projection<R>) {
    this.#records = records.slice(0, Number.MAX_SAFE_INTEGER);
    this.#projection = projection;
    this.#key = primaryKey(records.meta);
  }

  /**
   * The record, or undefined where there is none: at once where the driver answers at once. What is thrown for a key is
   * thrown at once.
   *
   * @param source what to read with: a request, or an entity manager
   * @throws FieldValueError for a key of another type than the primary key's
   * @throws ImproperlyConfigured for undefined
   */
  find(source: EntityManager | EntityManagerSource, key: unknown): Awaitable<R | undefined> {
    const asked = compare(this.#key, 'exact', key);
    const { meta, condition } = this.#records;
    if (isNever(condition)) return undefined;
    const em = unfilteredReader(source, meta);
    // What filters add may differ from call to call, and what no key can be is asked in other words, or not at all.
    const isPlain = asked.kind === 'compare' && asked.lookup === 'exact' && this.#projection.ofEntities !== true;
    if (em === undefined || !isPlain) return this.#records.using(source).where(asked).first(this.#projection);
    const plan = entityPlan(em, meta);
    const keyValues = plan.dialect.compare(this.#key, 'exact', asked.value).values;
    const { statement, values } = this.#prepare(em, plan, asked, keyValues.length);
    const found = plan.dialect.read(em, (reader) => reader.rows(statement, [...keyValues, ...values]));
    return whenReady(found, ([row]) => (row === undefined ? undefined : this.#projection.readRow(row)));
  }

  #prepare(em: EntityManager, plan: EntityPlan, asked: Condition, keyValues: number): Prepared {
    if (this.#prepared?.plan === plan) return this.#prepared;
    const question = oneRow(selectionOf(this.#projection), { condition: and(asked, this.#records.condition) });
    const { statement, values } = bindStatement(em, plan, question);
    return (this.#prepared = { plan, statement, values: values.slice(keyValues) });
  }
}
