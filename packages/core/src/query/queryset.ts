import type { EntityManager, EntityMetadata, EntityName, FilterQuery } from '@mikro-orm/core';
import { type Awaitable, whenReady } from '../awaitable.ts';
import { ImproperlyConfigured } from '../errors.ts';
import { wrongOption } from '../options.ts';
import { always, and, asksForOne, matching, never, not, type Condition } from '../language/condition.ts';
import { COUNTINGS, type Counting } from '../language/counting.ts';
import { entityRecords, recordSelection } from '../backends/sql/entity-records.ts';
import { type EntityManagerSource, managerOf, metadataOf, unfilteredReader } from './entity-manager-source.ts';
import { type Hydration, hydrationOf } from '../backends/sql/hydration.ts';
import { lookupCondition } from '../language/lookup-condition.ts';
import type { Lookups, OrderName } from '../language/lookup-name.ts';
import { noOrder, Order, orderKey, primaryKey, type OrderKey } from '../language/order.ts';
import type { CountOf, Page } from '../language/page.ts';
import type { Projection } from '../language/projection.ts';
import { readPage } from '../backends/sql/page.ts';
import { readCount, readExists, readRows } from '../backends/sql/run.ts';
import type { Selection } from '../backends/sql/selection.ts';
import { oneRow, type Query, type Slice } from '../backends/sql/statement.ts';

/** How records become entities. */
export interface EntityOptions {
  /** To-one relations (`role`, `role.parent`) and lazy fields to load with the same statement. */
  readonly populate?: readonly string[];
  /** Locks the rows against others' writes until the transaction ends (`for update`); only inside a transaction. */
  readonly lock?: boolean;
}

/**
 * An immutable description of records. Each method answers with a new one; nothing runs until a method that answers with
 * a promise is called, and each of those is one SQL statement with bound parameters (`page` at most two, or three with an
 * estimate). Reading rows makes no entities and tracks nothing.
 *
 * The filters of MikroORM that are on apply, as they do to `em.find`. The order is total: the primary key is its last
 * key. Within a transaction of the entity manager it reads in that transaction.
 *
 * @example
 * const cheap = QuerySet.of(em, Product).filter({ price__lt: 10, name__icontains: 'tea' }).orderBy('-price');
 * await cheap.slice(0, 10).entities();
 * // select … from "product" t0 where t0."price" < $1 and lower(t0."name" collate "C") like $2
 * //   order by t0."price" desc, t0."id" limit $3
 */
export class QuerySet<Entity extends object> {
  readonly #source: EntityManager | EntityManagerSource;
  /** What is known of the entity. */
  readonly meta: EntityMetadata<Entity>;
  /** What a record must be like to be among these, whatever the order and the slice. */
  readonly condition: Condition;
  readonly #order: Order;
  readonly #slice: Slice | undefined;

  private constructor(
    source: EntityManager | EntityManagerSource,
    meta: EntityMetadata<Entity>,
    condition: Condition,
    order: Order,
    slice: Slice | undefined,
  ) {
    this.#source = source;
    this.meta = meta;
    this.condition = condition;
    this.#order = order;
    this.#slice = slice;
  }

  /** All records of an entity. @throws ImproperlyConfigured for an entity that MikroORM does not know */
  static of<E extends object>(source: EntityManager | EntityManagerSource, entity: EntityName<E>): QuerySet<E> {
    const meta = metadataOf(source, entity);
    return new QuerySet(source, meta, always, noOrder(meta), undefined);
  }

