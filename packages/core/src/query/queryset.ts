import type { EntityManager, EntityMetadata, EntityName, FilterQuery } from '@mikro-orm/core';
import { type Awaitable, whenReady } from '../awaitable.ts';
import { ImproperlyConfigured } from '../errors.ts';
import { wrongOption } from '../options.ts';
import { compare } from './compare.ts';
import { always, and, matching, never, not, type Condition } from './condition.ts';
import { COUNTINGS, type Counting } from './counting.ts';
import { entityRecords, recordSelection } from './sql/entity-records.ts';
import { type EntityManagerSource, managerOf, metadataOf } from './entity-manager-source.ts';
import { hydrationOf } from './sql/hydration.ts';
import type { Lookups, OrderName } from './lookup-name.ts';
import { checkOrderKey, orderKey, totalOrder, type OrderKey } from './order.ts';
import type { CountOf, Page } from './page.ts';
import type { Projection } from './projection.ts';
import { resolveLookup } from './resolve-lookup.ts';
import { readPage } from './sql/page.ts';
import { readCount, readExists, readRows, type Slice } from './sql/run.ts';
import type { Selection } from './sql/selection.ts';
import { isKnownUnfiltered } from './sql/unfiltered.ts';

/** How records become entities. */
export interface EntityOptions {
  /** To-one relations (`role`, `role.parent`) and lazy fields to load with the same statement. */
  readonly populate?: readonly string[];
  /** Locks the rows against others' writes until the transaction ends (`for update`); only inside a transaction. */
  readonly lock?: boolean;
}

interface State<Entity extends object> {
  readonly source: EntityManager | EntityManagerSource;
  readonly meta: EntityMetadata<Entity>;
  readonly condition: Condition;
  readonly order: readonly OrderKey[];
  readonly slice: Slice | undefined;
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
  readonly #state: State<Entity>;

  private constructor(state: State<Entity>) {
    this.#state = state;
  }

  /** All records of an entity. @throws ImproperlyConfigured for an entity that MikroORM does not know */
  static of<E extends object>(source: EntityManager | EntityManagerSource, entity: EntityName<E>): QuerySet<E> {
    return new QuerySet({ source, meta: metadataOf(source, entity), condition: always, order: [], slice: undefined });
  }

