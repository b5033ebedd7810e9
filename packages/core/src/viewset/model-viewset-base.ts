import { type EntityData, type EntityKey, type EntityMetadata, type EntityName, Utils } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Awaitable, isPromise, whenReady } from '../awaitable.ts';
import type { Backend, RowWrite } from '../backends/backend.ts';
import { namesAny, namesTag, type TagComparison } from '../entity-tag.ts';
import { InvalidUsage, NotFound, PreconditionFailed, PreconditionRequired } from '../errors.ts';
import { checkNotGivenUp } from '../given-up.ts';
import { isRecord } from '../json.ts';
import { always, and, type Condition } from '../language/condition.ts';
import type { Projection, Seen } from '../language/projection.ts';
import { backendOf } from '../query/backend-of.ts';
import type { QuerySet } from '../query/queryset.ts';
import { namesShowing } from '../shapes/read-shape.ts';
import type { ResolvedData } from '../shapes/write-input.ts';
import type { NullOf } from '../shapes/wire-value.ts';
import { hasPendingRelations, notFlushed } from '../mikro/pending-relations.ts';
import { removeEntity } from '../mikro/remove-entity.ts';
import type { RecordRequest } from './action.ts';
import type { AnsweringOperation } from './answer.ts';
import { answerOf } from './answer-of.ts';
import { BulkOperations } from './bulk-operations.ts';
import type { FileRecord } from './file-actions.ts';
import { FILE_LINKS, type LinkedView } from './file-links.ts';
import type { ExportType } from './list-export.ts';
import { requestApart } from './request-for.ts';
import { parametersOf, stateOf } from './request-state.ts';
import { type AnyModelOptions, checkClassBody } from './model-viewset-options.ts';
import { FILE_RECORD, Resource } from './resource.ts';
import { SharedLookUps } from './shared-look-ups.ts';
import { type AskedPlan, type RecordView, refuses, SHOWS } from './shown-view.ts';
import { DEFINE, type ViewContext, type ViewDefinition } from './view-definition.ts';
import { DOCUMENTATION_RULES, type ViewDocumentation, ViewSet } from './viewset.ts';
import { type AnswerOf, byAuthor, slicedAway, ViewRecords } from './view-records.ts';
import { ViewWrites } from './view-writes.ts';
import type { WriteExplanation, WriteOperation, WriteTarget } from './write-plan.ts';

/** The data of a write, which a hook may enrich with fields that the client does not send, by what `em.create` takes. */
export type WriteData<Entity, Input> = ResolvedData<Entity, Input> & {
  readonly [Field in Exclude<EntityKey<Entity>, keyof Input>]?:
    | Exclude<EntityData<Entity>[Field], null>
    | NullOf<Entity[Field]>
    | undefined;
};

/** The types of a view's hooks. */
export interface ViewTypes {
  /** The records that the operations answer with. */
  readonly answers: Readonly<Record<AnsweringOperation, object>>;
  readonly createData: unknown;
  readonly updateData: unknown;
  readonly extra: unknown;
  /** The names of the shapes that `readShapeFor` may choose. */
  readonly shapeName: string;
}

/** The parts of a view that is at its place. */
interface Parts<Entity extends object, Output extends object> {
  readonly resource: Resource;
  readonly records: ViewRecords<Entity, Output>;
  readonly writes: ViewWrites<Entity>;
  readonly bulk: BulkOperations<Entity, Output>;
}

/** The operations by which clients read records. */
const GETS = ['retrieve', 'list'] as const;

/** The ways of a record that there is to the database. */
interface Ways<Entity, Output extends object, Result> {
  /** Writes by one statement; undefined if there is no such record. */
  readonly statement: (
    backend: Backend,
    write: Omit<RowWrite<Output>, 'projection'> & { readonly condition: Condition },
  ) => Awaitable<Result | undefined>;
  /** Writes the entity, in a transaction. */
  readonly work: (entity: Entity) => Promise<Result>;
}

