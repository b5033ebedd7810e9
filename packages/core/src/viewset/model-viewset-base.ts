import type { EntityData, EntityKey, EntityMetadata, EntityName } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { atOnce, type Awaitable, isPromise } from '../awaitable.ts';
import { ImproperlyConfigured, InvalidUsage, NotFound, PreconditionFailed, PreconditionRequired } from '../errors.ts';
import { checkNotGivenUp } from '../given-up.ts';
import type { FileFields } from '../files/file-field.ts';
import { compare } from '../language/compare.ts';
import type { Condition } from '../language/condition.ts';
import { type Keyed, type Projection, withKey } from '../language/projection.ts';
import { newEntity } from '../mikro/new-entity.ts';
import { backendOf } from '../query/backend-of.ts';
import { QuerySet } from '../query/queryset.ts';
import { type Backend, notStored, type RowWrite } from '../backends/backend.ts';
import { assignInput } from '../shapes/assign-input.ts';
import { invalidInput } from '../schema/error-details.ts';
import type { Problem } from '../schema/scan-input.ts';
import { keyText, type RecordData } from '../shapes/references.ts';
import type { ResolvedData } from '../shapes/write-input.ts';
import type { NullOf } from '../shapes/wire-value.ts';
import type { RecordRequest } from './action.ts';
import type { Answer, AnsweringOperation } from './answer.ts';
import { answerOf, entityTag, namesAny, namesTag, representationsIn } from './entity-tag.ts';
import { NO_FILES } from './file-actions.ts';
import { dropFiles, settlingFiles } from './file-changes.ts';
import type { ExportType } from './list-export.ts';
import { parametersOf, stateOf } from './request-state.ts';
import { type AnyModelOptions, Resource } from './resource.ts';
import { AS_PARENT, type ParentView } from './parent.ts';
import { ownWrite, placeConflict } from './own-write.ts';
import { inTransaction } from './transaction.ts';
import { DEFINE, type ViewContext, type ViewDefinition } from './view-definition.ts';
import { DOCUMENTATION_RULES, permissionDenied, type ViewDocumentation, ViewSet } from './viewset.ts';
import { type WrittenRecord, writtenRecords } from './written-records.ts';
import type { WriteExplanation, WriteOperation, WriteTarget } from './write-plan.ts';

/** The data of a write, which a hook may enrich with fields that the client does not send, by what `em.create` takes. */
export type WriteData<Entity, Input> = ResolvedData<Entity, Input> & {
  readonly [Field in Exclude<EntityKey<Entity>, keyof Input>]?:
    | Exclude<EntityData<Entity>[Field], null>
    | NullOf<Entity[Field]>
    | undefined;
};

/** An answer with records of a type. */
interface AnswerOf<Output extends object> extends Answer {
  readonly records: Projection<Output>;
  readonly keyed: Projection<Keyed<Output>>;
}

/** A record of a body that is written. */
interface RecordBody<Entity> extends RecordData {
  readonly body: object;
  readonly entity?: Entity & object;
}

/** The data of a body whose references are found. */
interface Judged<Extra> {
  readonly resolved: object;
  readonly extra: Extra;
}

