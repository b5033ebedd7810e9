import { type EntityData, type EntityKey, type EntityMetadata, type EntityName, Utils } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Awaitable, isPromise } from '../support/awaitable.ts';
import { ImproperlyConfigured, orNotFound } from '../errors/errors.ts';
import { checkNotAborted } from '../http/abort-state.ts';
import type { QuerySet } from '../query/queryset.ts';
import type { NullOf } from '../shapes/wire-value.ts';
import type { ByProperty, ResolvedData, UpdateBody } from '../shapes/write/write-input.ts';
import type { RecordRequest } from './setup/action.ts';
import type { RecordOutputOf } from './request/record-output.ts';
import { FILE_LINKS, type LinkedView } from './files/file-links.ts';
import { type AnyModelOptions, checkClassBody } from './setup/model-viewset-options.ts';
import type { OutputOperation, InputOperation, WriteOperation } from './request/operation.ts';
import { CreateOperation } from './operations/create.ts';
import { DestroyOperation } from './operations/destroy.ts';
import { ListOperation } from './operations/list.ts';
import { RetrieveOperation } from './operations/retrieve.ts';
import { UpdateOperation } from './operations/update.ts';
import type { ViewParts } from './operations/view-parts.ts';
import { RecordWrites } from './write/record-writes.ts';
import { stateOf } from './request/request-state.ts';
import { loadStored } from './request/deferred-records.ts';
import { ResolvedView } from './setup/resolved-view.ts';
import { ShownRecords, SHOWN_RECORDS } from './records/shown-records.ts';
import { STEPS, type ViewSteps } from './setup/feature.ts';
import { DEFINE, type ViewContext, type ViewDefinition } from './setup/view-definition.ts';
import { DOCUMENTATION_RULES, type ViewDocumentation } from './setup/view-documentation.ts';
import { ViewSet } from './viewset.ts';
import { VisibleRecords } from './records/visible-records.ts';
import type { WriteExplanation } from './write/write-plan.ts';

/**
 * The data of a write, by the entity's property names. A hook may add fields that clients do not send, with values that
 * `em.create` accepts.
 */
export type WriteData<Entity, Input> = ResolvedData<Entity, Input> & {
  readonly [Field in Exclude<EntityKey<Entity>, keyof ByProperty<Input>>]?:
    | Exclude<EntityData<Entity>[Field], null>
    | NullOf<Entity[Field]>
    | undefined;
};

/** The types of a view's hooks. */
export interface ViewTypes {
  /** The records that the operations return. */
  readonly outputs: Readonly<Record<OutputOperation, object>>;
  readonly createData: unknown;
  readonly updateData: unknown;
  readonly extra: unknown;
  /** The names of the shapes that `readShapeFor` may choose. */
  readonly readShapeName: string;
  /** The names of the shapes that `writeShapeFor` may choose. */
  readonly writeShapeName: string;
}

/** The parts of a registered view, with its operations. */
interface Parts<Entity extends object, Outputs extends ViewTypes['outputs']> extends ViewParts<Entity> {
  readonly list: ListOperation<Entity, Outputs['list']>;
  readonly retrieve: RetrieveOperation<Entity, Outputs['retrieve']>;
  readonly create: CreateOperation<Entity, Outputs['create']>;
  readonly update: UpdateOperation<Entity, Outputs['update']>;
  readonly destroy: DestroyOperation<Entity>;
  readonly shown: ShownRecords;
}

/**
 * The five operations on the records of one entity. Extend `ModelViewSet(Entity, options)` and override the hook of the
 * step that you want to change:
 *
 * - `getQueryset`: which records exist
 * - `filterQueryset`: how a list is filtered
 * - `getObject`: how a record is found
 * - `performCreate`, `performUpdate`, `performDestroy`: what a write does
 * - `represent`: what a response shows of a record
 */
export abstract class ModelViewSetBase<
  Entity extends object = object,
  Types extends ViewTypes = ViewTypes,
