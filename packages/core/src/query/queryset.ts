import type { EntityManager, EntityMetadata, EntityName, FilterQuery } from '@mikro-orm/core';
import type { Condition, OrderKey } from './condition.ts';
import type { Lookups, OrderName } from './lookup-name.ts';
import type { Projection } from './projection.ts';

/** One page of records, and how many there are in all. */
export interface Page<Record> {
  readonly rows: Record[];
  readonly count: number;
}

export interface EntityOptions {
  /** To-one relations to load with the same statement, `role` or `role.parent`. */
  readonly populate?: readonly string[];
  /** Locks the rows against others' writes until the transaction ends (`for update`); only inside a transaction. */
  readonly lock?: boolean;
}

/**
 * An immutable description of records. Nothing runs until a method that answers with a promise is called; each of
 * those is one SQL statement with bound parameters.
 */
export class QuerySet<Entity extends object> {
  readonly em: EntityManager;
  readonly meta: EntityMetadata<Entity>;
  /** The order asked for; see `totalOrder`. */
  readonly order: readonly OrderKey[] = [];

  private constructor(em: EntityManager, meta: EntityMetadata<Entity>) {
    this.em = em;
    this.meta = meta;
  }

  static of<E extends object>(em: EntityManager, entity: EntityName<E>): QuerySet<E> {
    return new QuerySet(em, em.getMetadata().get(entity));
  }

  filter(lookups: Lookups<Entity>): QuerySet<Entity> {
    return unwritten(lookups);
  }

  /** Drops the records that filter(lookups) would keep. */
  exclude(lookups: Lookups<Entity>): QuerySet<Entity> {
    return unwritten(lookups);
  }

  where(condition: Condition): QuerySet<Entity> {
    return unwritten(condition);
  }

  /** What the lookups cannot say, in MikroORM's own words. */
  matching(where: FilterQuery<Entity>): QuerySet<Entity> {
    return unwritten(where);
  }

  none(): QuerySet<Entity> {
    return unwritten();
  }

  /** Replaces the order. */
  orderBy(...names: OrderName<Entity>[]): QuerySet<Entity> {
    return unwritten(names);
  }

  /** Replaces the order. */
  orderByPaths(keys: readonly OrderKey[]): QuerySet<Entity> {
    return unwritten(keys);
  }

  /** The order with the primary key as its last key, unless it is in it: no two records are equal in it. */
  totalOrder(): readonly OrderKey[] {
    return unwritten();
  }

  /** Skips `offset` records and takes at most `limit`, of the total order. Replaces an earlier slice. */
  slice(offset: number, limit: number): QuerySet<Entity> {
    return unwritten(offset, limit);
  }

  /** How many records there are, whatever the slice. */
  async count(): Promise<number> {
    return unwritten();
  }

  async exists(): Promise<boolean> {
    return unwritten();
  }

  async rows<R>(projection: Projection<R>): Promise<R[]> {
    return unwritten(projection);
  }

  async first<R>(projection: Projection<R>): Promise<R | undefined> {
    return unwritten(projection);
  }

  /** The records of the slice, and how many there are without it. */
  async page<R>(projection: Projection<R>): Promise<Page<R>> {
    return unwritten(projection);
  }

  /** The records as entities, managed by `em`. */
  async entities(options?: EntityOptions): Promise<Entity[]> {
    return unwritten(options);
  }

  /** The first record as an entity, managed by `em`. */
  async entity(options?: EntityOptions): Promise<Entity | undefined> {
    return unwritten(options);
  }
}

function unwritten(...inputs: unknown[]): never {
  throw new Error(`not written yet ${inputs.length}`);
}
