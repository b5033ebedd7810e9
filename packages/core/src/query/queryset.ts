import {
  Utils,
  type EntityManager,
  type EntityMetadata,
  type EntityName,
  type FilterOptions,
  type FilterQuery,
} from '@mikro-orm/core';
import type { Awaitable } from '../support/awaitable.ts';
import type { Backend, EntityOptions } from '../backends/backend.ts';
import { backendOf } from './backend-of.ts';
import { type EntityManagerSource, managerOf, readerOf, type Source } from '../backends/source.ts';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { compare } from './language/compare.ts';
import { always, and, includesAll, matching, never, not, type Condition } from './language/condition.ts';
import type { FieldPath } from '../fields/field-path.ts';
import type { Group, Grouping } from './language/grouping.ts';
import type { Lookups, OrderName } from './language/lookup-name.ts';
import { primaryKey } from '../fields/primary-key.ts';
import { keepAlwaysOn } from '../mikro/filters.ts';
import { noOrder, Order, orderKey, type OrderKey } from './language/order.ts';
import type { Projection } from './language/projection.ts';
import {
  COUNTINGS,
  type Counting,
  type CountOf,
  type Page,
  type Query,
  type QueryAuthor,
  type Slice,
} from './language/query.ts';
import { lookupCondition } from './language/resolve-lookup.ts';
import { wrongOption } from '../errors/options.ts';

/**
 * An immutable description of records. Methods such as `filter` return a new query set. Nothing runs until you call a method that returns a
 * promise. That runs one SQL statement with bound parameters (`page` at most two, or three with an estimate). Reading rows makes no
 * entities and tracks nothing.
 *
 * The active MikroORM filters apply, as in `em.find`. The order is total: the primary key is the last key. Within a transaction of the
 * entity manager, it reads in that transaction.
 *
 * @example
 * const cheap = QuerySet.of(em, Product).filter({ price__lt: 10, name__icontains: 'tea' }).orderBy('-price');
 * await cheap.slice(0, 10).entities();
 * // select … from "product" t0 where t0."price" < $1 and lower(t0."name" collate "C") like $2
 * //   order by t0."price" desc, t0."id" limit $3
 */
export class QuerySet<Entity extends object> {
  readonly #backend: Backend;
  readonly #source: Source;
  readonly #query: Query;
  readonly #slice: Slice | undefined;

  private constructor(backend: Backend, source: Source, query: Query, slice?: Slice) {
    this.#backend = backend;
    this.#source = source;
    this.#query = query;
    this.#slice = slice;
  }

  /**
   * Returns all records of an entity.
   * @throws ImproperlyConfigured for an entity that MikroORM does not know, or that the database cannot serve, and for
   * an unsupported database
   */
  static of<E extends object>(source: EntityManager | EntityManagerSource, entity: EntityName<E>): QuerySet<E> {
    const meta = metadataOf(source, entity);
    const backend = backendOf(source);
    backend.checkEntity(meta);
    return new QuerySet(backend, source, { meta, condition: always, order: noOrder(meta), author: 'code' });
  }

  /** The metadata of the entity. */
  get meta(): EntityMetadata<Entity> {
    return this.#query.meta as EntityMetadata<Entity>;
  }

  /** The kind of database: `SQLite` (libSQL too), `PostgreSQL`, `MongoDB`, or the name that an extension sets. */
  get database(): string {
    return this.#backend.name;
  }

  /** The condition of these records, without the order and the slice. */
  get condition(): Condition {
    return this.#query.condition;
  }

  /** The filters of `withFilters`; undefined if it was not called. */
  get filters(): FilterOptions | undefined {
    return this.#query.filters;
  }

