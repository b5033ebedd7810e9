import { Utils, type EntityManager, type EntityMetadata, type EntityName, type FilterQuery } from '@mikro-orm/core';
import type { Awaitable } from '../awaitable.ts';
import type { EntityOptions } from '../backends/backend.ts';
import { backendOf } from './backend-of.ts';
import { type EntityManagerSource, managerOf, readerOf } from '../backends/source.ts';
import { ImproperlyConfigured } from '../errors.ts';
import { always, and, matching, never, not, type Condition } from '../language/condition.ts';
import type { Lookups, OrderName } from '../language/lookup-name.ts';
import { noOrder, Order, orderKey, type OrderKey } from '../language/order.ts';
import type { Projection } from '../language/projection.ts';
import { COUNTINGS, type Counting, type CountOf, type Page, type Query } from '../language/query.ts';
import { lookupCondition } from '../language/resolve-lookup.ts';
import { wrongOption } from '../options.ts';

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
  readonly #query: Query;

  private constructor(source: EntityManager | EntityManagerSource, query: Query) {
    this.#source = source;
    this.#query = query;
  }

  /**
   * All records of an entity.
   * @throws ImproperlyConfigured for an entity that MikroORM does not know, or that the database cannot serve, and for a
   * database that is not supported
   */
  static of<E extends object>(source: EntityManager | EntityManagerSource, entity: EntityName<E>): QuerySet<E> {
    const meta = metadataOf(source, entity);
    backendOf(source).checkEntity(meta);
    return new QuerySet(source, {
      meta,
      condition: always,
      order: noOrder(meta),
      slice: undefined,
      isShapedByClient: false,
    });
  }

  /** The metadata of the entity. */
  get meta(): EntityMetadata<Entity> {
    return this.#query.meta as EntityMetadata<Entity>;
  }

  /** What a record must be like to be among these, whatever the order and the slice. */
  get condition(): Condition {
    return this.#query.condition;
  }

  /** The entity manager that this reads with. */
  get em(): EntityManager {
    return managerOf(this.#source);
  }

  /** The order asked for; see `totalOrder`. */
  get order(): readonly OrderKey[] {
    return this.#query.order.keys;
  }

  /** True if `slice()` has taken a part of the records, which a further slice would forget. */
  get isSliced(): boolean {
    return this.#query.slice !== undefined;
  }

  /** The same records, read with another entity manager: another transaction, other filter parameters. */
  using(source: EntityManager | EntityManagerSource): QuerySet<Entity> {
    return new QuerySet(source, this.#query);
  }

  /** Keeps the records of which all of the lookups are true. A to-many path asks whether there is such a related record. */
  filter(lookups: Lookups<Entity>): QuerySet<Entity> {
    return this.where(lookupCondition(this.meta, lookups));
  }

  /** Drops the records that filter(lookups) would keep, and no others: a record is kept if a value is NULL. */
  exclude(lookups: Lookups<Entity>): QuerySet<Entity> {
    return this.where(not(lookupCondition(this.meta, lookups)));
  }

  /** Keeps the records of which a condition is true. */
  where(condition: Condition): QuerySet<Entity> {
    return this.#with({ condition: and(this.condition, condition) });
  }

  /** Keeps what the lookups cannot say, in MikroORM's own words. It joins the statement as a sub-select of keys. */
  matching(where: FilterQuery<Entity>): QuerySet<Entity> {
    return this.where(matching(this.meta, where));
  }

  /** Nothing; no statement is run for it. */
  none(): QuerySet<Entity> {
    return this.#with({ condition: never });
  }

  /** Replaces the order: `role__name`, descending with a minus in front. */
  orderBy(...names: OrderName<Entity>[]): QuerySet<Entity> {
    return this.orderByPaths(names.map((name) => orderKey(this.meta, name)));
  }

  /** Replaces the order. */
  orderByPaths(keys: readonly OrderKey[]): QuerySet<Entity> {
    return this.#with({ order: new Order(this.meta, keys) });
  }

  /** The order with the primary key as its last key, unless it is in it: no two records are equal in it. */
  totalOrder(): readonly OrderKey[] {
    return this.#query.order.total;
  }

  /** Skips `offset` records and takes at most `limit`, of the total order. Replaces an earlier slice. */
  slice(offset: number, limit: number): QuerySet<Entity> {
    for (const number of [offset, limit]) {
      if (!Number.isSafeInteger(number) || number < 0) {
        throw new ImproperlyConfigured(`slice() takes whole numbers from 0 to 2^53 - 1, not ${offset} and ${limit}`);
      }
    }
    return this.#with({ slice: { offset, limit } });
  }

  /**
   * The same records, as what a client asked for: clients choose the forms of such statements, which are kept apart from
   * those that the program decides.
   * @internal
   */
  shapedByClient(): QuerySet<Entity> {
    return this.#with({ isShapedByClient: true });
  }

  /** The number of records, whatever the slice. */
  async count(): Promise<number> {
    return await backendOf(this.#source).count(this.#source, this.#query);
  }

  /** True if there is any record, whatever the slice. */
  async exists(): Promise<boolean> {
    return await backendOf(this.#source).exists(this.#source, this.#query);
  }

  /** The records of the slice. */
  async rows<R>(projection: Projection<R>): Promise<R[]> {
    return await backendOf(this.#source).rows(this.#source, this.#query, projection);
  }

  /** The first record of the slice. */
  async first<R>(projection: Projection<R>): Promise<R | undefined> {
    return (await QuerySet.firstOf(this, projection))[0];
  }

  /**
   * A list of the first record of the slice, at once if the driver answers at once.
   * @internal
   */
  static firstOf<E extends object, R>(queryset: QuerySet<E>, projection: Projection<R>): Awaitable<R[]> {
    return backendOf(queryset.#source).rows(queryset.#source, queryset.#firstQuery(), projection);
  }

  /**
   * The records of the slice, how many there are without it, and whether any follow. `count` says how to find the number:
   *
   * - `exact` (default): by counting; with the rows' own statement on PostgreSQL, else by a second one;
   * - `estimated`: exactly if the page shows it, being the last, or if PostgreSQL's planner expects counting to be cheap;
   *   else what the planner expects, but never less than the page proves. SQLite has no estimate: exactly;
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

  /**
   * The answer of `page`, at once if the driver answers at once.
   * @internal
   */
  static pageOf<E extends object, R, How extends Counting>(
    queryset: QuerySet<E>,
    projection: Projection<R>,
    how: How,
  ): Awaitable<Page<R, CountOf<How>>> {
    if (!COUNTINGS.includes(how)) throw wrongOption('page()', 'count', `one of ${COUNTINGS.join(', ')}`, how);
    const page = backendOf(queryset.#source).page(queryset.#source, queryset.#query, projection, how);
    return page as Awaitable<Page<R, CountOf<How>>>;
  }

  /** The records of the slice as entities, managed by `em`: what they held there is refreshed. */
  async entities(options: EntityOptions = {}): Promise<Entity[]> {
    return (await backendOf(this.#source).entities(this.em, this.#query, options)) as Entity[];
  }

  /** The first record of the slice as an entity, managed by `em`. */
  async entity(options: EntityOptions = {}): Promise<Entity | undefined> {
    return (await backendOf(this.#source).entities(this.em, this.#firstQuery(), options))[0] as Entity | undefined;
  }

  #firstQuery(): Query {
    const { offset, limit } = this.#query.slice ?? { offset: 0, limit: 1 };
    return { ...this.#query, slice: { offset, limit: Math.min(limit, 1) } };
  }

  #with(changes: Partial<Query>): QuerySet<Entity> {
    return new QuerySet(this.#source, { ...this.#query, ...changes });
  }
}

function metadataOf<E extends object>(
  source: EntityManager | EntityManagerSource,
  entity: EntityName<E>,
): EntityMetadata<E> {
  const known = readerOf(source).getMetadata();
  const meta = known.find(entity);
  // A schema knows of itself, whether or not an ORM has taken it in.
  if (meta !== undefined && known.has(meta.class)) return meta;
  throw new ImproperlyConfigured(`${Utils.className(entity)} is not among the entities of this MikroORM`);
}
