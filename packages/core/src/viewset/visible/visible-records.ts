import type { EntityMetadata, EntityName } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { atOnce, type Awaitable, whenReady } from '../../awaitable.ts';
import { isUnfiltered } from '../../backends/entity-filters.ts';
import { ImproperlyConfigured, NotFound } from '../../errors.ts';
import { compare } from '../../language/compare.ts';
import { type Condition, readsOwnColumns } from '../../language/condition.ts';
import type { Projection } from '../../language/projection.ts';
import { QuerySet, slicedError } from '../../query/queryset.ts';
import { type Answer, byAuthor } from '../request/answer.ts';
import { stateOf } from '../request/request-state.ts';
import type { Answers } from '../answers/answers.ts';
import type { Customized } from '../request/customized.ts';
import type { Nesting } from './nesting.ts';
import type { RecordKey } from './record-key.ts';
import type { SoftDelete } from './soft-delete.ts';

/** The part of a view that says which records there are. */
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
  /** The way to the parent of a view that is nested in another one. */
  readonly nesting: Nesting | undefined;
  /** The way to delete records and keep them; undefined if a deleted one is gone. */
  readonly softDelete: SoftDelete | undefined;
  readonly customized: Customized;
  readonly answers: Answers;
}

/**
 * Answers which records of a view a request sees: by `getQueryset`, the scopes of the permissions, the parents that the path names, the
 * filters of MikroORM, and whether they are deleted.
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

  /** Selects all records in the view's order, of which `getQueryset` may keep some. */
  all(request: FastifyRequest): QuerySet<Entity> {
    return this.narrow(request, this.#definition.lists.records.using(request) as unknown as QuerySet<Entity>);
  }

  /** Selects the records for a list, before it is filtered. Path and scope hold even if an override of `getQueryset` has started anew. */
  forList(request: FastifyRequest): QuerySet<Entity> {
    const records = atOnce(this.#view.getQueryset(request), () => `${this.#view.name}: getQueryset()`);
    if (records.isSliced) throw slicedError(this.#view.name, 'getQueryset()', 'its look-ups, and its paginator,');
    return this.narrow(request, records);
  }

  /** Selects the record that the request names. */
  forKey(request: FastifyRequest): QuerySet<Entity> {
    return this.forList(request).where(this.#conditionOfRecord(request));
  }

  /** Selects records that the request has written, of the values of a field: of those only that are still in its scope. */
  afterWrite(request: FastifyRequest, condition: Condition): QuerySet<Entity> {
    return this.#inScope(request, this.#selectStored(request, condition));
  }

  /** Keeps, of whatever records the application has selected, those of the path's parents, of the permissions' scope, and not deleted. */
  narrow(request: FastifyRequest, records: QuerySet<Entity>): QuerySet<Entity> {
    const { nesting, softDelete } = this.#definition;
    const placed = nesting === undefined ? records : records.where(nesting.condition(request));
    return this.#inScope(request, softDelete === undefined ? placed : placed.where(softDelete.conditionFor(request)));
  }

  /** Reads the record that the request names: at once, if the driver answers at once. Throws NotFound if the request sees none. */
  read<Found>(request: FastifyRequest, answer: Answer, projection: Projection<Found>): Awaitable<Found> {
    const records = byAuthor(this.forList(request), answer);
    const { column, singleton } = this.#definition.key;
    const found =
      singleton === undefined
        ? records.find(stateOf(request).pk, projection, column)
        : records.where(singleton(request)).first(projection);
    return whenReady(found, orNotFound);
  }

  /** Tells if a hook of the view, or an object permission, has to see the record as an entity. */
  seesEntity(request: FastifyRequest): boolean {
    return this.#definition.customized.seesRecord || stateOf(request).grant?.needsObject === true;
  }

  /** Finds the record that the request names as an entity; see `findAll`. */
  async find(request: FastifyRequest, lock: boolean): Promise<Entity | undefined> {
    const [entity] = await this.findAll(request, this.#conditionOfRecord(request), lock);
    return entity;
  }

  /**
   * Finds records of a condition that the request sees, as entities that can be answered with, in the order of their primary keys.
   *
   * @param lock true: no other transaction writes them before this one has ended
   */
  async findAll(request: FastifyRequest, condition: Condition, lock: boolean): Promise<Entity[]> {
    const records = this.forList(request).where(condition).orderByPaths([]);
    // A database that had to wait for a row does not ask anew what the condition reads of other rows.
    if (lock && !readsOwnRow(request, this.#definition.meta, records)) {
      await this.#selectStored(request, condition).entities({ lock });
    }
    return records.entities({ populate: this.#definition.answers.populateFor(request), lock });
  }

  /** Locks the record that the request names, whoever may see it. */
  async lock(request: FastifyRequest): Promise<void> {
    await this.#selectStored(request, this.#conditionOfRecord(request)).entity({ lock: true });
  }

  /** Selects the stored records of a condition, whoever may see them, under the filters of MikroORM that the view has. */
  #selectStored(request: FastifyRequest, condition: Condition): QuerySet<Entity> {
    const records = QuerySet.of(request.em, this.#entity).where(condition);
    const filters = this.#definition.customized.selectsRecords ? this.forList(request).filters : undefined;
    return filters === undefined ? records : records.withFilters(filters);
  }

  /**
   * True of the record that a request names, by its path or as the view's singleton.
   * @throws ImproperlyConfigured for a path of the collection, which names none
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

/** Throws NotFound if no record was found. */
export function orNotFound<Found>(found: Found | undefined): Found {
  if (found === undefined) throw new NotFound();
  return found;
}

/** Tells if the condition of records reads nothing but a record's own row, with the filters of MikroORM that a request has. */
function readsOwnRow(
  { reader }: FastifyRequest,
  meta: EntityMetadata,
  { condition, filters }: Pick<QuerySet<object>, 'condition' | 'filters'>,
): boolean {
  return filters === undefined && readsOwnColumns(condition) && isUnfiltered(reader, meta);
}