  /** The entity manager that this reads with. */
  get em(): EntityManager {
    return managerOf(this.#source);
  }

  /**
   * An existing entity manager, to look up metadata. It does not create the one of a request.
   * @internal
   */
  get reader(): EntityManager {
    return readerOf(this.#source);
  }

  /** The order of `orderBy`; see `totalOrder`. */
  get order(): readonly OrderKey[] {
    return this.#query.order.keys;
  }

  /** True if `slice()` was called. A further slice would replace it. */
  get isSliced(): boolean {
    return this.#slice !== undefined;
  }

  /** Returns the same records, read with another entity manager: in another transaction, or with other filter parameters. */
  using(source: EntityManager | EntityManagerSource): QuerySet<Entity> {
    return new QuerySet(this.#backend, source, this.#query, this.#slice);
  }

  /**
   * Keeps the records for which all lookups are true. Lookups through the same to-many relation must be true for one and the same related
   * record. Lookups of separate calls may be true for different ones.
   *
   * @example
   * QuerySet.of(em, Author).filter({ books__title: 'Ash', books__tags__name: 'tea' });
   * // … where exists (select 1 from "book" t1 where … and t1."title" = $1 and exists (… from "tag" t2 … and t2."name" = $2))
   */
  filter(lookups: Lookups<Entity>): QuerySet<Entity> {
    return this.where(lookupCondition(this.meta, lookups));
  }

  /** Drops exactly the records that `filter(lookups)` would keep. Records with NULL in a compared field are kept. */
  exclude(lookups: Lookups<Entity>): QuerySet<Entity> {
    return this.where(not(lookupCondition(this.meta, lookups)));
  }

  /** Keeps the records for which a condition is true. */
  where(condition: Condition): QuerySet<Entity> {
    if (includesAll(this.condition, condition)) return this;
    return this.#with({ condition: and(this.condition, condition) });
  }

  /**
   * Keeps the records that match a `where` of MikroORM, for conditions that lookups cannot express. Conditions on columns join the
   * statement as a sub-select of keys. Conditions across relations work like lookups.
   */
  matching(where: FilterQuery<Entity>): QuerySet<Entity> {
    return this.where(matching(this.meta, where));
  }

  /**
   * Returns the same records with other MikroORM filters, as in the option `filters` of `em.find`. `false` turns a filter off, `true` or
   * its parameters turn it on, and `false` instead of names turns all off. Unnamed filters stay as they are. It replaces an earlier call.
   * The filter of `tenant()` stays on in any case.
   *
   * @example
   * const trash = products.withFilters({ alive: false }).filter({ stock: 0 });
   */
  withFilters(filters: FilterOptions): QuerySet<Entity> {
    return this.#with({ filters: keepAlwaysOn(this.reader, this.meta, filters) });
  }

  /**
   * Returns the same records with no filter at all, also those of other tenants. Their values must not reach clients.
   * @internal
   */
  unfiltered(): QuerySet<Entity> {
    return this.#with({ filters: false });
  }

  /** Returns no records. It runs no statement. */
  none(): QuerySet<Entity> {
    return this.#with({ condition: never });
  }

  /** Replaces the order: `role__name`, or `-role__name` for descending. */
  orderBy(...names: OrderName<Entity>[]): QuerySet<Entity> {
    return this.orderByPaths(names.map((name) => orderKey(this.meta, name)));
  }

  /** Replaces the order, by resolved paths. */
  orderByPaths(keys: readonly OrderKey[]): QuerySet<Entity> {
    return this.#with({ order: new Order(this.meta, keys) });
  }

  /**
   * Returns the order with the primary key as its last key, unless it is already there. In it, no two records are
   * equal.
   */
  totalOrder(): readonly OrderKey[] {
    return this.#query.order.total;
  }

  /** Skips `offset` records and takes at most `limit`, in the total order. Replaces an earlier slice. */
  slice(offset: number, limit: number): QuerySet<Entity> {
    for (const number of [offset, limit]) {
      if (!Number.isSafeInteger(number) || number < 0) {
        throw new ImproperlyConfigured(`slice() takes whole numbers from 0 to 2^53 - 1, not ${offset} and ${limit}`);
      }
    }
    return new QuerySet(this.#backend, this.#source, this.#query, { offset, limit });
  }

  /**
   * Returns the same records, marked with the author of the query. Statements of views are cached; a few statements of
   * clients are cached separately.
   * @internal
   */
  by(author: QueryAuthor): QuerySet<Entity> {
    return this.#with({ author });
  }

  /** Counts the records, ignoring the slice. */
  async count(): Promise<number> {
    return await this.#backend.count(this.#source, this.#query);
  }

  /**
   * Groups the records, ignoring the order and the slice.
   * @internal
   */
  groups(grouping: Grouping): Awaitable<Group[]> {
    return this.#backend.groups(this.#source, this.#query, grouping);
  }

  /** Reports whether any record exists, ignoring the slice. */
  async exists(): Promise<boolean> {
    return await this.#backend.exists(this.#source, this.#query);
  }

  /** Returns the records of the slice. */
  async rows<R>(projection: Projection<R>): Promise<R[]> {
    return await this.#backend.rows(this.#source, this.#query, this.#slice, projection);
  }

  /** Returns the first record of the slice. */
  async first<R>(projection: Projection<R>): Promise<R | undefined> {
    const [record] = await this.#backend.rows(this.#source, this.#query, firstOf(this.#slice), projection);
    return record;
  }

  /**
   * Finds a record of the query set by its primary key, or by another unique column, ignoring the order and the slice.
   * It is synchronous if the driver is.
   * @internal
   */
  find<R>(key: unknown, projection: Projection<R>, column = primaryKey(this.meta)): Awaitable<R | undefined> {
    const hasKey = compare(column, 'exact', key);
    return this.#backend.find(this.#source, this.#query, hasKey, projection);
  }

  /**
   * Returns the stored value for each value that a record was looked up by; see `Backend`.
   * @internal
   */
  storedValues(column: FieldPath, values: readonly unknown[]): Awaitable<ReadonlyMap<unknown, unknown>> {
    return this.#backend.storedValues(this.#source, this.#query, column, values);
  }

  /**
   * Returns the records of the slice, the number of records without the slice, and whether more follow. `count` says how to find the
   * number:
   *
   * - `exact` (default): counts; on PostgreSQL in the statement of the rows, else by a second statement;
   * - `estimated`: on PostgreSQL the planner's estimate, at least what the page shows. It is exact on the last page, and if the planner
   *   expects counting to be cheap. On MongoDB the stored number of a whole collection, else exact. On SQLite exact;
   * - `none`: does not count; the number is null. One statement.
   *
   * @example
   * await products.slice(20, 10).page(projection, { count: 'none' });   // { rows: […], count: null, next: true }
   */
  async page<R, How extends Counting = 'exact'>(
    projection: Projection<R>,
    options: { readonly count?: How } = {},
  ): Promise<Page<R, CountOf<How>>> {
    const { count: how = 'exact' } = options;
    if (!COUNTINGS.includes(how)) throw wrongOption('page()', 'count', `one of ${COUNTINGS.join(', ')}`, how);
    const page = await this.#backend.page(this.#source, this.#query, this.#slice, projection, how);
    return page as Page<R, CountOf<How>>;
  }

  /** Returns the records of the slice as entities, managed by `em`. Entities that `em` already has are refreshed. */
  async entities(options: EntityOptions = {}): Promise<Entity[]> {
    return (await this.#readEntities(this.#slice, options)) as Entity[];
  }

  /** Returns the first record of the slice as an entity, managed by `em`. */
  async entity(options: EntityOptions = {}): Promise<Entity | undefined> {
    const [entity] = await this.#readEntities(firstOf(this.#slice), options);
    return entity as Entity | undefined;
  }

  /** @throws ImproperlyConfigured for a lock outside of a transaction */
  #readEntities(slice: Slice | undefined, options: EntityOptions): Promise<object[]> {
    if (options.lock === true && !this.em.isInTransaction()) {
      throw new ImproperlyConfigured(
        `${this.meta.className}: a lock needs a transaction; without one it would end at once`,
      );
    }
    return this.#backend.entities(this.#source, this.#query, slice, options);
  }

  /** Returns a copy with changes. A changed query of a view counts as application code. */
  #with(changes: Partial<Query>): QuerySet<Entity> {
    const author = this.#query.author === 'view' ? 'code' : this.#query.author;
    return new QuerySet(this.#backend, this.#source, { ...this.#query, author, ...changes }, this.#slice);
  }
}

/** Makes the error for a sliced query set in a place that would replace its slice. */
export function slicedError(view: string, what: string, who: string): ImproperlyConfigured {
  return new ImproperlyConfigured(`${view}: ${what} must not be sliced: ${who} would drop the slice`);
}

/** @throws ImproperlyConfigured if the database cannot serve an entity that a projection reads */
export function checkProjection(
  source: EntityManager | EntityManagerSource,
  { related = [] }: Projection<unknown>,
): void {
  for (const { query, projection } of related) {
    backendOf(source).checkEntity(query.meta);
    checkProjection(source, projection);
  }
}

function firstOf(slice: Slice = { offset: 0, limit: 1 }): Slice {
  return { offset: slice.offset, limit: Math.min(slice.limit, 1) };
}

function metadataOf<E extends object>(
  source: EntityManager | EntityManagerSource,
  entity: EntityName<E>,
): EntityMetadata<E> {
  const known = readerOf(source).getMetadata();
  const meta = known.find(entity);
  // A schema alone does not show whether an ORM has discovered it.
  if (meta !== undefined && known.has(meta.class)) return meta;
  throw new ImproperlyConfigured(`${Utils.className(entity)} is not among the entities of this MikroORM`);
}
