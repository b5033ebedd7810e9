import type { EntityMetadata, EntityName } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { atOnce } from '../awaitable.ts';
import { notStored } from '../backends/backend.ts';
import { isUnfiltered } from '../backends/entity-filters.ts';
import { permissionDenied } from '../current-user.ts';
import { ImproperlyConfigured } from '../errors.ts';
import { compare } from '../language/compare.ts';
import { type Condition, ownColumns } from '../language/condition.ts';
import { type Keyed, type Projection, type Seen, withKey } from '../language/projection.ts';
import { backendOf } from '../query/backend-of.ts';
import { QuerySet } from '../query/queryset.ts';
import { keyText } from '../shapes/references.ts';
import type { Answer } from './answer.ts';
import { stateOf } from './request-state.ts';
import type { Resource } from './resource.ts';

/** An answer with records of a type. */
export interface AnswerOf<Output extends object> extends Answer {
  readonly records: Projection<Output>;
  readonly keyed: Projection<Keyed<Output>>;
  readonly seen: Projection<Seen<Output>>;
}

/** The part of a view that says which records there are. */
interface RecordsView<Entity extends object> {
  readonly name: string;
  getQueryset(request: FastifyRequest): QuerySet<Entity>;
}

/** The records of a view: those that a request may see, and those that it has written as the database has stored them. */
export class ViewRecords<Entity extends object, Output extends object> {
  readonly #view: RecordsView<Entity>;
  readonly #entity: EntityName<Entity>;
  readonly #resource: Resource;
  readonly #isNarrowed: boolean;

  /** @param isNarrowed true if the view overrides `getQueryset` */
  constructor(view: RecordsView<Entity>, entity: EntityName<Entity>, resource: Resource, isNarrowed: boolean) {
    this.#view = view;
    this.#entity = entity;
    this.#resource = resource;
    this.#isNarrowed = isNarrowed;
  }

