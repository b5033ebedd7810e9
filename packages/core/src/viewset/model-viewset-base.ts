import type { EntityMetadata, EntityName } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { atOnce, type Awaitable, isPromise } from '../awaitable.ts';
import { ImproperlyConfigured, InvalidUsage, NotFound } from '../errors.ts';
import { checkNotGivenUp } from '../given-up.ts';
import { compare } from '../language/compare.ts';
import type { Condition } from '../language/condition.ts';
import type { Projection } from '../language/projection.ts';
import { backendOf } from '../query/backend-of.ts';
import { QuerySet } from '../query/queryset.ts';
import { notStored, type RowWrite } from '../backends/backend.ts';
import type { RecordFinder } from '../query/record-finder.ts';
import type { ResolvedData } from '../shapes/write-input.ts';
import { parametersOf, stateOf } from './request-state.ts';
import { type AnyModelOptions, applyFilter, Resource, type ResourceHooks } from './resource.ts';
import { ownWrite } from './own-write.ts';
import { inTransaction } from './transaction.ts';
import { DEFINE, type ViewContext, type ViewDefinition } from './view-definition.ts';
import { permissionDenied, ViewSet } from './viewset.ts';
import type { WriteExplanation, WriteOperation } from './write-plan.ts';

/** A write that a hook may enrich with fields that the client does not send. */
export type WriteData<Entity, Input> = ResolvedData<Entity, Input> & {
  readonly [Field in Exclude<keyof Entity & string, keyof Input>]?: unknown;
};

/** The hooks whose overrides decide how records are read and written. */
const HOOKS = [
  'getObject',
  'checkObjectPermissions',
  'represent',
  'performCreate',
  'performUpdate',
  'performDestroy',
] as const;

interface Created<Output> {
  readonly pk: unknown;
  readonly record: Output;
}

/**
 * The five operations on the records of one entity. Extend `ModelViewSet(Entity, options)`, and override the small
 * hooks: which records there are (`getQueryset`), how a list is narrowed (`filterQueryset`), how one is found
 * (`getObject`), what a write does (`performCreate`, `performUpdate`, `performDestroy`), and what is sent of a record
 * (`represent`).
 */
export abstract class ModelViewSetBase<
  Entity extends object,
  Output extends object,
  Input extends object,