  /** The entity manager that this reads with. */
  get em(): EntityManager {
    return managerOf(this.#source);
  }

  /** The order asked for; see `totalOrder`. */
  get order(): readonly OrderKey[] {
    return this.#order.keys;
  }

  /** The same records, read with another entity manager: another transaction, other filter parameters. */
  using(source: EntityManager | EntityManagerSource): QuerySet<Entity> {
    return new QuerySet(source, this.meta, this.condition, this.#order, this.#slice);
  }

  /** Keeps the records of which all of the lookups are true. A to-many path asks whether there is such a related record. */
  filter(lookups: Lookups<Entity>): QuerySet<Entity> {
    return this.where(lookupCondition(this.meta, lookups));
  }

  /** Drops the records that filter(lookups) would keep, and no others: a record is kept where a value is NULL. */
  exclude(lookups: Lookups<Entity>): QuerySet<Entity> {
    return this.where(not(lookupCondition(this.meta, lookups)));
  }

  /** Keeps the records of which a condition is true. */
  where(condition: Condition): QuerySet<Entity> {
    return this.#narrowed(and(this.condition, condition));
  }

  /** Keeps what the lookups cannot say, in MikroORM's own words. It joins the statement as a sub-select of keys. */
  matching(where: FilterQuery<Entity>): QuerySet<Entity> {
    return this.where(matching(this.meta, where));
  }

  /** Nothing; no statement is run for it. */
  none(): QuerySet<Entity> {
    return this.#narrowed(never);
  }

  /** Replaces the order: `role__name`, descending with a minus in front. */
  orderBy(...names: OrderName<Entity>[]): QuerySet<Entity> {
    return this.orderByPaths(names.map((name) => orderKey(this.meta, name)));
  }

  /** Replaces the order. */
  orderByPaths(keys: readonly OrderKey[]): QuerySet<Entity> {
    return new QuerySet(this.#source, this.meta, this.condition, new Order(this.meta, keys), this.#slice);
  }

  /** The order with the primary key as its last key, unless it is in it: no two records are equal in it. */
  totalOrder(): readonly OrderKey[] {
    return this.#order.total;
  }

  /** Skips `offset` records and takes at most `limit`, of the total order. Replaces an earlier slice. */
  slice(offset: number, limit: number): QuerySet<Entity> {
    for (const number of [offset, limit]) {
      if (!Number.isSafeInteger(number) || number < 0) {
        throw new ImproperlyConfigured(`slice() takes whole numbers from 0 to 2^53 - 1, not ${offset} and ${limit}`);
      }
    }
    return new QuerySet(this.#source, this.meta, this.condition, this.#order, { offset, limit });
  }

  /** How many records there are, whatever the slice. */
  async count(): Promise<number> {
    return readCount(this.#reader, this.meta, this.condition);
  }

  /** Whether there is any record, whatever the slice. */
  async exists(): Promise<boolean> {
    return readExists(this.#reader, this.meta, this.condition);
  }

  /** The records of the slice. */
  async rows<R>(projection: Projection<R>): Promise<R[]> {
    const query = this.#query(recordSelection(this.meta, projection));
    return this.#records(projection, await readRows(this.#reader, this.meta, query));
  }

  /** The first record of the slice. */
  async first<R>(projection: Projection<R>): Promise<R | undefined> {
    const query = this.#firstQuery(recordSelection(this.meta, projection));
    return (await this.#records(projection, await readRows(this.#reader, this.meta, query)))[0];
  }

  /**
   * The records of the slice, how many there are without it, and whether any follow. `count` says how to find the number:
   *
   * - `exact` (default): by counting; with the rows' own statement on PostgreSQL, else by a second one;
   * - `estimated`: exactly where the page shows it, being the last, and where PostgreSQL's planner expects counting to be
   *   cheap; else what the planner expects, but never less than the page proves. SQLite has no estimate: exactly;
   * - `none`: not at all; null. One statement.
   *
   * @example
   * await products.slice(20, 10).page(projection, { count: 'none' });   // { rows: […], count: null, next: true }
   */
  async page<R, How extends Counting = 'exact'>(
    projection: Projection<R>,
    options: { readonly count?: How } = {},
  ): Promise<Page<R, CountOf<How>>> {
    return QuerySet.pageOf(this, projection, options.count ?? ('exact' as How));
  }

  /** What `page` answers, at once where the driver answers at once. @internal */
  static pageOf<E extends object, R, How extends Counting>(
    queryset: QuerySet<E>,
    projection: Projection<R>,
    how: How,
  ): Awaitable<Page<R, CountOf<How>>> {
    if (!COUNTINGS.includes(how)) throw wrongOption('page()', 'count', `one of ${COUNTINGS.join(', ')}`, how);
    const query = queryset.#query(recordSelection(queryset.meta, projection));
    return whenReady(readPage(queryset.#reader, queryset.meta, query, how), ({ rows: found, count, next }) =>
      whenReady(queryset.#records(projection, found), (rows) => ({ rows, count: count as CountOf<How>, next })),
    );
  }

  /** The records of the slice as entities, managed by `em`: what they held there is refreshed. */
  async entities(options: EntityOptions = {}): Promise<Entity[]> {
    const { selection, map } = this.#hydration(options);
    return this.#mapped(map, await readRows(this.em, this.meta, this.#query(selection, options.lock)));
  }

  /** The first record of the slice as an entity, managed by `em`. */
  async entity(options: EntityOptions = {}): Promise<Entity | undefined> {
    const { selection, map } = this.#hydration(options);
    const rows = await readRows(this.em, this.meta, this.#firstQuery(selection, options.lock));
    return (await this.#mapped(map, rows))[0];
  }

  #hydration({ populate = [], lock = false }: EntityOptions): Hydration {
    const { em, meta } = this;
    if (lock && !em.isInTransaction()) {
      throw new ImproperlyConfigured(
        `${meta.className}: lock needs a transaction, outside of which it would end at once`,
      );
    }
    return hydrationOf(meta, populate);
  }

  async #mapped(map: Hydration['map'], rows: readonly unknown[][]): Promise<Entity[]> {
    const { em } = this;
    const entities = rows.map((row) => map(em, row) as Entity);
    await em.getUnitOfWork().dispatchOnLoadEvent();
    return entities;
  }

  /** Rows are read without an entity manager of their own, where no filter can depend on one. */
  get #reader(): EntityManager {
    return unfilteredReader(this.#source, this.meta) ?? managerOf(this.#source);
  }

  #query(select: Selection, locked = false): Query {
    const { condition } = this;
    const order = this.#order.total;
    return { select, condition, order, slice: this.#slice, related: undefined, counted: false, locked, one: false };
  }

  #firstQuery(select: Selection, locked = false): Query {
    const { condition } = this;
    const { offset, limit } = this.#slice ?? FIRST;
    // Among one record there is no order, and no second one.
    const isOne = offset === 0 && limit > 0 && asksForOne(condition, primaryKey(this.meta));
    if (isOne) return { ...oneRow(select, this), locked };
    const slice = { offset, limit: Math.min(limit, 1) };
    return { ...oneRow(select, this, slice), order: this.#order.total, locked };
  }

  #records<R>(projection: Projection<R>, rows: readonly unknown[][]): R[] | Promise<R[]> {
    if (projection.ofEntities === true) return entityRecords(this.em, this.meta, projection, rows);
    return rows.map((row) => projection.readRow(row));
  }

  #narrowed(condition: Condition): QuerySet<Entity> {
    return new QuerySet(this.#source, this.meta, condition, this.#order, this.#slice);
  }
}

const FIRST: Slice = { offset: 0, limit: 1 };
