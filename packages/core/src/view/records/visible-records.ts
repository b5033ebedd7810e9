import type { EntityMetadata, EntityName } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { requireSync, type Awaitable, whenReady } from '../../support/awaitable.ts';
import { isUnfiltered } from '../../backends/entity-filters.ts';
import { ImproperlyConfigured, orNotFound } from '../../errors/errors.ts';
import { compare } from '../../query/language/compare.ts';
import { type Condition, readsOnlyColumns } from '../../query/language/condition.ts';
import type { Projection } from '../../query/language/projection.ts';
import { QuerySet, slicedError } from '../../query/queryset.ts';
import { type RecordOutput, markShapedByClient } from '../request/record-output.ts';
import { stateOf } from '../request/request-state.ts';
import type { RecordOutputs } from '../output/record-outputs.ts';
import type { ViewOverrides } from '../request/view-overrides.ts';
import type { Nesting } from './nesting.ts';
import type { RecordKey } from './record-key.ts';

/** The part of a view that decides which records exist. */
interface SelectingView<Entity extends object> {
  readonly name: string;
  getQueryset(request: FastifyRequest): QuerySet<Entity>;
}

/** The declarations of a view that decide which records it has. */
interface VisibleDefinition {
  readonly meta: EntityMetadata;
  readonly key: RecordKey;
  /** All records of the entity, in the view's order. */
  readonly lists: { readonly records: QuerySet<object> };
  /** How the view is nested in its parent; undefined if it is not nested. */
  readonly nesting: Nesting | undefined;
  /** The features of the view, which may leave out records. */
  readonly features: { narrow<Each extends object>(request: FastifyRequest, records: QuerySet<Each>): QuerySet<Each> };
  readonly overrides: ViewOverrides;
  readonly outputs: RecordOutputs;
}

/**
 * Selects the records of a view that a request sees. They depend on `getQueryset`, the scopes of the permissions, the
 * parents in the path, the filters of MikroORM, and the features of the view, such as soft deletion.
 */
export class VisibleRecords<Entity extends object> {
  readonly #view: SelectingView<Entity>;
  readonly #entity: EntityName<Entity>;
  readonly #definition: VisibleDefinition;

  constructor(view: SelectingView<Entity>, entity: EntityName<Entity>, definition: VisibleDefinition) {
    this.#view = view;
    this.#entity = entity;
    this.#definition = definition;
  }

  /** Selects all records in the view's order. An overridden `getQueryset` may narrow them. */
  all(request: FastifyRequest): QuerySet<Entity> {
    return this.narrow(request, this.#definition.lists.records.using(request) as unknown as QuerySet<Entity>);
  }

  /**
   * Selects the records for a list, before filters. The limits of path and scope hold even if an override of
   * `getQueryset` starts from all records.
   */
  forList(request: FastifyRequest): QuerySet<Entity> {
    const records = requireSync(this.#view.getQueryset(request), () => `${this.#view.name}: getQueryset()`);
    if (records.isSliced) throw slicedError(this.#view.name, 'getQueryset()', 'its look-ups, and its paginator,');
    return this.narrow(request, records);
  }

  /** Selects the record of the request's path. */
  forKey(request: FastifyRequest): QuerySet<Entity> {
    return this.forList(request).where(this.#conditionOfRecord(request));
  }

  /** Selects written records by a condition. Leaves out records that are no longer in the request's scope. */
  afterWrite(request: FastifyRequest, condition: Condition): QuerySet<Entity> {
    return this.#inScope(request, this.#selectStored(request, condition));
  }

  /**
   * Narrows a query set of the application to the records of the path's parents, in the permissions' scope, that the
   * features of the view leave in.
   */
  narrow(request: FastifyRequest, records: QuerySet<Entity>): QuerySet<Entity> {
    const { nesting, features } = this.#definition;
    const placed = nesting === undefined ? records : records.where(nesting.condition(request));
    return this.#inScope(request, features.narrow(request, placed));
  }

  /**
   * Reads the record of the request's path. It is synchronous if the driver is. Throws NotFound if the request does not
   * see it.
   */
  read<Found>(request: FastifyRequest, output: RecordOutput, projection: Projection<Found>): Awaitable<Found> {
    const records = markShapedByClient(this.forList(request), output);
    const { column, singleton } = this.#definition.key;
    const found =
      singleton === undefined
        ? records.find(stateOf(request).pk, projection, column)
        : records.where(singleton(request)).first(projection);
    return whenReady(found, orNotFound);
  }

  /** Reports whether a hook of the view, or an object permission, needs the record as an entity. */
  seesEntity(request: FastifyRequest): boolean {
    return this.#definition.overrides.seesRecord || stateOf(request).grant?.needsObject === true;
  }

  /** Finds the record of the request's path as an entity; see `findAll`. */
  async find(request: FastifyRequest, lock: boolean): Promise<Entity | undefined> {
    const [entity] = await this.findAll(request, this.#conditionOfRecord(request), lock);
    return entity;
  }

  /**
   * Finds the records that match a condition and that the request sees, in the order of their primary keys. They are
   * entities with everything loaded that a response needs.
   *
   * @param lock true: no other transaction can write them before this one ends
   */
  async findAll(request: FastifyRequest, condition: Condition, lock: boolean): Promise<Entity[]> {
    const records = this.forList(request).where(condition).orderByPaths([]);
    // After waiting for a lock, a database does not re-read the other rows that a condition uses.
    if (lock && !readsOnlyItsRow(request, this.#definition.meta, records)) {
      await this.#selectStored(request, condition).entities({ lock });
    }
    return records.entities({ populate: this.#definition.outputs.populateFor(request), lock });
  }

  /** Locks the record of the request's path, even if the request does not see it. */
  async lock(request: FastifyRequest): Promise<void> {
    await this.#selectStored(request, this.#conditionOfRecord(request)).entity({ lock: true });
  }

  /**
   * Selects the stored records that match a condition, even those that the request does not see. The view's MikroORM
   * filters apply.
   */
  #selectStored(request: FastifyRequest, condition: Condition): QuerySet<Entity> {
    const records = QuerySet.of(request.em, this.#entity).where(condition);
    const filters = this.#definition.overrides.selectsRecords ? this.forList(request).filters : undefined;
    return filters === undefined ? records : records.withFilters(filters);
  }

  /**
   * Selects the record of a request, by its path or as the view's singleton.
   * @throws ImproperlyConfigured for the path of a collection, which has no record
   */
  #conditionOfRecord(request: FastifyRequest): Condition {
    const { column, singleton } = this.#definition.key;
    if (singleton !== undefined) return singleton(request);
    const { pk } = stateOf(request);
    if (pk === undefined) {
      const { url, config } = request.routeOptions;
      throw new ImproperlyConfigured(
        `${this.#view.name}.${config.viewset?.action ?? url}: the path names no record to get; declare the action with { detail: true }`,
      );
    }
    return compare(column, 'exact', pk);
  }

  #inScope(request: FastifyRequest, records: QuerySet<Entity>): QuerySet<Entity> {
    const scope = stateOf(request).grant?.scope;
    return scope === undefined ? records : records.where(scope);
  }
}

/** Reports whether a query reads only the record's own row, including the MikroORM filters of a request. */
function readsOnlyItsRow(
  { reader }: FastifyRequest,
  meta: EntityMetadata,
  { condition, filters }: Pick<QuerySet<object>, 'condition' | 'filters'>,
): boolean {
  return filters === undefined && readsOnlyColumns(condition) && isUnfiltered(reader, meta);
}