> extends ViewSet {
  readonly #entity: EntityName<Entity>;
  readonly #options: AnyModelOptions;
  #resource: Resource | undefined;

  constructor(entity: EntityName<Entity>, options: AnyModelOptions) {
    super();
    this.#entity = entity;
    this.#options = options;
    this.permissionClasses = options.permissionClasses;
    this.throttles = options.throttles ?? [];
    this.ignoreUnknownParameters = options.ignoreUnknownParameters;
    this.allowAnonymous = options.allowAnonymous;
    const { description, tags, deprecated, summaries } = options;
    this.documentation = { description, tags, deprecated, summaries };
  }

  /** The entity that the view is about. */
  protected get entity(): EntityName<Entity> {
    return this.#entity;
  }

  /**
   * The records that the view is about, for this request: all that the permissions' scopes let through, in the view's
   * order. Override it to narrow them; list, retrieve, update and destroy all go through it.
   *
   * @example
   * override getQueryset(request: FastifyRequest) {
   *   return super.getQueryset(request).filter({ stock__gt: 0 });
   * }
   */
  getQueryset(request: FastifyRequest): QuerySet<Entity> {
    return this.#scoped(request, this.#resolved.records.using(request) as unknown as QuerySet<Entity>);
  }

  /** Applies the view's filters in order. Override it to narrow lists alone. */
  filterQueryset(request: FastifyRequest, queryset: QuerySet<Entity>): QuerySet<Entity> {
    const { filters } = this.#resolved;
    const narrowed = filters.reduce((records, filter) => applyFilter(filter, records, request), queryset);
    return narrowed === queryset ? queryset : narrowed.shapedByClient();
  }

  /**
   * The record of the path as an entity of `request.em`, its object permission asked. In a transaction the record is
   * locked against other writers and read anew, as update and destroy do. Throws NotFound, Unauthorized or Forbidden.
   */
  async getObject(request: FastifyRequest): Promise<Entity> {
    const state = stateOf(request);
    const transaction = request.em.getTransactionContext<object>();
    const known = state.object;
    if (known !== undefined && (transaction === undefined || known.transaction === transaction)) {
      return known.entity as Entity;
    }
    const lock = transaction !== undefined;
    const records = this.#one(request);
    // A database that had to wait for a row does not ask anew what the condition reads of other rows.
    if (lock && !this.#resolved.asksOwnColumns(records.condition)) await this.#lock(request);
    const entity = await records.entity({ populate: this.#resolved.projection.populate, lock });
    if (entity === undefined) throw new NotFound();
    await this.checkObjectPermissions(request, entity);
    state.object = { entity, transaction };
    return entity;
  }

  /** GET on the collection. */
  override async list(request: FastifyRequest, _reply: FastifyReply): Promise<unknown> {
    const visible = this.#visible(request);
    try {
      const queryset = atOnce(this.filterQueryset(request, visible), `${this.name}: filterQueryset()`);
      return await (this.#resolved.paginator === null ? this.rows(queryset) : this.paginate(request, queryset));
    } catch (error) {
      if (error instanceof InvalidUsage) this.#resolved.checkListParameters(request);
      throw error;
    }
  }

  /** GET on a record. */
  override async retrieve(request: FastifyRequest, _reply: FastifyReply): Promise<Output> {
    if (this.#wantsEntity(request)) return this.represent(await this.getObject(request));
    const found = this.#find(request);
    const record = isPromise(found) ? await found : found;
    if (record === undefined) throw new NotFound();
    return record;
  }

  /** POST on the collection. */
  override async create(request: FastifyRequest, reply: FastifyReply): Promise<Output> {
    const created = this.#create(request);
    const { pk, record } = isPromise(created) ? await created : created;
    reply.code(201).header('location', this.#resolved.pathOf(pk, request));
    return record;
  }

  /** PUT and PATCH on a record. */
  override async update(request: FastifyRequest, _reply: FastifyReply): Promise<Output> {
    const changes = this.#changes(request);
    if (Object.keys(changes).length > 0) {
      const { condition } = this.#one(request);
      const write = this.#statementFor(request, 'update', condition, changes);
      if (write !== undefined) {
        const statement = { ...write, condition, data: changes };
        const record = await this.#own(request, () => backendOf(write.em).update(statement));
        if (record === undefined) throw new NotFound();
        return record;
      }
    }
    const updated = await inTransaction(request, async () => {
      const entity = await this.getObject(request);
      const data = await this.#resolved.resolveReferences(request, changes);
      return this.#stored(
        request,
        await this.performUpdate(request, entity, data as WriteData<Entity, Partial<Input>>),
      );
    });
    return updated.record;
  }

  /** DELETE on a record. */
  override async destroy(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { condition } = this.#one(request);
    const write = this.#statementFor(request, 'destroy', condition, {});
    if (write === undefined) {
      await inTransaction(request, async () => this.performDestroy(request, await this.getObject(request)));
    } else if (!(await this.#own(request, () => backendOf(write.em).remove({ ...write, condition })))) {
      throw new NotFound();
    }
    reply.code(204);
  }

  /**
   * Stores a new record, inside the request's transaction. Override it to add what the client does not send; a to-one
   * relation may be given by its primary key.
   *
   * @example
   * // with: const write = writeShape(Product, ['name', 'price']);
   * override performCreate(request: FastifyRequest, data: WriteData<ProductEntity, InputOf<typeof write>>) {
   *   return super.performCreate(request, { ...data, owner: getCurrentUser(request)!.id });
   * }
   */
  async performCreate(request: FastifyRequest, data: WriteData<Entity, Input>): Promise<Entity> {
    checkNotGivenUp(request);
    const entity: Entity = request.em.create(this.entity, data as never);
    request.em.persist(entity);
    await this.#own(request, () => request.em.flush());
    return entity;
  }

  /** Stores what was sent of a record, and nothing else of it, inside the request's transaction. */
  async performUpdate(
    request: FastifyRequest,
    entity: Entity,
    data: WriteData<Entity, Partial<Input>>,
  ): Promise<Entity> {
    checkNotGivenUp(request);
    request.em.assign(entity, data as never);
    await this.#own(request, () => request.em.flush());
    return entity;
  }

  /** Deletes a record, inside the request's transaction. Override it to mark it instead. */
  async performDestroy(request: FastifyRequest, entity: Entity): Promise<void> {
    checkNotGivenUp(request);
    request.em.remove(entity);
    await this.#own(request, () => request.em.flush());
  }

  /** The page that the request asks for, of a query set's records in the read shape; for actions that list. */
  paginate(request: FastifyRequest, queryset: QuerySet<Entity>): Promise<object> {
    const { paginator, answers } = this.#resolved;
    if (paginator === null) {
      return Promise.reject(new TypeError(`${this.name}: paginate() needs a paginator, but pagination is off`));
    }
    if (queryset.isSliced) return Promise.reject(slicedAway(this.name, 'what paginate() gets', 'the paginator'));
    return paginator.paginate(queryset, answers, parametersOf(request));
  }

  /** The records of a query set in the read shape. */
  rows(queryset: QuerySet<Entity>): Promise<Output[]> {
    return queryset.rows(this.#answers);
  }

  /**
   * An entity in the read shape; the relations that the shape reads must be loaded, and are where the view calls this.
   *
   * Override it to make records of entities, with their methods and getters, for list, retrieve, create and update alike:
   * every record is then read as an entity of `request.em`, by the same statement. As long as nobody does, rows are read
   * as rows and no entity is made. What is sent of the record is what the read shape declares; what one field needs that
   * is no column, `computed()` says at less cost.
   *
   * @example
   * override represent(product: ProductEntity) {
   *   return { ...super.represent(product), name: product.displayName() };
   * }
   */
  represent(entity: Entity): Output {
    return this.#resolved.projection.readEntity(entity) as Output;
  }

  /**
   * Tells how each operation writes, once a router has registered the view: by one statement, or through the unit of
   * work and why. The start of an application says the same at debug level.
   *
   * @example
   * view.explain().create;   // { oneStatement: false, reasons: ['BookViewSet overrides performCreate'] }
   */
  explain(): Readonly<Record<WriteOperation, WriteExplanation>> {
    return this.#resolved.writes.explain();
  }

  override get meta(): EntityMetadata {
    return this.#resolved.meta;
  }

  /** @internal */
  override [DEFINE](context: ViewContext): ViewDefinition {
    const isOwn = this.represent !== ModelViewSetBase.prototype.represent;
    const hooks: ResourceHooks = {
      name: this.name,
      getAction: (request) => this.getAction(request),
      getObject: (request) => this.getObject(request),
      represent: isOwn ? (entity) => atOnce(this.represent(entity as Entity), `${this.name}: represent()`) : undefined,
      overridden: HOOKS.filter((hook) => this[hook] !== ModelViewSetBase.prototype[hook]),
    };
    return (this.#resource = new Resource(hooks, this.entity as EntityName<object>, this.#options, context));
  }

  get #resolved(): Resource {
    if (this.#resource === undefined) throw new TypeError(`${this.name} is used before a router has registered it`);
    return this.#resource;
  }

  get #answers(): Projection<Output> {
    return this.#resolved.answers as Projection<Output>;
  }

  /** The records that the request may see. */
  #visible(request: FastifyRequest): QuerySet<Entity> {
    return this.#scoped(request, atOnce(this.getQueryset(request), `${this.name}: getQueryset()`));
  }

  /** An override of getQueryset may have started anew: what the permissions let through holds all the same. */
  #scoped(request: FastifyRequest, queryset: QuerySet<Entity>): QuerySet<Entity> {
    if (queryset.isSliced) throw slicedAway(this.name, 'getQueryset()', 'its look-ups, and its paginator,');
    const scope = stateOf(request).grant?.scope;
    return scope === undefined ? queryset : queryset.where(scope);
  }

  /** The record of the path, of those that the request may see. */
  #one(request: FastifyRequest): QuerySet<Entity> {
    return this.#visible(request).where(compare(this.#resolved.pk, 'exact', stateOf(request).pk));
  }

  /** The record of the path in the read shape; where nothing narrows the view for this request, by what is settled. */
  #find(request: FastifyRequest): Awaitable<Output | undefined> {
    const { grant, pk } = stateOf(request);
    const isNarrowed = this.getQueryset !== ModelViewSetBase.prototype.getQueryset || grant?.scope !== undefined;
    if (isNarrowed || this.#answers.ofEntities === true) return this.#one(request).first(this.#answers);
    return (this.#resolved.finder as RecordFinder<object, Output>).find(request, pk);
  }

  /** Rows are read as rows, unless a hook of the view or an object permission has to see the entity. */
  #wantsEntity(request: FastifyRequest): boolean {
    return this.#resolved.readsEntities || (stateOf(request).grant?.needsObject ?? false);
  }

  #create(request: FastifyRequest): Awaitable<Created<Output>> {
    const body = request.body as object;
    const write = this.#statementFor(request, 'create', undefined, body);
    if (write !== undefined) return this.#own(request, () => backendOf(write.em).insert({ ...write, data: body }));
    return inTransaction(request, async () => {
      const data = await this.#resolved.resolveReferences(request, body);
      return this.#stored(request, await this.performCreate(request, data as WriteData<Entity, Input>));
    });
  }

  /** What was sent of a record. Its primary key is chosen when it is created, and stays. */
  #changes(request: FastifyRequest): object {
    const { [this.#resolved.pk.property.name]: _pk, ...changes } = request.body as Record<string, unknown>;
    return changes;
  }

  #statementFor(
    request: FastifyRequest,
    operation: WriteOperation,
    target: Condition | undefined,
    changes: object,
  ): RowWrite<Output> | undefined {
    const write = this.#resolved.writes.statementFor(request, operation, target, changes);
    return write as RowWrite<Output> | undefined;
  }

  /** Runs what writes the view's own record. */
  #own<Result>(request: FastifyRequest, work: () => Awaitable<Result>): Awaitable<Result> {
    return ownWrite(this.meta, request.body, work);
  }

  /** Locks the record of the path, whoever may see it. */
  async #lock(request: FastifyRequest): Promise<void> {
    await this.#byKey(request, stateOf(request).pk).entity({ lock: true });
  }

  #byKey(request: FastifyRequest, pk: unknown): QuerySet<Entity> {
    return QuerySet.of(request.em, this.entity).where(compare(this.#resolved.pk, 'exact', pk));
  }

  /**
   * Reads a record as the database has stored it: its defaults, roundings and triggers are not to be guessed. A record
   * that has left the scope of whoever wrote it must not have been written.
   */
  async #stored(request: FastifyRequest, entity: Entity): Promise<Created<Output>> {
    const pk = (entity as Record<string, unknown>)[this.#resolved.pk.property.name];
    if (pk === undefined || pk === null) throw notStored(this.meta);
    const stored = this.#byKey(request, pk);
    const record = await this.#scoped(request, stored).first(this.#answers);
    if (record !== undefined) return { pk, record };
    if (stateOf(request).grant?.scope !== undefined) throw permissionDenied(request);
    return { pk, record: this.represent(entity) };
  }
}

function slicedAway(view: string, what: string, who: string): ImproperlyConfigured {
  return new ImproperlyConfigured(`${view}: ${what} must not be sliced: ${who} would forget the slice`);
}