  /** The entity manager that this reads with. */
  get em(): EntityManager {
    return managerOf(this.#state.source);
  }

  get meta(): EntityMetadata<Entity> {
    return this.#state.meta;
  }

  /** The order asked for; see `totalOrder`. */
  get order(): readonly OrderKey[] {
    return this.#state.order;
  }

  /** What a record must be like to be among these, whatever the order and the slice. */
  get condition(): Condition {
    return this.#state.condition;
  }

  /** The same records, read with another entity manager: another transaction, other filter parameters. */
  using(source: EntityManager | EntityManagerSource): QuerySet<Entity> {
    return this.#with({ source });
  }

  /** Keeps the records of which all of the lookups are true. A to-many path asks whether there is such a related record. */
  filter(lookups: Lookups<Entity>): QuerySet<Entity> {
    return this.where(this.#conditionOf(lookups));
  }

  /** Drops the records that filter(lookups) would keep, and no others: a record is kept where a value is NULL. */
  exclude(lookups: Lookups<Entity>): QuerySet<Entity> {
    return this.where(not(this.#conditionOf(lookups)));
  }

  /** Keeps the records of which a condition is true. */
  where(condition: Condition): QuerySet<Entity> {
    return this.#with({ condition: and(this.#state.condition, condition) });
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
    return this.#with({ order: names.map((name) => orderKey(this.meta, name)) });
  }

  /** Replaces the order. */
  orderByPaths(keys: readonly OrderKey[]): QuerySet<Entity> {
    for (const key of keys) checkOrderKey(this.meta, key);
    return this.#with({ order: keys });
  }

  /** The order with the primary key as its last key, unless it is in it: no two records are equal in it. */
  totalOrder(): readonly OrderKey[] {
    return totalOrder(this.meta, this.#state.order);
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

  /** How many records there are, whatever the slice. */
  async count(): Promise<number> {
    return readCount(this.#reader, this.meta, this.#state.condition);
  }

  /** Whether there is any record, whatever the slice. */
  async exists(): Promise<boolean> {
    return readExists(this.#reader, this.meta, this.#state.condition);
  }

  /** The records of the slice. */
  async rows<R>(projection: Projection<R>): Promise<R[]> {
    const rows = await this.#read(this.#reader, recordSelection(this.meta, projection), this.#state.slice);
    return this.#records(projection, rows);
  }

  /** The first record of the slice. */
  async first<R>(projection: Projection<R>): Promise<R | undefined> {
    const rows = await this.#read(this.#reader, recordSelection(this.meta, projection), this.#firstSlice());
    return whenReady(this.#records(projection, rows), ([record]) => record);
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
    const { condition, slice } = this.#state;
    const { count: how = 'exact' } = options;
    if (!COUNTINGS.includes(how)) throw wrongOption('page()', 'count', `one of ${COUNTINGS.join(', ')}`, how);
    const select = recordSelection(this.meta, projection);
    const query = { condition, order: this.totalOrder(), slice, select, locked: false };
    const { rows, count, next } = await readPage(this.#reader, this.meta, query, how);
    return whenReady(this.#records(projection, rows), (records) => ({
      rows: records,
      count: count as CountOf<How>,
      next,
    }));
  }

  /** The records of the slice as entities, managed by `em`: what they held there is refreshed. */
  async entities(options: EntityOptions = {}): Promise<Entity[]> {
    return this.#entities(options, this.#state.slice);
  }

  /** The first record of the slice as an entity, managed by `em`. */
  async entity(options: EntityOptions = {}): Promise<Entity | undefined> {
    return (await this.#entities(options, this.#firstSlice()))[0];
  }

  async #entities({ populate = [], lock = false }: EntityOptions, slice: Slice | undefined): Promise<Entity[]> {
    const { em, meta } = this;
    if (lock && !em.isInTransaction()) {
      throw new ImproperlyConfigured(
        `${meta.className}: lock needs a transaction, outside of which it would end at once`,
      );
    }
    const { selection, map } = hydrationOf(meta, populate);
    const rows = await this.#read(em, selection, slice, lock);
    const entities = rows.map((row) => map(em, row) as Entity);
    await em.getUnitOfWork().dispatchOnLoadEvent();
    return entities;
  }

  /** Rows are read without an entity manager of their own, where no filter can depend on one. */
  get #reader(): EntityManager {
    const { source, meta } = this.#state;
    const { reader } = source as EntityManagerSource;
    return reader !== undefined && isKnownUnfiltered(reader, meta) ? reader : managerOf(source);
  }

  #read(em: EntityManager, select: Selection, slice: Slice | undefined, locked = false): Awaitable<unknown[][]> {
    const { condition } = this.#state;
    return readRows(em, this.meta, { condition, order: this.totalOrder(), slice, select, locked });
  }

  #records<R>(projection: Projection<R>, rows: readonly unknown[][]): R[] | Promise<R[]> {
    if (projection.ofEntities === true) return entityRecords(this.em, this.meta, projection, rows);
    return rows.map((row) => projection.readRow(row));
  }

  #firstSlice(): Slice {
    const { offset, limit } = this.#state.slice ?? { offset: 0, limit: 1 };
    return { offset, limit: Math.min(limit, 1) };
  }

  #conditionOf(lookups: Lookups<Entity>): Condition {
    const conditions = Object.entries(lookups).map(([name, value]) => {
      const { path, lookup } = resolveLookup(this.meta, name);
      return compare(path, lookup, value);
    });
    return and(...conditions);
  }

  #with(change: Partial<State<Entity>>): QuerySet<Entity> {
    return new QuerySet({ ...this.#state, ...change });
  }
}