/** The hooks whose overrides decide how records are read and written. */
const HOOKS = [
  'create',
  'createMany',
  'update',
  'updateMany',
  'destroy',
  'destroyMany',
  'getQueryset',
  'getObject',
  'checkObjectPermissions',
  'represent',
  'readShapeFor',
  'performCreate',
  'performUpdate',
  'performDestroy',
] as const;

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
  Alternative extends string = string,
  Changes extends object = Input,
  Extra extends object = object,
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
    const words = Object.keys(DOCUMENTATION_RULES) as (keyof ViewDocumentation)[];
    this.documentation = Object.fromEntries(words.map((word) => [word, options[word]]));
  }

  /** The entity that the view is about. */
  protected get entity(): EntityName<Entity> {
    return this.#entity;
  }

  /**
   * Returns the view's records for a request: all that the permissions' scopes let through, in the view's order. Override
   * it to narrow them; list, retrieve, update and destroy all go through it.
   *
   * @example
   * override getQueryset(request: FastifyRequest) {
   *   return super.getQueryset(request).filter({ stock__gt: 0 });
   * }
   */
  getQueryset(request: FastifyRequest): QuerySet<Entity> {
    const records = this.#resolved.records.using(request) as unknown as QuerySet<Entity>;
    return this.#scoped(request, this.#nested(request, records));
  }

  /**
   * Applies the view's filters in order; answers at once if all of them do. Override it to narrow lists alone.
   *
   * @example
   * override async filterQueryset(request: FastifyRequest, queryset: QuerySet<Product>) {
   *   const found = await super.filterQueryset(request, queryset);
   *   return found.filter({ stock__gt: 0 });
   * }
   */
  filterQueryset(request: FastifyRequest, queryset: QuerySet<Entity>): Awaitable<QuerySet<Entity>> {
    return this.#resolved.filter(request, queryset);
  }

  /**
   * Returns the record of the path as an entity of `request.em`, its object permission asked. In a transaction the record
   * is locked against other writers and read anew, as update and destroy do. Throws NotFound, Unauthorized or Forbidden.
   */
  async getObject(request: RecordRequest): Promise<Entity> {
    const state = stateOf(request);
    const transaction = request.em.getTransactionContext<object>();
    const known = state.object;
    if (known !== undefined && (transaction === undefined || known.transaction === transaction)) {
      return known.entity as Entity;
    }
    const lock = transaction !== undefined;
    const named = this.#byPath(request);
    const records = this.#visible(request).where(named);
    if (lock) await this.#lockBefore(request, records, named);
    const entity = await records.entity({ populate: this.#resolved.answers.populateFor(request), lock });
    if (entity === undefined) throw new NotFound();
    await this.checkObjectPermissions(request, entity);
    state.object = { entity, transaction };
    return entity;
  }

  /** GET on the collection. */
  override async list(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const visible = this.#visible(request);
    try {
      const exports = this.#resolved.exports;
      const type = exports?.typeFor(request, reply);
      const queryset = this.filterQueryset(request, visible);
      if (type !== undefined) return await this.#export(request, reply, type, await queryset);
      return await (this.#resolved.paginator === null
        ? this.rows(queryset, request)
        : this.paginate(request, queryset, reply));
    } catch (error) {
      if (error instanceof InvalidUsage) await this.#resolved.checkListParameters(request);
      throw error;
    }
  }

  /** GET on a record. */
  override async retrieve(request: FastifyRequest, _reply: FastifyReply): Promise<Output> {
    // A hook of the view or an object permission has to see the entity.
    const wantsEntity = this.#resolved.readsEntities || stateOf(request).grant?.needsObject === true;
    const answer = this.#answer(request, 'retrieve');
    if (wantsEntity) return this.#represented(request, answer, await this.getObject(request));
    const visible = byAuthor(this.#visible(request), answer);
    const record = await visible.find(stateOf(request).pk, answer.records, this.#resolved.key);
    if (record === undefined) throw new NotFound();
    return record;
  }

  /** POST on the collection. */
  override async create(request: FastifyRequest, reply: FastifyReply): Promise<Output> {
    const data = request.body as object;
    const answer = this.#answer(request, 'create');
    const { key, record } = await this.#write(
      request,
      { operation: 'create', data, answer },
      (backend, write) => backend.insert({ ...write, projection: answer.keyed, data }),
      reply,
      async () => {
        const { nesting } = this.#resolved;
        const whole = nesting === undefined ? data : await this.#lookedUp(data, nesting.withParent(request, data));
        const [judged] = await this.#judged(request, [{ body: data, data: whole, path: '' }]);
        const { resolved, extra } = judged!;
        return this.#stored(
          request,
          answer,
          await this.performCreate(request, resolved as WriteData<Entity, Input>, extra),
        );
      },
    );
    reply.code(201).header('location', this.#resolved.pathOf(key, request));
    return record;
  }

  /** PUT and PATCH on a record. */
  override async update(request: FastifyRequest, reply: FastifyReply): Promise<Output> {
    const isConditional = this.#hasPrecondition(request);
    // The primary key of a record is chosen when it is created, and stays.
    const body = request.body as Record<string, unknown>;
    const { [this.#resolved.pk.property.name]: _pk, ...data } = body;
    const { condition, filters } = this.#one(request);
    const answer = this.#answer(request, 'update');
    const record = await this.#write(
      request,
      { operation: 'update', condition, filters, data, isConditional, answer },
      (backend, write) => backend.update({ ...write, projection: answer.records, condition, data }),
      reply,
      async () => {
        const entity = await this.#lookedUp(body, this.#writable(request, reply, isConditional));
        const [judged] = await this.#judged(request, [{ body, data, path: '', entity }]);
        const { resolved, extra } = judged!;
        const changes = resolved as WriteData<Entity, Partial<Changes>>;
        return (await this.#stored(request, answer, await this.performUpdate(request, entity, changes, extra))).record;
      },
    );
    if (record === undefined) throw new NotFound();
    return record;
  }

  /** DELETE on a record. */
  override async destroy(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const isConditional = this.#hasPrecondition(request);
    const { condition, filters } = this.#one(request);
    const isFound = await this.#write(
      request,
      { operation: 'destroy', condition, filters, data: {}, isConditional },
      (backend, write) => backend.remove({ ...write, condition }),
      reply,
      async () => {
        const entity = await this.#writable(request, reply, isConditional);
        await this.performDestroy(request, entity);
        return true;
      },
    );
    if (!isFound) throw new NotFound();
    reply.code(204);
  }

  /**
   * POST of an array on the collection, if the option `bulk` allows it: all records are created or none, each by `performCreate` if
   * the view overrides it.
   */
  async createMany(request: FastifyRequest, reply: FastifyReply): Promise<Output[]> {
    const bodies = request.body as object[];
    const answer = this.#answer(request, 'create');
    const records = await this.#writeAll(request, async () => {
      const { nesting } = this.#resolved;
      const parent = nesting === undefined ? {} : await nesting.withParent(request, {});
      const whole = bodies.map((body, index) => ({ body, data: { ...body, ...parent }, path: `/${index}` }));
      const judged = await this.#judged(request, whole);
      return this.#storedAll(request, answer, await this.#createAll(request, judged));
    });
    reply.code(201);
    return records;
  }

  /**
   * PATCH of an array on the collection, if the option `bulk` allows it: objects with the keys of the records that they change. All
   * are written or none, each by `performUpdate` if the view overrides it.
   */
  async updateMany(request: FastifyRequest, _reply: FastifyReply): Promise<Output[]> {
    const answer = this.#answer(request, 'update');
    const { key, pk, input } = this.#resolved;
    const sent = (request.body as Record<string, unknown>[]).map((body, index) => ({ body, path: `/${index}` }));
    const keys = sent.map(({ body }) => body[key.property.name]);
    return this.#writeAll(request, async () => {
      const entities = await this.#writableAll(request, keys, 'body').catch((error: unknown) => {
        input!.throwKept(sent);
        throw error;
      });
      const bodies = sent.map(({ body, path }, index) => {
        const { [pk.property.name]: _pk, [key.property.name]: _key, ...data } = body;
        return { body, data, path, entity: entities[index]! };
      });
      const judged = await this.#judged(request, bodies);
      const isHooked = this.performUpdate !== ModelViewSetBase.prototype.performUpdate;
      const writesChildren = input!.update.fields.some(({ children }) => children !== undefined);
      for (const [index, { resolved, extra }] of judged.entries()) {
        const changes = resolved as WriteData<Entity, Partial<Changes>>;
        if (isHooked || writesChildren) await this.performUpdate(request, entities[index]!, changes, extra);
        else request.em.assign(entities[index]!, changes as never);
      }
      await this.#flushOwn(request);
      return this.#storedAll(request, answer, entities);
    });
  }

  /**
   * `DELETE …?pk=1,2,3` on the collection, if the option `bulk` allows it: all records are deleted or none, each by
   * `performDestroy` if the view overrides it.
   */
  async destroyMany(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { pk: keys } = request.query as { readonly pk: readonly unknown[] };
    await this.#writeAll(request, async () => {
      const entities = await this.#writableAll(request, keys, 'query');
      const isHooked = this.performDestroy !== ModelViewSetBase.prototype.performDestroy;
      for (const entity of entities) {
        if (isHooked) await this.performDestroy(request, entity);
        else request.em.remove(entity);
      }
      await this.#flushOwn(request);
    });
    reply.code(204);
  }

  /**
   * Stores a new record, inside the request's transaction. Override it to add what the client does not send; a to-one
   * relation may be given by its primary key.
   *
   * @example
   * // with: const write = writeShape(Product, ['name', 'price']);
   * override performCreate(request: FastifyRequest, data: WriteData<Product, InputOf<typeof write>>) {
   *   return super.performCreate(request, { ...data, owner: requireUser(request).id });
   * }
   */
  async performCreate(request: FastifyRequest, data: WriteData<Entity, Input>, _extra?: Extra): Promise<Entity> {
    checkNotGivenUp(request);
    const entity = await this.#ownWrite(request, () => newEntity(request.em, this.entity, data));
    await this.#flushOwn(request);
    return entity;
  }

  /** Stores what was sent of a record, and nothing else of it, inside the request's transaction. */
  async performUpdate(
    request: FastifyRequest,
    entity: Entity,
    data: WriteData<Entity, Partial<Changes>>,
    _extra?: Partial<Extra>,
  ): Promise<Entity> {
    checkNotGivenUp(request);
    const fields = this.#resolved.input?.update.fields ?? [];
    dropFiles(request, this.#files, entity, data);
    await assignInput(request.em, entity, data, fields, () => this.#flushOwn(request));
    return entity;
  }

  /** Deletes a record, inside the request's transaction. Override it to mark it instead. */
  async performDestroy(request: FastifyRequest, entity: Entity): Promise<void> {
    checkNotGivenUp(request);
    dropFiles(request, this.#files, entity);
    request.em.remove(entity);
    await this.#flushOwn(request);
  }

  /**
   * Returns the page that the request asks for, of a query set's records in the read shape of lists; for actions that list. A
   * paginator with `links` needs the reply.
   */
  async paginate(
    request: FastifyRequest,
    filtered: Awaitable<QuerySet<Entity>>,
    reply?: FastifyReply,
  ): Promise<object> {
    const queryset = isPromise(filtered) ? await filtered : filtered;
    const { paginator } = this.#resolved;
    if (paginator === null) throw new TypeError(`${this.name}: paginate() needs a paginator, but pagination is off`);
    if (queryset.isSliced) throw slicedAway(this.name, 'what paginate() gets', 'the paginator');
    const answer = this.#answer(request, 'list');
    return paginator.paginate(
      byAuthor(queryset, answer),
      answer.records,
      parametersOf(request),
      reply && { request, reply },
    );
  }

  /**
   * Returns the records of a query set in the read shape of lists: with a request the one that `readShapeFor` chooses for it.
   */
  rows(queryset: Awaitable<QuerySet<Entity>>, request?: FastifyRequest): Promise<Output[]> {
    if (isPromise(queryset)) return queryset.then((found) => this.rows(found, request));
    const answer = request === undefined ? this.#resolved.answers.own('list') : this.#answer(request, 'list');
    return byAuthor(queryset, answer).rows(answer.records as Projection<Output>);
  }

  /**
   * Reads the records of relations to many that the read shape shows of entities (`many()`), for `represent`: by one statement
   * for each relation and level, however many entities there are. When the view itself calls `represent`, it has done so.
   * Later changes need another call.
   *
   * @example
   * class AuthorViewSet extends ModelViewSet(Author, { read: readShape(Author, ['id'], { books: many('books.title') }) }) {
   *   thanks = action({ detail: true }, async (request) => {
   *     const author = await this.getObject(request);
   *     await this.loadRelated(request, author);
   *     return this.represent(author);
   *   });
   * }
   */
  loadRelated(request: FastifyRequest, ...entities: Entity[]): Promise<void> {
    return backendOf(request).loadChildren(request, entities, this.#resolved.answers.current(request).projection);
  }

  /**
   * Returns an entity in the read shape. The relations that the shape reads must be loaded, those to many by `loadRelated`;
   * when the view calls this, they are.
   *
   * Override it to make records of entities, with their methods and getters, for list, retrieve, create and update alike:
   * every record is then read as an entity of `request.em`, by the same statement. As long as nobody does, rows are read
   * as rows and no entity is made. What is sent of the record is what the read shape declares; what one field needs that
   * is no column, `computed()` says at less cost.
   *
   * @example
   * override represent(product: Product) {
   *   return { ...super.represent(product), name: product.displayName() };
   * }
   */
  represent(entity: Entity, request?: FastifyRequest): Output {
    return this.#resolved.answers.readEntity(entity, request) as Output;
  }

  /**
   * Chooses the read shape of an answer among those that the option `read` has under names of its own; undefined is that of the
   * operation. Asked once for each request, with the permissions already met. What it returns must be declared: any other
   * name is a 500. Default: undefined.
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
  readShapeFor(_request: FastifyRequest, _operation: AnsweringOperation): Alternative | undefined {
    return undefined;
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
    const overridden = HOOKS.filter((hook) => this[hook] !== ModelViewSetBase.prototype[hook]);
    return (this.#resource = new Resource(this, overridden, this.entity as EntityName<object>, this.#options, context));
  }

  /** @internal */
  get [AS_PARENT](): ParentView {
    const show = (request: FastifyRequest, wantsEntity: boolean): Promise<Entity | undefined> =>
      this.#show(request, wantsEntity);
    return { view: this, definition: this.#resolved, show };
  }

  /** Looks a record up for the views that are nested in this one, as `retrieve` would show it. */
  async #show(request: FastifyRequest, wantsEntity: boolean): Promise<Entity | undefined> {
    if (this.getObject !== ModelViewSetBase.prototype.getObject) return this.getObject(request);
    const records = this.#one(request);
    const looksAt = this.#resolved.readsEntities || stateOf(request).grant?.needsObject === true;
    if (!wantsEntity && !looksAt) {
      if (await records.exists()) return undefined;
      throw new NotFound();
    }
    // Not locked: records that are created below one parent need not wait for each other.
    const entity = await records.entity({ populate: this.#resolved.answers.populateFor(request) });
    if (entity === undefined) throw new NotFound();
    await this.checkObjectPermissions(request, entity);
    return entity;
  }

  get #resolved(): Resource {
    if (this.#resource === undefined) throw new TypeError(`${this.name} is used before a router has registered it`);
    return this.#resource;
  }

  #answer(request: FastifyRequest, operation: AnsweringOperation): AnswerOf<Output> {
    return this.#resolved.answers.of(request, operation) as AnswerOf<Output>;
  }

  get #files(): FileFields {
    return this.#resolved.input?.files ?? NO_FILES;
  }

  async #export(
    request: FastifyRequest,
    reply: FastifyReply,
    type: ExportType,
    filtered: QuerySet<Entity>,
  ): Promise<FastifyReply> {
    if (filtered.isSliced) throw slicedAway(this.name, 'what filterQueryset() returns', 'an export');
    // What is sent piece by piece cannot turn out to be a 404.
    await this.#resolved.nesting?.parent.find(request);
    const answer = this.#answer(request, 'list');
    const { records, schema } = answer;
    const name = request.routeOptions.config.viewset?.view.basename ?? 'list';
    const queryset = byAuthor(filtered, answer);
    return this.#resolved.exports!.send(request, reply, type, { queryset, records, schema, name });
  }

  /** Selects the records that the request may see. */
  #visible(request: FastifyRequest): QuerySet<Entity> {
    const records = atOnce(this.getQueryset(request), () => `${this.name}: getQueryset()`);
    return this.#scoped(request, this.#nested(request, records));
  }

  /** Narrows a nested view to the records of the parent that the path names. */
  #nested(request: FastifyRequest, queryset: QuerySet<Entity>): QuerySet<Entity> {
    const { nesting } = this.#resolved;
    return nesting === undefined ? queryset : queryset.where(nesting.condition(request));
  }

  /** Narrows to the permissions' scope, which holds even if an override of getQueryset has started anew. */
  #scoped(request: FastifyRequest, queryset: QuerySet<Entity>): QuerySet<Entity> {
    if (queryset.isSliced) throw slicedAway(this.name, 'getQueryset()', 'its look-ups, and its paginator,');
    const scope = stateOf(request).grant?.scope;
    return scope === undefined ? queryset : queryset.where(scope);
  }

  /** Selects the record of the path among those that the request may see. */
  #one(request: FastifyRequest): QuerySet<Entity> {
    return this.#visible(request).where(this.#byPath(request));
  }

  /** True of the record that the path names. */
  #byPath(request: FastifyRequest): Condition {
    return compare(this.#resolved.key, 'exact', stateOf(request).pk);
  }

  /** Tells if a write has an `If-Match` to meet, or lacks one that the view wants. */
  #hasPrecondition({ headers }: FastifyRequest): boolean {
    const { preconditions } = this.#resolved;
    return preconditions !== undefined && (preconditions.isRequired || headers['if-match'] !== undefined);
  }

  /**
   * Finds the record to write. Compares an `If-Match` with it as `retrieve` answers it, in the transaction that holds its lock.
   * Throws PreconditionRequired if there is none.
   */
  async #writable(request: FastifyRequest, reply: FastifyReply, isConditional: boolean): Promise<Entity> {
    if (!isConditional) return this.getObject(request);
    // An override of getObject may take no lock, and MikroORM hands it what was read before as it was.
    const isLocking = this.getObject === ModelViewSetBase.prototype.getObject;
    if (!isLocking) await this.#named(request, this.#byPath(request)).entity({ lock: true });
    const entity = await this.getObject(request);
    const named = request.headers['if-match'];
    if (named === undefined) throw new PreconditionRequired();
    if (!(await this.#isCurrent(request, reply, named))) throw new PreconditionFailed();
    return entity;
  }

  /** Tells if an `If-Match` names a tag of the record, each compared with the representation that it says it is of. */
  async #isCurrent(request: FastifyRequest, reply: FastifyReply, named: string): Promise<boolean> {
    if (namesAny(named)) return true;
    const { answers } = this.#resolved;
    for (const representation of representationsIn(named)) {
      const read = (): Promise<unknown> => answerOf((silent) => this.retrieve(request, silent), reply);
      const content = await answers.represented(request, representation, read);
      if (content !== undefined && namesTag(named, entityTag(content, representation), 'strong')) return true;
    }
    return false;
  }

  /** Waits for the look-up of a record. What the schemas have found of the body comes before an error of it. */
  async #lookedUp<Found>(body: object, found: Promise<Found>): Promise<Found> {
    try {
      return await found;
    } catch (error) {
      this.#resolved.input!.throwKept([{ body, path: '' }]);
      throw error;
    }
  }

  /** Writes by one statement if that means the same, else by `work`, in a transaction. */
  #write<Result>(
    request: FastifyRequest,
    target: WriteTarget,
    statement: (backend: Backend, write: Omit<RowWrite<Output>, 'projection'>) => Awaitable<Result>,
    reply: FastifyReply,
    work: () => Promise<Result>,
  ): Awaitable<Result> {
    const write = this.#resolved.writes.statementFor(request, target);
    const written =
      write === undefined
        ? settlingFiles(request, reply, this.#files, () => inTransaction(request, work))
        : this.#ownWrite(request, () => statement(backendOf(write.em), write));
    return isPromise(written) ? written.catch((error: unknown) => this.#refuse(request, error)) : written;
  }

  /** Writes several records in one transaction. */
  #writeAll<Result>(request: FastifyRequest, work: () => Promise<Result>): Promise<Result> {
    return inTransaction(request, work).catch((error: unknown) => this.#refuse(request, error));
  }

  /** Stores new records: by one flush, which is few statements, unless the view overrides the hook. */
  async #createAll(request: FastifyRequest, judged: readonly Judged<Extra>[]): Promise<Entity[]> {
    const entities: Entity[] = [];
    const isHooked = this.performCreate !== ModelViewSetBase.prototype.performCreate;
    checkNotGivenUp(request);
    for (const { resolved, extra } of judged) {
      const data = resolved as WriteData<Entity, Input>;
      entities.push(
        isHooked
          ? await this.performCreate(request, data, extra)
          : await this.#ownWrite(request, () => newEntity(request.em, this.entity, data)),
      );
    }
    await this.#flushOwn(request);
    return entities;
  }

  /** Finds the records to write, locked in the order of their keys, and asks the object permission of each. */
  async #writableAll(
    request: FastifyRequest,
    keys: readonly unknown[],
    place: 'body' | 'query',
  ): Promise<readonly Entity[]> {
    const { key, bulk, answers } = this.#resolved;
    const named = compare(key, 'in', [...keys]);
    const records = this.#visible(request).where(named).orderByPaths([]);
    await this.#lockBefore(request, records, named);
    const found = await records.entities({ populate: answers.populateFor(request), lock: true });
    const byKey = new Map(found.map((entity) => [keyText(entity[key.property.name as keyof Entity]), entity]));
    const missing = new Set(keys.filter((each) => !byKey.has(keyText(each))));
    if (missing.size > 0) throw bulk!.absent(keys, missing, place);
    const entities = keys.map((each) => byKey.get(keyText(each))!);
    for (const entity of entities) await this.checkObjectPermissions(request, entity);
    return entities;
  }

  /** Reads records as the database has stored them, in the order of the entities. */
  async #storedAll(request: FastifyRequest, answer: AnswerOf<Output>, entities: readonly Entity[]): Promise<Output[]> {
    const { pk } = this.#resolved;
    const keys = entities.map((entity) => entity[pk.property.name as keyof Entity]);
    if (keys.some((key) => key === undefined || key === null)) throw notStored(this.meta);
    const stored = this.#named(request, compare(pk, 'in', keys));
    const rows = await this.#scoped(request, stored).rows(withKey(answer.records, pk));
    const byKey = new Map(rows.map(({ key, record }) => [keyText(key), record]));
    const records: Output[] = [];
    for (const [index, key] of keys.entries()) {
      const record = byKey.get(keyText(key));
      if (record === undefined && stateOf(request).grant?.scope !== undefined) throw permissionDenied(request);
      records.push(record ?? (await this.#represented(request, answer, entities[index]!)));
    }
    return records;
  }

  /** Writes the view's own record by the unit of work. */
  #flushOwn(request: FastifyRequest): Awaitable<void> {
    return this.#ownWrite(request, () => request.em.flush());
  }

  /** Runs a statement that writes what the body says of the view's own records. */
  #ownWrite<Result>({ body, method }: FastifyRequest, work: () => Awaitable<Result>): Awaitable<Result> {
    const { meta, input } = this.#resolved;
    const fields = (method === 'POST' ? input?.create : input?.update)?.fields ?? [];
    const recordsOf = (): WrittenRecord[] =>
      Array.isArray(body)
        ? body.flatMap((item, index) => writtenRecords(meta, fields, item, `/${index}`))
        : writtenRecords(meta, fields, body ?? {});
    return ownWrite(recordsOf, work);
  }

  /**
   * Asks the rules of the view about bodies and finds the records that they refer to.
   *
   * @throws InvalidUsage for all faults of the schemas and rules, else for all of the references
   */
  async #judged(request: FastifyRequest, bodies: readonly RecordBody<Entity>[]): Promise<Judged<Extra>[]> {
    const input = this.#resolved.input!;
    const problems: Problem[] = [];
    for (const { body, path, entity } of bodies) {
      const found = await input.judge(request, body, entity);
      problems.push(...found.map((problem) => ({ ...problem, path: path + problem.path })));
    }
    if (problems.length > 0) throw invalidInput('body', problems);
    const records: RecordData[] = [];
    for (const { data, path, entity } of bodies) {
      records.push({ data: entity === undefined ? await input.fill(request, data) : data, path, entity });
    }
    const resolved = await this.#resolved.resolveReferences(request, records);
    return bodies.map(({ body }, index) => ({ resolved: resolved[index]!, extra: input.extraOf(body) as Extra }));
  }

  /** Throws the error of a write, once it is known which value of the body is at fault. */
  async #refuse({ em }: FastifyRequest, error: unknown): Promise<never> {
    await placeConflict(em, error);
    throw error;
  }

  /**
   * Locks the records that a request names before it asks which of them it may see, if that reads more than their own columns: a
   * database that had to wait for a row does not ask anew what the condition reads of other rows.
   */
  async #lockBefore(request: FastifyRequest, visible: QuerySet<Entity>, named: Condition): Promise<void> {
    if (this.#resolved.asksOwnColumns(request, visible as unknown as QuerySet<object>)) return;
    await this.#named(request, named).entities({ lock: true });
  }

  /** Selects the records of a condition, whoever may see them, under the filters of MikroORM that the view has. */
  #named(request: FastifyRequest, condition: Condition): QuerySet<Entity> {
    const records = QuerySet.of(request.em, this.entity).where(condition);
    const isOwn = this.getQueryset === ModelViewSetBase.prototype.getQueryset;
    const filters = isOwn ? undefined : this.#visible(request).filters;
    return filters === undefined ? records : records.withFilters(filters);
  }

  /**
   * Reads a record as the database has stored it: its defaults, roundings and triggers are not to be guessed. A record
   * that has left the scope of whoever wrote it must not have been written.
   */
  async #stored(request: FastifyRequest, answer: AnswerOf<Output>, entity: Entity): Promise<Keyed<Output>> {
    const { pk: primary, key: named } = this.#resolved;
    const values = entity as Record<string, unknown>;
    const pk = values[primary.property.name];
    if (pk === undefined || pk === null) throw notStored(this.meta);
    const stored = this.#named(request, compare(primary, 'exact', pk));
    const record = await byAuthor(this.#scoped(request, stored), answer).first(answer.keyed);
    if (record !== undefined) return record;
    if (stateOf(request).grant?.scope !== undefined) throw permissionDenied(request);
    return { key: values[named.property.name], record: await this.#represented(request, answer, entity) };
  }

  async #represented(
    request: FastifyRequest,
    { projection, records }: AnswerOf<Output>,
    entity: Entity,
  ): Promise<Output> {
    if (projection.related !== undefined) await backendOf(request).loadChildren(request, [entity], projection);
    return records.readEntity(entity);
  }
}

/** Takes the statement of an answer that a client has selected for one of a client, of which there may be many. */
function byAuthor<Entity extends object>(queryset: QuerySet<Entity>, { whole }: Answer): QuerySet<Entity> {
  return whole === undefined ? queryset : queryset.by('client');
}

function slicedAway(view: string, what: string, who: string): ImproperlyConfigured {
  return new ImproperlyConfigured(`${view}: ${what} must not be sliced: ${who} would forget the slice`);
}