/** The operations and hooks whose overrides decide how records are read and written. */
const HOOKS = [
  'list',
  'retrieve',
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
  Entity extends object = object,
  Types extends ViewTypes = ViewTypes,
> extends ViewSet {
  readonly #entity: EntityName<Entity>;
  readonly #options: AnyModelOptions;
  #made: Parts<Entity, Types['answers'][AnsweringOperation]> | undefined;

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
    return this.#parts.records.all(request);
  }

  /**
   * Applies the view's filters in order; answers at once if all of them do. Override it to narrow lists alone. What it returns
   * is narrowed to the records of `getQueryset` again, so that a filter may start from `QuerySet.of()`.
   *
   * @example
   * override async filterQueryset(request: FastifyRequest, queryset: QuerySet<Product>) {
   *   const found = await super.filterQueryset(request, queryset);
   *   return found.filter({ stock__gt: 0 });
   * }
   */
  filterQueryset(request: FastifyRequest, queryset: QuerySet<Entity>): Awaitable<QuerySet<Entity>> {
    return this.#resource.lists.filter(request, queryset);
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
    const { records } = this.#parts;
    const [entity] = await records.entities(request, records.byPath(request), transaction !== undefined);
    if (entity === undefined) throw new NotFound();
    await this.checkObjectPermissions(request, entity);
    state.object = { entity, transaction };
    return entity;
  }

  /** GET on the collection. */
  override async list(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { lists } = this.#resource;
    const visible = this.#parts.records.visible(request);
    try {
      const type = lists.export?.typeFor(request, reply);
      // A filter may have started anew.
      const filtered = this.filterQueryset(request, visible);
      const queryset = whenReady(filtered, (records) => records.where(visible.condition));
      if (type !== undefined) return await this.#export(request, reply, type, await queryset);
      return await (lists.paginator === null ? this.rows(queryset, request) : this.paginate(request, queryset, reply));
    } catch (error) {
      if (error instanceof InvalidUsage) await lists.check(request);
      throw await lists.blamed(request, error);
    }
  }

  /** GET on a record. */
  override async retrieve(request: FastifyRequest, _reply: FastifyReply): Promise<Types['answers']['retrieve']> {
    const answer = this.#answer(request, 'retrieve');
    if (!this.#wantsEntity(request)) return this.#find(request, answer, answer.records);
    return this.#parts.records.represented(request, answer, await this.getObject(request));
  }

  /** POST on the collection. */
  override async create(request: FastifyRequest, reply: FastifyReply): Promise<Types['answers']['create']> {
    const { resource, records, writes } = this.#parts;
    const data = request.body as object;
    const answer = this.#answer(request, 'create');
    const { key, record } = await writes.byPlan(
      request,
      { operation: 'create', data, answer },
      (backend, write) => backend.insert({ ...write, projection: answer.keyed, data }),
      async () => {
        const { nesting } = resource;
        const whole = nesting && (await writes.lookedUp(request, 'create', nesting.withParent(request, data)));
        const [judged] = await writes.judged(request, 'create', [{ body: data, path: '', data: whole ?? data }]);
        const { resolved, extra } = judged!;
        const entity = await this.performCreate(request, resolved as WriteData<Entity, Types['createData']>, extra);
        return records.stored(request, answer, entity);
      },
    );
    reply.code(201);
    if (resource.operations.includes('retrieve')) reply.header('location', resource.key.pathOf(key, request));
    return record;
  }

  /** PUT and PATCH on a record. */
  override async update(request: FastifyRequest, reply: FastifyReply): Promise<Types['answers']['update']> {
    const { resource, records, writes } = this.#parts;
    // The primary key of a record is chosen when it is created, and stays.
    const body = request.body as Record<string, unknown>;
    const { [resource.pk.property.name]: _pk, ...data } = body;
    const answer = this.#answer(request, 'update');
    const target = { operation: 'update', data, answer } as const;
    const record = await this.#writeOne(request, reply, target, {
      statement: (backend, write) => backend.update({ ...write, projection: answer.records, data }),
      work: async (entity) => {
        const [judged] = await writes.judged(request, 'update', [{ body, path: '', data, entity }]);
        const { resolved, extra } = judged!;
        const changes = resolved as WriteData<Entity, Partial<Types['updateData']>>;
        const changed = await this.performUpdate(request, entity, changes, extra);
        return (await records.stored(request, answer, changed)).record;
      },
    });
    if (record === undefined) throw new NotFound();
    return record;
  }

  /** DELETE on a record. */
  override async destroy(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const target = { operation: 'destroy', data: {} } as const;
    const isFound = await this.#writeOne(request, reply, target, {
      statement: (backend, write) => whenReady(backend.remove(write), (isRemoved) => isRemoved || undefined),
      work: async (entity) => {
        await this.performDestroy(request, entity);
        return true;
      },
    });
    if (!isFound) throw new NotFound();
    reply.code(204);
  }

  /**
   * POST of an array on the collection, if the option `bulk` allows it: all records are created or none, each by `performCreate` if
   * the view overrides it.
   */
  createMany(request: FastifyRequest, reply: FastifyReply): Promise<Types['answers']['create'][]> {
    return this.#parts.bulk.create(request, reply);
  }

  /**
   * PATCH of an array on the collection, if the option `bulk` allows it: objects with the keys of the records that they change. All
   * are written or none, each by `performUpdate` if the view overrides it.
   */
  updateMany(request: FastifyRequest, _reply: FastifyReply): Promise<Types['answers']['update'][]> {
    return this.#parts.bulk.update(request);
  }

  /**
   * `DELETE …?pk=1,2,3` on the collection, if the option `bulk` allows it: all records are deleted or none, each by
   * `performDestroy` if the view overrides it.
   */
  destroyMany(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    return this.#parts.bulk.destroy(request, reply);
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
  async performCreate(
    request: FastifyRequest,
    data: WriteData<Entity, Types['createData']>,
    _extra?: Types['extra'],
  ): Promise<Entity> {
    checkNotGivenUp(request);
    const { writes } = this.#parts;
    const entity = await writes.make(request, data);
    await writes.flush(request);
    return entity;
  }

  /** Stores what was sent of a record, and nothing else of it, inside the request's transaction. */
  async performUpdate(
    request: FastifyRequest,
    entity: Entity,
    data: WriteData<Entity, Partial<Types['updateData']>>,
    _extra?: Partial<Types['extra']>,
  ): Promise<Entity> {
    checkNotGivenUp(request);
    await this.#parts.writes.assign(request, entity, data);
    return entity;
  }

  /** Deletes a record, inside the request's transaction. Override it to mark it instead. */
  async performDestroy(request: FastifyRequest, entity: Entity): Promise<void> {
    checkNotGivenUp(request);
    removeEntity(request.em, entity);
    await this.#parts.writes.flush(request);
  }

  /**
   * Returns the page that the request asks for, of a query set's records in the read shape of lists; for actions that list.
   * Records outside the permissions' scope, or of another parent than the path names, are left out, however the query set was
   * made. A paginator with `links` needs the reply.
   */
  async paginate(
    request: FastifyRequest,
    filtered: Awaitable<QuerySet<Entity>>,
    reply?: FastifyReply,
  ): Promise<object> {
    const queryset = this.#parts.records.within(request, isPromise(filtered) ? await filtered : filtered);
    const { paginator } = this.#resource.lists;
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
   * Returns the records of a query set in the read shape of lists. With a request, the shape is the one that `readShapeFor`
   * chooses for it, and records outside the permissions' scope are left out, as in `paginate`.
   */
  rows(queryset: Awaitable<QuerySet<Entity>>, request?: FastifyRequest): Promise<Types['answers']['list'][]> {
    if (isPromise(queryset)) return queryset.then((found) => this.rows(found, request));
    const answer = request === undefined ? this.#resource.answers.own('list') : this.#answer(request, 'list');
    const records = request === undefined ? queryset : this.#parts.records.within(request, queryset);
    return byAuthor(records, answer).rows(answer.records);
  }

  /**
   * Reads the records of relations to many that the read shape shows of entities (`many()`), for `represent`: by one statement
   * for each relation and level, however many entities there are. When the view itself calls `represent`, it has done so.
   * Later changes need another call.
   *
   * Within a transaction, such as that of an action of one record under POST, the changes of `request.em` are flushed first. Outside of one nothing is
   * written, and it throws an Error if `request.em` has changes of relations, or new or removed entities, that are not flushed.
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
  async loadRelated(request: FastifyRequest, ...entities: Entity[]): Promise<void> {
    const { em } = request;
    if (em.isInTransaction()) await em.flush();
    else if (hasPendingRelations(em)) throw notFlushed(`${this.name}: loadRelated()`);
    return backendOf(request).loadChildren(request, entities, this.#resource.answers.current(request).projection);
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
  represent(entity: Entity, request?: FastifyRequest): Types['answers']['retrieve'] {
    return this.#resource.answers.readEntity(entity, request);
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
  readShapeFor(_request: FastifyRequest, _operation: AnsweringOperation): Types['shapeName'] | undefined {
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
    return this.#resource.writes.explain();
  }

  override get meta(): EntityMetadata {
    return this.#resource.meta;
  }

  /** @internal */
  override [DEFINE](context: ViewContext): ViewDefinition {
    const { entity } = this;
    checkClassBody(this, Utils.className(entity));
    const overridden = HOOKS.filter((hook) => this[hook] !== ModelViewSetBase.prototype[hook]);
    const resource = new Resource(this, overridden, entity as EntityName<object>, this.#options, context);
    const records = new ViewRecords<Entity, Types['answers'][AnsweringOperation]>(
      this,
      entity,
      resource,
      overridden.includes('getQueryset'),
    );
    const writes = new ViewWrites(entity, resource);
    const bulk = new BulkOperations<Entity, Types['answers'][AnsweringOperation]>({
      view: this,
      resource,
      records,
      writes,
      overridden,
    });
    this.#made = { resource, records, writes, bulk };
    return resource;
  }

  /** @internal */
  get [FILE_LINKS](): LinkedView {
    return { entity: this.#entity as EntityName<object>, ...this.#options };
  }

  /** @internal */
  get [FILE_RECORD](): FileRecord {
    return (request, reply, file) => this.#withFile(request, reply, file);
  }

  /** @internal */
  get [SHOWS](): RecordView<Resource> {
    return {
      view: this,
      definition: this.#resource,
      show: (request, wantsEntity) => this.#show(request, wantsEntity),
      permit: (request, plan) => this.#permit(request, plan),
      showAll: (request, condition) => this.#showAll(request, condition),
    };
  }

  /** Looks a record up for the views that are nested in this one, as `retrieve` would show it. */
  async #show(request: FastifyRequest, wantsEntity: boolean): Promise<Entity | undefined> {
    if (this.#resource.finders.includes('retrieve')) {
      await this.#asked(request, 'retrieve');
      if (!wantsEntity) return undefined;
    }
    return this.#lookUp(request, wantsEntity);
  }

  /** Asks an override of an operation that reads, in the place of the request for it. Throws NotFound if it answers with no record. */
  async #asked(request: FastifyRequest, operation: 'list' | 'retrieve'): Promise<Readonly<Record<string, unknown>>> {
    const { reply } = stateOf(request);
    if (reply === undefined) throw new TypeError(`${this.name}.${operation} is asked outside of a route`);
    const answer = await answerOf((silent) => this[operation](request, silent), reply);
    if (answer === undefined && operation === 'retrieve') throw new NotFound();
    return answer ?? {};
  }

  async #permit(request: FastifyRequest, { action, detail }: AskedPlan): Promise<void> {
    const { reply } = stateOf(request);
    if (this.#resource.actions.has(action) && reply !== undefined) await this.#withFile(request, reply, action);
    else if (action === 'retrieve') await this.#show(request, false);
    else if (detail) await this.#lookUp(request, false);
    else if (action === 'list' && this.#overrides('list')) await this.#asked(request, 'list');
  }

  /** Finds the record of the path for one of its files, if a GET of the record, or of the list, shows this request the file. */
  async #withFile(request: FastifyRequest, reply: FastifyReply, file: string): Promise<Entity> {
    const { operations } = this.#resource;
    const answers = GETS.filter((operation) => operations.includes(operation)).map((get) => this.#answer(request, get));
    const names = answers.flatMap(({ shape }) => namesShowing(shape, file));
    if (names.length === 0) throw new NotFound();
    if (this.#overrides('retrieve') || this.#overrides('represent')) {
      stateOf(request).reply = reply;
      const record = await this.#asked(request, 'retrieve');
      if (!names.some((name) => isRecord(record[name]))) throw new NotFound();
    }
    return this.getObject(request);
  }

  /** Looks the record of the path up for the operations on it. */
  async #lookUp(request: FastifyRequest, wantsEntity: boolean): Promise<Entity | undefined> {
    if (this.#overrides('getObject')) return this.getObject(request);
    const records = this.#one(request);
    const { lookUps = new SharedLookUps() } = stateOf(request);
    if (!wantsEntity && !this.#wantsEntity(request)) {
      if (await lookUps.find(records, 'exists', () => records.exists())) return undefined;
      throw new NotFound();
    }
    // Not locked: records that are created below one parent need not wait for each other.
    const populate = this.#resource.answers.populateFor(request);
    const [entity] = await lookUps.find(records, `entity ${populate.join()}`, () =>
      this.#parts.records.entities(request, this.#parts.records.byPath(request), false),
    );
    if (entity === undefined) throw new NotFound();
    await this.checkObjectPermissions(request, entity);
    return entity;
  }

  /** Finds the records that `retrieve` would show, for the views whose bodies refer to them. */
  async #showAll(request: FastifyRequest, condition: Condition): Promise<Entity[]> {
    const shown: Entity[] = [];
    for (const entity of await this.#parts.records.entities(request, condition, false)) {
      try {
        await this.checkObjectPermissions(request, entity);
        shown.push(entity);
      } catch (error) {
        if (!refuses(error)) throw error;
      }
    }
    return shown;
  }

  #overrides(hook: (typeof HOOKS)[number]): boolean {
    return this.#resource.overridden.includes(hook);
  }

  get #parts(): Parts<Entity, Types['answers'][AnsweringOperation]> {
    if (this.#made === undefined) throw new TypeError(`${this.name} is used before a router has registered it`);
    return this.#made;
  }

  get #resource(): Resource {
    return this.#parts.resource;
  }

  #answer<Name extends AnsweringOperation>(request: FastifyRequest, operation: Name): AnswerOf<Types['answers'][Name]> {
    return this.#resource.answers.of(request, operation);
  }

  async #export(
    request: FastifyRequest,
    reply: FastifyReply,
    type: ExportType,
    filtered: QuerySet<Entity>,
  ): Promise<FastifyReply> {
    if (filtered.isSliced) throw slicedAway(this.name, 'what filterQueryset() returns', 'an export');
    // What is sent piece by piece cannot turn out to be a 404.
    await this.#resource.nesting?.parent.find(request);
    const answer = this.#answer(request, 'list');
    const { records, schema } = answer;
    const name = request.routeOptions.config.viewset?.view.basename ?? 'list';
    const queryset = byAuthor(filtered, answer);
    return this.#resource.lists.export!.send(request, reply, type, { queryset, records, schema, name });
  }

  /** Selects the record of the path among those that the request may see. */
  #one(request: FastifyRequest): QuerySet<Entity> {
    const { records } = this.#parts;
    return records.visible(request).where(records.byPath(request));
  }

  /** Tells if a write has an `If-Match` or `If-None-Match` to meet, or lacks one that the view wants. */
  #hasPrecondition({ headers }: FastifyRequest): boolean {
    const { preconditions } = this.#resource;
    if (preconditions === undefined) return false;
    return preconditions.isRequired || headers['if-match'] !== undefined || headers['if-none-match'] !== undefined;
  }

  /**
   * Writes the record of the path. One that a request wants to be as it knows it is written by one statement if it still has the columns
   * that were compared. If it has others, it is compared anew, which mostly ends the request, and then under its lock.
   */
  async #writeOne<Result>(
    request: FastifyRequest,
    reply: FastifyReply,
    target: Pick<WriteTarget, 'operation' | 'data' | 'answer'>,
    { statement, work }: Ways<Entity, Types['answers']['update'], Result>,
  ): Promise<Result | undefined> {
    const { writes } = this.#parts;
    const isConditional = this.#hasPrecondition(request);
    const { condition, filters } = this.#one(request);
    const inSteps = async (): Promise<Result> =>
      work(await writes.lookedUp(request, target.operation, this.#writable(request, reply, isConditional)));
    const write = (named: Condition): Awaitable<Result | undefined> =>
      writes.byPlan<Result | undefined, Types['answers']['update']>(
        request,
        { ...target, condition: named, filters },
        (backend, plan) => statement(backend, { ...plan, condition: named }),
        inSteps,
      );
    if (!isConditional) return write(condition);
    const unchanged = await writes.lookedUp(request, target.operation, this.#compared(request, reply));
    if (unchanged !== undefined) {
      const written = await write(and(condition, unchanged));
      if (written !== undefined) return written;
      await this.#compared(request, reply);
    }
    return writes.together(request, inSteps);
  }

  /**
   * Compares an `If-Match` with the record without a lock. Of many clients that write one record most have a tag that is of no use any
   * more; each of them would hold a connection, and keep from the lock those that can write. What is read here is apart from
   * `request.em`, which would keep it as it was.
   *
   * @returns the condition that is true as long as the record is as it was compared; undefined if it has to be compared under its lock
   * @throws PreconditionFailed for a tag of another record; NotFound
   */
  async #compared(request: FastifyRequest, reply: FastifyReply): Promise<Condition | undefined> {
    const { 'if-match': wanted, 'if-none-match': unwanted } = request.headers;
    // A transaction of the application's own may hold the lock already.
    if (wanted === undefined || request.reader.isInTransaction()) return undefined;
    const seen = await this.#named(requestApart(request), reply, wanted, 'strong');
    if (seen === undefined) throw new PreconditionFailed();
    return unwanted === undefined ? seen.unchanged : undefined;
  }

  /**
   * Finds the record to write. Compares an `If-Match` and an `If-None-Match` with it as `retrieve` answers it, in the transaction
   * that holds its lock. Throws PreconditionRequired if the view requires an `If-Match` and there is none.
   */
  async #writable(request: FastifyRequest, reply: FastifyReply, isConditional: boolean): Promise<Entity> {
    if (!isConditional) return this.getObject(request);
    // An override of getObject may take no lock, and MikroORM hands it what was read before as it was.
    const isLocking = !this.#overrides('getObject');
    const { records } = this.#parts;
    if (!isLocking) await records.named(request, records.byPath(request)).entity({ lock: true });
    const entity = await this.getObject(request);
    const { 'if-match': wanted, 'if-none-match': unwanted } = request.headers;
    if (wanted === undefined && this.#resource.preconditions?.isRequired === true) throw new PreconditionRequired();
    const isNamed = async (header: string, comparison: TagComparison): Promise<boolean> =>
      (await this.#named(request, reply, header, comparison)) !== undefined;
    if (wanted !== undefined && !(await isNamed(wanted, 'strong'))) throw new PreconditionFailed();
    if (unwanted !== undefined && (await isNamed(unwanted, 'weak'))) {
      throw new PreconditionFailed('The record is one that If-None-Match names; nothing was written');
    }
    return entity;
  }

  /** Compares the record, as `retrieve` answers it to this request, with the tags of a header; undefined if none is that of the record. */
  async #named(
    request: FastifyRequest,
    reply: FastifyReply,
    header: string,
    comparison: TagComparison,
  ): Promise<Pick<Seen<object>, 'unchanged'> | undefined> {
    if (namesAny(header)) return { unchanged: always };
    const { answers, preconditions } = this.#resource;
    // The record was loaded for another answer.
    if (!answers.isOne) stateOf(request).object = undefined;
    const seen = await this.#seen(request, reply);
    if (seen === undefined || preconditions === undefined) return undefined;
    const { record } = seen as Seen<Record<string, unknown>>;
    const schema: object = this.#answer(request, 'retrieve').schema;
    const text = reply.serializeInput(record, schema as Record<string, unknown>);
    return namesTag(header, preconditions.tagOf(text), comparison) ? seen : undefined;
  }

  /** Reads the record as `retrieve` answers with it; undefined if it answers with none. */
  async #seen(request: FastifyRequest, reply: FastifyReply): Promise<Seen<object> | undefined> {
    const answer = this.#answer(request, 'retrieve');
    const isOwn = !this.#overrides('retrieve') && !this.#wantsEntity(request);
    if (isOwn && answer.isPlain) return this.#find(request, answer, answer.seen);
    const record = await answerOf((silent) => this.retrieve(request, silent), reply);
    return record && { record, unchanged: undefined };
  }

  /** Reads the record of the path. Throws NotFound. */
  #find<Found>(request: FastifyRequest, answer: AnswerOf<object>, projection: Projection<Found>): Awaitable<Found> {
    const visible = byAuthor(this.#parts.records.visible(request), answer);
    return whenReady(visible.find(stateOf(request).pk, projection, this.#resource.key.column), (record) => {
      if (record === undefined) throw new NotFound();
      return record;
    });
  }

  /** Tells if a hook of the view or an object permission has to see the entity. */
  #wantsEntity(request: FastifyRequest): boolean {
    return this.#resource.readsEntities || stateOf(request).grant?.needsObject === true;
  }
}
