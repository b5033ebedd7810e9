import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Awaitable, isPromise } from '../awaitable.ts';
import { InvalidUsage, NotFound } from '../errors.ts';
import { compare } from '../language/compare.ts';
import { QuerySet } from '../query/queryset.ts';
import { canWriteRows, type RowWriter } from '../query/write-rows.ts';
import type { RecordFinder } from '../query/record-finder.ts';
import { parametersOf, stateOf } from './request-state.ts';
import { RepresentedView } from './represented-view.ts';
import { inTransaction } from './transaction.ts';
import type { WriteData } from './write-data.ts';

type WriteHook = 'performCreate' | 'performUpdate' | 'performDestroy';

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
> extends RepresentedView<Entity, Output> {
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
    return this.#scoped(request, this.resource.records.using(request) as unknown as QuerySet<Entity>);
  }

  /** Applies the view's filters in order. Override it to narrow lists alone. */
  filterQueryset(request: FastifyRequest, queryset: QuerySet<Entity>): QuerySet<Entity> {
    const parameters = parametersOf(request);
    return this.resource.filters.reduce((narrowed, filter) => filter.apply(narrowed, parameters, request), queryset);
  }

  /**
   * The record of the path as an entity of `request.em`, its object permission asked; locked against other writers
   * while the request is in a transaction, as update and destroy are. Throws NotFound, Unauthorized or Forbidden.
   */
  async getObject(request: FastifyRequest): Promise<Entity> {
    const state = stateOf(request);
    if (state.object !== undefined) return state.object as Entity;
    const entity = await this.#one(request).entity({
      populate: this.resource.projection.populate,
      lock: request.em.isInTransaction(),
    });
    if (entity === undefined) throw new NotFound();
    await this.checkObjectPermissions(request, entity);
    state.object = entity;
    return entity;
  }

  /** GET on the collection. */
  override async list(request: FastifyRequest, _reply: FastifyReply): Promise<unknown> {
    const visible = this.#scoped(request, this.getQueryset(request));
    try {
      const queryset = this.filterQueryset(request, visible);
      return await (this.resource.paginator === null ? this.rows(queryset) : this.paginate(request, queryset));
    } catch (error) {
      if (error instanceof InvalidUsage) this.checkListParameters(request);
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
    reply.code(201).header('location', this.resource.pathOf(pk));
    return record;
  }

  /** PUT and PATCH on a record. */
  override async update(request: FastifyRequest, _reply: FastifyReply): Promise<Output> {
    const changes = this.#changes(request);
    const rows = this.#rowWriter(request, 'performUpdate');
    if (rows !== undefined && Object.keys(changes).length > 0) {
      const record = await rows.update(request.reader, this.#one(request).condition, changes);
      if (record === undefined) throw new NotFound();
      return record;
    }
    const updated = await inTransaction(request, async () => {
      const entity = await this.getObject(request);
      const data = await this.writeShape.resolveReferences(request.em, changes);
      return this.#reread(
        request,
        await this.performUpdate(request, entity, data as WriteData<Entity, Partial<Input>>),
      );
    });
    return updated.record;
  }

  /** DELETE on a record. */
  override async destroy(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const rows = this.#rowWriter(request, 'performDestroy');
    if (rows === undefined) {
      await inTransaction(request, async () => this.performDestroy(request, await this.getObject(request)));
    } else if (!(await rows.remove(request.reader, this.#one(request).condition))) {
      throw new NotFound();
    }
    await reply.code(204).send();
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
    const entity: Entity = request.em.create(this.entity, data as never);
    await request.em.persist(entity).flush();
    return entity;
  }

  /** Stores what was sent of a record, and nothing else of it, inside the request's transaction. */
  async performUpdate(
    request: FastifyRequest,
    entity: Entity,
    data: WriteData<Entity, Partial<Input>>,
  ): Promise<Entity> {
    request.em.assign(entity, data as never);
    await request.em.flush();
    return entity;
  }

  /** Deletes a record, inside the request's transaction. Override it to mark it instead. */
  async performDestroy(request: FastifyRequest, entity: Entity): Promise<void> {
    await request.em.remove(entity).flush();
  }

  /** @internal */
  override async prepareDetailAction(request: FastifyRequest): Promise<void> {
    await this.getObject(request);
  }

  /** An override of getQueryset may have started anew: what the permissions let through holds all the same. */
  #scoped(request: FastifyRequest, queryset: QuerySet<Entity>): QuerySet<Entity> {
    const scope = stateOf(request).grant?.scope;
    return scope === undefined ? queryset : queryset.where(scope);
  }

  /** The record of the path, of those that the request may see. */
  #one(request: FastifyRequest): QuerySet<Entity> {
    const visible = this.#scoped(request, this.getQueryset(request));
    return visible.where(compare(this.resource.pk, 'exact', stateOf(request).pk));
  }

  /** The record of the path in the read shape; where nothing narrows the view for this request, by what is settled. */
  #find(request: FastifyRequest): Awaitable<Output | undefined> {
    const { grant, pk } = stateOf(request);
    const isNarrowed = this.getQueryset !== ModelViewSetBase.prototype.getQueryset || grant?.scope !== undefined;
    if (isNarrowed || this.answerProjection.ofEntities === true) return this.#one(request).first(this.answerProjection);
    return (this.resource.finder as RecordFinder<object, Output>).find(request, pk);
  }

  /** Rows are read as rows, unless a hook of the view or an object permission has to see the entity. */
  #wantsEntity(request: FastifyRequest): boolean {
    if (this.getObject !== ModelViewSetBase.prototype.getObject) return true;
    return stateOf(request).grant?.needsObject ?? false;
  }

  #create(request: FastifyRequest): Awaitable<Created<Output>> {
    const rows = this.#rowWriter(request, 'performCreate');
    if (rows !== undefined) return rows.insert(request.reader, request.body as object);
    return inTransaction(request, async () => {
      const data = await this.writeShape.resolveReferences(request.em, request.body as object);
      return this.#reread(request, await this.performCreate(request, data as WriteData<Entity, Input>));
    });
  }

  /** What was sent of a record. Its primary key is chosen when it is created, and stays. */
  #changes(request: FastifyRequest): object {
    const { [this.resource.pk.property.name]: _pk, ...changes } = request.body as Record<string, unknown>;
    return changes;
  }

  /**
   * Writes rows as rows, where neither the entity, nor a subscriber, nor a hook of the view, nor an object permission has
   * to see an entity.
   */
  #rowWriter(request: FastifyRequest, hook: WriteHook): RowWriter<Output> | undefined {
    const { rows, meta } = this.resource;
    if (rows === undefined || this.#isOverridden(hook)) return undefined;
    if (hook !== 'performCreate' && this.#wantsEntity(request)) return undefined;
    if (hook !== 'performDestroy' && this.answerProjection.ofEntities === true) return undefined;
    return canWriteRows(request.reader, meta) ? (rows as RowWriter<Output>) : undefined;
  }

  #isOverridden(hook: WriteHook): boolean {
    const base = ModelViewSetBase.prototype;
    if (hook === 'performCreate') return this.performCreate !== base.performCreate;
    return hook === 'performUpdate'
      ? this.performUpdate !== base.performUpdate
      : this.performDestroy !== base.performDestroy;
  }

  /** What the database made of a record: its defaults, roundings and triggers are not to be guessed. */
  async #reread(request: FastifyRequest, entity: Entity): Promise<Created<Output>> {
    const pk = (entity as Record<string, unknown>)[this.resource.pk.property.name];
    const stored = QuerySet.of(request.em, this.entity).where(compare(this.resource.pk, 'exact', pk));
    return { pk, record: (await stored.first(this.answerProjection)) ?? this.represent(entity) };
  }
}