> extends ViewSet {
  readonly #entity: EntityName<Entity>;
  readonly #options: AnyModelOptions;
  #made: Parts<Entity, Types['outputs']> | undefined;

  constructor(entity: EntityName<Entity>, options: AnyModelOptions) {
    super();
    this.#entity = entity;
    this.#options = options;
    this.permissionClasses = options.permissionClasses;
    this.throttles = options.throttles ?? [];
    this.ignoreUnknownParameters = options.ignoreUnknownParameters;
    this.allowAnonymous = options.allowAnonymous;
    this.idempotency = options.idempotency;
    this.batchable = options.batchable;
    const words = Object.keys(DOCUMENTATION_RULES) as (keyof ViewDocumentation)[];
    this.documentation = Object.fromEntries(words.map((word) => [word, options[word]]));
  }

  /** The entity of the view. */
  protected get entity(): EntityName<Entity> {
    return this.#entity;
  }

  /**
   * Returns the view's records for a request: all records in the scopes of the permissions, in the view's order. Override it to narrow
   * them. list, retrieve, update and destroy use it.
   *
   * @example
   * override getQueryset(request: FastifyRequest) {
   *   return super.getQueryset(request).filter({ stock__gt: 0 });
   * }
   */
  getQueryset(request: FastifyRequest): QuerySet<Entity> {
    return this.#parts.records.all(request);
  }

  /**
   * Applies the view's filters in order. It returns a promise only if a filter does. Override it to narrow only lists. The result is
   * limited to the records of `getQueryset` again, so a filter may start from `QuerySet.of()`.
   *
   * @example
   * override async filterQueryset(request: FastifyRequest, queryset: QuerySet<Product>) {
   *   const found = await super.filterQueryset(request, queryset);
   *   return found.filter({ stock__gt: 0 });
   * }
   */
  filterQueryset(request: FastifyRequest, queryset: QuerySet<Entity>): Awaitable<QuerySet<Entity>> {
    return this.#resolved.lists.filters.apply(request, queryset);
  }

  /**
   * Returns the record of the path as an entity of `request.em`, after the object permissions were checked. In a transaction, as in update
   * and destroy, the record is locked against other writers and read again. Throws NotFound, Unauthorized or Forbidden.
   */
  async getObject(request: RecordRequest): Promise<Entity> {
    const state = stateOf(request);
    const transaction = request.em.getTransactionContext<object>();
    const known = state.object;
    if (known !== undefined && (transaction === undefined || known.transaction === transaction)) {
      return known.entity as Entity;
    }
    const entity = orNotFound(await this.#parts.records.find(request, transaction !== undefined));
    await this.checkObjectPermissions(request, entity);
    state.object = { entity, transaction };
    return entity;
  }

  /** Handles GET on the collection. */
  override async list(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    return this.#parts.list.run(request, reply);
  }

  /** Handles GET on a record. */
  override async retrieve(request: FastifyRequest, _reply: FastifyReply): Promise<Types['outputs']['retrieve']> {
    return this.#parts.retrieve.run(request);
  }

  /** Handles POST on the collection. */
  override async create(request: FastifyRequest, reply: FastifyReply): Promise<Types['outputs']['create']> {
    return this.#parts.create.run(request, reply);
  }

  /** Handles PUT and PATCH on a record. */
  override async update(request: FastifyRequest, reply: FastifyReply): Promise<Types['outputs']['update']> {
    const output = this.#resolved.outputs.of(request, 'update') as RecordOutputOf<Types['outputs']['update']>;
    return this.#parts.update.run(request, reply, output);
  }

  /** Handles DELETE on a record. */
  override async destroy(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    await this.#parts.destroy.run(request, reply);
  }

  /**
   * Handles POST of an array on the collection, if the option `bulk` allows it. Creates all records or none. An
   * overridden `performCreate` runs for each record.
   */
  createMany(request: FastifyRequest, reply: FastifyReply): Promise<Types['outputs']['create'][]> {
    return this.#writeMany('create', request, reply) as Promise<Types['outputs']['create'][]>;
  }

  /**
   * Handles PATCH of an array on the collection, if the option `bulk` allows it. Each object contains the key of the
   * record to change. Changes all records or none. An overridden `performUpdate` runs for each record.
   */
  updateMany(request: FastifyRequest, reply: FastifyReply): Promise<Types['outputs']['update'][]> {
    return this.#writeMany('update', request, reply) as Promise<Types['outputs']['update'][]>;
  }

  /**
   * Handles `DELETE …?pk=1,2,3` on the collection, if the option `bulk` allows it. Deletes all records or none. An
   * overridden `performDestroy` runs for each record.
   */
  destroyMany(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    return this.#writeMany('destroy', request, reply) as Promise<void>;
  }

  /**
   * Stores a new record, inside the request's transaction. Override it to add values that clients do not send. You may give a to-one
   * relation by its primary key.
   *
   * @example
   * // with: const write = writeShape(Product, ['name', 'price']);
   * override performCreate(request: FastifyRequest, data: WriteData<Product, InputOf<typeof write>>) {
   *   return super.performCreate(request, { ...data, owner: requireUser(request).id });
   * }
   */
  async performCreate(
    request: FastifyRequest,
    data: WriteData<Entity, Types['createData']>,
    _extra?: Types['extra'],
  ): Promise<Entity> {
    checkNotAborted(request);
    const { writes } = this.#parts;
    const entity = await writes.make(request, data);
    await writes.flush(request);
    return entity;
  }

  /** Stores the sent fields of a record, and only those, inside the request's transaction. */
  async performUpdate(
    request: FastifyRequest,
    entity: Entity,
    data: WriteData<Entity, UpdateBody<Types['updateData'], 'change'>>,
    _extra?: Partial<Types['extra']>,
  ): Promise<Entity> {
    checkNotAborted(request);
    await this.#parts.writes.assign(request, entity, data);
    return entity;
  }

  /** Deletes a record, inside the request's transaction. With the option `softDelete` it marks the record as deleted instead. */
  async performDestroy(request: FastifyRequest, entity: Entity): Promise<void> {
    checkNotAborted(request);
    const { writes } = this.#parts;
    writes.remove(request, entity);
    await writes.flush(request);
  }

  /**
   * Returns the requested page of a query set, in the read shape of lists. Use it in actions that list. It always
   * leaves out records outside the permissions' scope, or of another parent than the path's. A paginator with `links`
   * or `totalHeader` needs the reply.
   *
   * @throws TypeError without pagination, and without the reply if the paginator has a `totalHeader`
   */
  async paginate(
    request: FastifyRequest,
    filtered: Awaitable<QuerySet<Entity>>,
    reply?: FastifyReply,
  ): Promise<object> {
    return this.#parts.list.page(request, await filtered, reply);
  }

  /**
   * Returns the records of a query set in the read shape of lists. If you pass the request, `readShapeFor` chooses the
   * shape. Records outside the permissions' scope are then left out, as in `paginate`.
   */
  rows(queryset: Awaitable<QuerySet<Entity>>, request?: FastifyRequest): Promise<Types['outputs']['list'][]> {
    if (isPromise(queryset)) return queryset.then((found) => this.rows(found, request));
    return this.#parts.list.rows(queryset, request);
  }

  /**
   * Loads the related records (`many()`, `exists()`, `count()`) that the read shape shows of these entities. Call it
   * before an action reads these fields of `represent`, or calls an override of `represent`. It runs one statement for
   * each relation and level, and one for all values of `exists()` and `count()`, for any number of entities. Call it
   * again after later changes.
   *
   * Within a transaction, such as a POST action on one record, it flushes `request.em` first. Outside of a transaction
   * it writes nothing. It throws an Error if `request.em` has unflushed changes of relations, or new or removed
   * entities.
   *
   * @example
   * class AuthorViewSet extends ModelViewSet(Author, { read: readShape(Author, ['id'], { books: many('books.title') }) }) {
   *   shortest = action({ detail: true }, async (request) => {
   *     const author = await this.getObject(request);
   *     await this.loadRelated(request, author);
   *     return { title: this.represent(author).books[0] };
   *   });
   * }
   */
  async loadRelated(request: FastifyRequest, ...entities: Entity[]): Promise<void> {
    const { projection } = this.#resolved.outputs.current(request);
    await loadStored(`${this.name}: loadRelated()`, request, entities, projection);
  }

  /**
   * Returns an entity in the read shape. The to-one relations that the shape reads must be loaded. Override it to build
   * responses from entities, with their methods and getters. Your override then serves list, retrieve, create and
   * update, and every record is read as an entity of `request.em`, by the same statement. Without an override, no
   * entities are made. Only the fields of the read shape are sent. For a single field that is not a column,
   * `computed()` costs less.
   *
   * If you pass the request, related records (`many()`, `exists()`, `count()`) are read after the handler has returned,
   * for all entities at once. Until then, reading one of these fields throws an error; `loadRelated` reads them
   * earlier. The shape is the one of the response; in an action, the shape of `retrieve`. `operation` selects another
   * shape.
   *
   * @example
   * override represent(product: Product) {
   *   return { ...super.represent(product), name: product.displayName() };
   * }
   */
  represent<Name extends OutputOperation>(
    entity: Entity,
    request: FastifyRequest,
    operation: Name,
  ): Types['outputs'][Name];
  represent(entity: Entity, request?: FastifyRequest): Types['outputs']['retrieve'];
  represent(entity: Entity, request?: FastifyRequest, operation?: OutputOperation): object {
    return this.#resolved.outputs.readEntity(entity, request, operation);
  }

  /**
   * Chooses the read shape of a response, by its name in the option `read`. Return undefined for the shape of the
   * operation. The library calls it once for each request, after the permissions. An unknown name gives 500. Default:
   * undefined.
   *
   * @example
   * class ProductViewSet extends ModelViewSet(Product, {
   *   read: { default: readShape(Product, ['id', 'name']), staff: readShape(Product, ['id', 'name', 'stock']) },
   * }) {
   *   override readShapeFor(request: FastifyRequest) {
   *     return request.user === null ? undefined : 'staff';
   *   }
   * }
   */
  readShapeFor(_request: FastifyRequest, _operation: OutputOperation): Types['readShapeName'] | undefined {
    return undefined;
  }

  /**
   * Chooses the write shape of a body, by its name in the option `write`. Return undefined for the shape of the
   * operation. The library calls it once for each request, after the permissions and before it reads the body. An
   * unknown name gives 500. Default: undefined.
   *
   * @example
   * class ProductViewSet extends ModelViewSet(Product, {
   *   read: readShape(Product, ['id', 'name']),
   *   write: { default: writeShape(Product, ['name']), staff: writeShape(Product, ['name', 'stock']) },
   * }) {
   *   override writeShapeFor(request: FastifyRequest) {
   *     return request.user === null ? undefined : 'staff';
   *   }
   * }
   */
  writeShapeFor(_request: FastifyRequest, _operation: InputOperation): Types['writeShapeName'] | undefined {
    return undefined;
  }

  /**
   * Explains how each operation writes: by one statement, or through the unit of work, and why. Works once a router has
   * registered the view. The same is logged at debug level when the application starts.
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
    const entity = this.#entity;
    const name = Utils.className(entity);
    context.features.check(this.name, this.#options);
    checkClassBody(this, name, context.features.rules);
    const resolved = new ResolvedView(
      this,
      ModelViewSetBase.prototype,
      entity as EntityName<object>,
      this.#options,
      context,
    );
    const records = new VisibleRecords(this, entity, resolved);
    const writes = new RecordWrites(entity, resolved, records);
    const parts = { resolved, records, writes };
    this.#made = {
      ...parts,
      list: new ListOperation(this, parts),
      retrieve: new RetrieveOperation(this, parts),
      create: new CreateOperation(this, parts),
      update: new UpdateOperation(this, parts),
      destroy: new DestroyOperation(this, parts),
      shown: new ShownRecords(this, resolved, records as unknown as VisibleRecords<object>),
    };
    return resolved;
  }

  /** @internal */
  get [STEPS](): ViewSteps {
    const { list, update, records, writes } = this.#parts;
    return { list, update, records, writes } as unknown as ViewSteps;
  }

  /** @internal */
  get [FILE_LINKS](): LinkedView {
    return { entity: this.#entity as EntityName<object>, ...this.#options };
  }

  /** @internal */
  get [SHOWN_RECORDS](): ShownRecords {
    return this.#parts.shown;
  }

  get #parts(): Parts<Entity, Types['outputs']> {
    if (this.#made === undefined) throw new TypeError(`${this.name} is used before a router has registered it`);
    return this.#made;
  }

  get #resolved(): ResolvedView {
    return this.#parts.resolved;
  }

  #writeMany(operation: WriteOperation, request: FastifyRequest, reply: FastifyReply): unknown {
    const { several } = this.#resolved.features;
    if (several !== undefined) return several[operation](request, reply);
    throw new ImproperlyConfigured(`${this.name}: ${operation}Many() needs the option "bulk"`);
  }
}