  /** Selects all records in the view's order that the permissions and the path of a request let through. */
  all(request: FastifyRequest): QuerySet<Entity> {
    return this.within(request, this.#resource.lists.records.using(request) as unknown as QuerySet<Entity>);
  }

  /** Selects the records that a request may see. Path and scope hold even if an override of `getQueryset` has started anew. */
  visible(request: FastifyRequest): QuerySet<Entity> {
    const records = atOnce(this.#view.getQueryset(request), () => `${this.#view.name}: getQueryset()`);
    if (records.isSliced) throw slicedAway(this.#view.name, 'getQueryset()', 'its look-ups, and its paginator,');
    return this.within(request, records);
  }

  /** Keeps, of whatever records the application has selected, those of the request's path and of the permissions' scope. */
  within(request: FastifyRequest, records: QuerySet<Entity>): QuerySet<Entity> {
    const { nesting } = this.#resource;
    return this.#scoped(request, nesting === undefined ? records : records.where(nesting.condition(request)));
  }

  /** Selects the records of a condition, whoever may see them, under the filters of MikroORM that the view has. */
  named(request: FastifyRequest, condition: Condition): QuerySet<Entity> {
    const records = QuerySet.of(request.em, this.#entity).where(condition);
    const filters = this.#isNarrowed ? this.visible(request).filters : undefined;
    return filters === undefined ? records : records.withFilters(filters);
  }

  /**
   * True of the record that the path of a request names.
   * @throws ImproperlyConfigured for a path of the collection, which names none
   */
  byPath(request: FastifyRequest): Condition {
    const { pk } = stateOf(request);
    if (pk === undefined) {
      const { url, config } = request.routeOptions;
      throw new ImproperlyConfigured(
        `${this.#view.name}.${config.viewset?.action ?? url}: the path names no record to get; declare the action with { detail: true }`,
      );
    }
    return compare(this.#resource.key.column, 'exact', pk);
  }

  /**
   * Finds records that a request names and may see, as entities that can be answered with, in the order of their primary keys.
   *
   * @param lock true: no other transaction writes them before this one has ended
   */
  async entities(request: FastifyRequest, named: Condition, lock: boolean): Promise<Entity[]> {
    const records = this.visible(request).where(named).orderByPaths([]);
    // A database that had to wait for a row does not ask anew what the condition reads of other rows.
    if (lock && !asksOwnColumns(request, this.#resource.meta, records)) {
      await this.named(request, named).entities({ lock });
    }
    return records.entities({ populate: this.#resource.answers.populateFor(request), lock });
  }

  /**
   * Reads a record as the database has stored it: its defaults, roundings and triggers are not to be guessed. A record
   * that has left the scope of whoever wrote it must not have been written.
   */
  async stored(request: FastifyRequest, answer: AnswerOf<Output>, entity: Entity): Promise<Keyed<Output>> {
    const { pk, key } = this.#resource;
    const stored = this.named(request, compare(pk, 'exact', this.#keyOf(entity)));
    const record = await byAuthor(this.#scoped(request, stored), answer).first(answer.keyed);
    if (record !== undefined) return record;
    const named: unknown = entity[key.column.property.name as keyof Entity];
    return { key: named, record: await this.#unread(request, answer, entity) };
  }

  /** Reads records like `stored`, by one statement, in the order of the entities. */
  async storedAll(request: FastifyRequest, answer: AnswerOf<Output>, entities: readonly Entity[]): Promise<Output[]> {
    const { pk } = this.#resource;
    const keys = entities.map((entity) => this.#keyOf(entity));
    const stored = this.#scoped(request, this.named(request, compare(pk, 'in', keys)));
    const rows = await byAuthor(stored, answer).rows(withKey(answer.records, pk));
    const byKey = new Map(rows.map(({ key, record }) => [keyText(key), record]));
    const records: Output[] = [];
    for (const [index, entity] of entities.entries()) {
      records.push(byKey.get(keyText(keys[index])) ?? (await this.#unread(request, answer, entity)));
    }
    return records;
  }

  /** Makes the answer of an entity. */
  async represented(
    request: FastifyRequest,
    { projection, records }: AnswerOf<Output>,
    entity: Entity,
  ): Promise<Output> {
    if (projection.related !== undefined) await backendOf(request).loadChildren(request, [entity], projection);
    return records.readEntity(entity);
  }

  #keyOf(entity: Entity): unknown {
    const key: unknown = entity[this.#resource.pk.property.name as keyof Entity];
    if (key === undefined || key === null) throw notStored(this.#resource.meta);
    return key;
  }

  /** Answers with a record that cannot be read any more: a filter hides it, or the write has taken it out of the scope. */
  #unread(request: FastifyRequest, answer: AnswerOf<Output>, entity: Entity): Promise<Output> {
    if (stateOf(request).grant?.scope !== undefined) throw permissionDenied(request);
    return this.represented(request, answer, entity);
  }

  /** Narrows to the permissions' scope. */
  #scoped(request: FastifyRequest, queryset: QuerySet<Entity>): QuerySet<Entity> {
    const scope = stateOf(request).grant?.scope;
    return scope === undefined ? queryset : queryset.where(scope);
  }
}

/** Tells if the condition of records reads nothing but a record's own row, with the filters of MikroORM that a request has. */
function asksOwnColumns(
  { reader }: FastifyRequest,
  meta: EntityMetadata,
  { condition, filters }: Pick<QuerySet<object>, 'condition' | 'filters'>,
): boolean {
  return filters === undefined && ownColumns(condition) !== undefined && isUnfiltered(reader, meta);
}

/** Takes the statement of an answer that a client has selected for one of a client, of which there may be many. */
export function byAuthor<Entity extends object>(queryset: QuerySet<Entity>, { whole }: Answer): QuerySet<Entity> {
  return whole === undefined ? queryset : queryset.by('client');
}

export function slicedAway(view: string, what: string, who: string): ImproperlyConfigured {
  return new ImproperlyConfigured(`${view}: ${what} must not be sliced: ${who} would forget the slice`);
}
