import { type EntityMetadata, type EntityName, type MikroORM, Utils } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { type Awaitable, isPromise, settle, whenReady } from '../awaitable.ts';
import { ImproperlyConfigured, InvalidUsage } from '../errors.ts';
import { fieldPath, type FieldPath } from '../fields/field-path.ts';
import { FieldValueError, parseFieldText } from '../fields/field-value.ts';
import { isUnique } from '../fields/property.ts';
import { checkOptionsAreRead } from '../filters/default-filters.ts';
import { type Filter, type FilterClass, resolveOption } from '../filters/filter.ts';
import { lookupTextSchema } from '../filters/query-parameter-filter.ts';
import { InvalidUsageCollector } from '../invalid-usage-collector.ts';
import { checkOptionNames, checkValues, wrongOption } from '../options.ts';
import type { ParameterDeclaration } from '../parameters.ts';
import { templateFiller, templateOf } from '../path-template.ts';
import type { PermissionView } from '../permissions/permission.ts';
import type { Paginator, PaginatorClass } from '../pagination/paginator.ts';
import { ownColumns } from '../language/condition.ts';
import { orderKey, primaryKey } from '../language/order.ts';
import { isUnfiltered } from '../backends/entity-filters.ts';
import { QuerySet } from '../query/queryset.ts';
import { replacedRelations } from '../shapes/assign-input.ts';
import type { BodyMode, Reference } from '../shapes/bound-input.ts';
import type { RecordData } from '../shapes/references.ts';
import { type ReadShape, readShape } from '../shapes/read-shape.ts';
import type { WriteShape } from '../shapes/write-shape.ts';
import type { FileFields } from '../files/file-field.ts';
import { StagedFile } from '../files/staged-file.ts';
import type { Action } from './action.ts';
import { type AnsweringView, Answers } from './answers.ts';
import { Bulk, type BulkDeclarations, type BulkOption } from './bulk.ts';
import { checkCreatable } from './creatable.ts';
import { type FileChanges, fileChangesOf } from './file-changes.ts';
import { fileActions, NO_FILES } from './file-actions.ts';
import { ListExport } from './list-export.ts';
import { LIST_RULES } from './list-options.ts';
import { Nesting } from './nesting.ts';
import type { ModelViewSetOptions } from './model-viewset-options.ts';
import { readShapesOf } from './read-shapes.ts';
import { parametersOf } from './request-state.ts';
import { type ReferenceOptions, ReferredRecords } from './referred-records.ts';
import type { AnsweringOperation } from './answer.ts';
import type { ShownView } from './shown-view.ts';
import { Selections } from './selections.ts';
import {
  type BulkSchemas,
  type Operation,
  OPERATIONS,
  type OperationSchemas,
  type Preconditions,
  type ViewContext,
  type ViewDefinition,
} from './view-definition.ts';
import { ViewInput } from './view-input.ts';
import { type WriteDeclarations, WritePlan } from './write-plan.ts';

/** The options of any ModelViewSet. */
export type AnyModelOptions = ModelViewSetOptions<object, ReadShape<object, object>, WriteShape<object, object>>;

/** The part of a view that its resource asks. */
interface ResourceView extends PermissionView, AnsweringView {
  getObject(request: FastifyRequest): Promise<object>;
}

/**
 * Settles the declarations of a model view by its entity's metadata, before the first request. Made when the view is
 * registered; throws ImproperlyConfigured for a declaration that does not fit the entity.
 */
export class Resource implements ViewDefinition {
  readonly operations: readonly Operation[];
  readonly orm: MikroORM;
  readonly meta: EntityMetadata;
  readonly pk: FieldPath;
  /** The column whose value names a record in its path: the primary key, unless the view says otherwise. */
  readonly key: FieldPath;
  readonly answers: Answers;
  /** All that the view takes in; undefined if it is read-only. */
  readonly input: ViewInput | undefined;
  /** The requests about several records; undefined if the view takes none. */
  readonly bulk: Bulk | undefined;
  readonly preconditions: Preconditions | undefined;
  readonly writes: WritePlan;
  readonly #referred: ReferredRecords;
  /** The way to the parent of a view that is nested in another one. */
  readonly nesting: Nesting | undefined;
  /** True if a hook of the view decides which records it shows. */
  readonly narrows: boolean;
  /** True if the view finds one record in a way of its own. */
  readonly overridesGetObject: boolean;
  /** True if a hook of the view has to see the record of a path as an entity. */
  readonly readsEntities: boolean;
  readonly filters: readonly Filter[];
  readonly paginator: Paginator | null;
  /** Undefined if lists are sent as JSON alone. */
  readonly exports: ListExport | undefined;
  /** All records in the view's order, to be read with the entity manager of a request. */
  readonly records: QuerySet<object>;
  readonly listParameters: readonly ParameterDeclaration[];
  readonly takesQuery: boolean;
  readonly answerParameters: readonly ParameterDeclaration[];
  readonly pkSchema: TSchema;

  /** The schemas of lists by those of their records. */
  readonly #lists = new WeakMap<TSchema, TSchema>();
  /** The routes that send the record's files. */
  readonly actions: ReadonlyMap<string, Action>;
  /** Undefined if no record of the view has a file. */
  #fileChanges: FileChanges | undefined;
  readonly #arrays = new WeakMap<TSchema, TSchema>();
  readonly prepareDetailAction: NonNullable<ViewDefinition['prepareDetailAction']>;
  readonly #path: string;
  readonly #fillPath: ReturnType<typeof templateFiller>;

  /** @param overridden the names of the hooks that the view overrides */
  constructor(
    view: ResourceView,
    overridden: readonly string[],
    entity: EntityName<object>,
    options: AnyModelOptions,
    context: ViewContext,
  ) {
    const { name } = view;
    this.prepareDetailAction = (request) => view.getObject(request);
    this.operations = options.operations ?? (options.write === undefined ? ['list', 'retrieve'] : OPERATIONS);
    this.orm = context.orm;
    this.#path = templateOf(context.path);
    this.#fillPath = templateFiller(this.#path);
    const records = resolveOption(name, 'entity', Utils.className(entity), () => QuerySet.of(context.orm.em, entity));
    this.meta = records.meta;
    this.pk = primaryKey(this.meta);
    this.key = options.lookupField === undefined ? this.pk : lookupKey(name, this.meta, options.lookupField);
    this.pkSchema = keySchema(this.key, this.key === this.pk ? 'primary key' : this.key.key.replaceAll('_', ' '));
    const { parent } = context;
    this.nesting = parent === undefined ? undefined : new Nesting(name, this.meta, parent);
    const taken = this.nesting === undefined ? [] : [this.nesting.relation];
    const place = { name, entity, meta: this.meta, taken, overridden };
    const input = options.write === undefined ? undefined : new ViewInput(options, place);
    this.input = input;
    const filled = [...taken, ...(input?.filled ?? [])];
    this.actions = this.#fileActions(view, input?.files ?? NO_FILES, context);
    const { operations } = this;
    const isChosen = overridden.includes('readShapeFor');
    const shapes = readShapesOf(options.read, { name, entity, operations, isChosen });
    const selections = makeSelections(name, entity, options, [...new Set(shapes.values())]);
    this.answerParameters = selections?.parameters ?? [];
    const { orm, meta, key } = this;
    this.answers = new Answers({ view, shapes, orm, meta, key, overridden, selections });
    if (input !== undefined && this.operations.includes('create')) {
      checkCreatable({ name, orm: context.orm, meta: this.meta, schema: input.create.schema, overridden, filled });
    }
    const shown = [...shapes.values()].flatMap(({ schema }) => Object.keys(schema.properties));
    const fields = new Set([...shown, ...(input?.fields ?? []), ...filled]);
    checkOptionNames(`${name}.fieldWords`, options.fieldWords ?? {}, [...fields]);
    this.preconditions = preconditionsOf(name, options, this.meta);
    const answers = {
      create: this.answers.own('create').projection,
      update: this.answers.own('update').projection,
    };
    const requiresMatch = this.preconditions?.isRequired === true;
    this.bulk = this.#bulkOf(name, options.bulk, { requiresMatch, overridden });
    const bodies = { written: writtenFields(input), reasons: inputReasons(name, input, taken) };
    this.writes = new WritePlan({ name, orm, meta, key, ...bodies, answers, overridden, requiresMatch });
    this.#referred = new ReferredRecords(view, referencesOf(input), referenceOptions(options, parent));
    this.overridesGetObject = overridden.includes('getObject');
    this.readsEntities = this.overridesGetObject || overridden.includes('checkObjectPermissions');
    this.narrows = this.readsEntities || overridden.includes('getQueryset');
    checkValues(name, options, LIST_RULES);
    this.filters = makeFilters(name, this.meta, options, context.defaults.filters);
    this.exports = makeExports(options);
    this.paginator = makePaginator(name, options, context);
    this.records = ordered(name, records, options).by('view');
    this.takesQuery = takesQuery(name, options, this.operations);
    this.listParameters = declaredParameters(name, this.answerParameters, this.filters, this.paginator);
  }

  #bulkOf(
    name: string,
    option: BulkOption | undefined,
    declared: Pick<BulkDeclarations, 'requiresMatch' | 'overridden'>,
  ): Bulk | undefined {
    const { meta, input, key, operations } = this;
    return option === undefined ? undefined : new Bulk({ name, meta, option, input, key, operations, ...declared });
  }

  get listTypes(): readonly string[] {
    return this.exports?.types ?? [];
  }

  findViews(registered: readonly ShownView[]): void {
    this.#referred.findViews(registered);
  }

  get listHeaders(): Readonly<Record<string, TSchema>> {
    return this.paginator?.headers ?? {};
  }

  schemasOf(operation: Operation, mode: BodyMode): OperationSchemas {
    const { input } = this;
    if (operation === 'destroy') return { response: { 204: null } };
    const status = operation === 'create' ? 201 : 200;
    const schemas = this.#answersWith(operation, status, (record) => this.#sent(operation, record));
    if (operation === 'list' || operation === 'retrieve') return schemas;
    const { json, form } = input!.documented(mode);
    return {
      ...schemas,
      body: json,
      form: form && { schema: form, files: input!.files },
      validateBody: (body) => input!.validate(body, mode),
      ...(operation === 'create' && this.bulk?.limit('create') !== undefined && this.#withArrays(schemas)),
    };
  }

  bulkSchemas(operation: 'update' | 'destroy'): BulkSchemas | undefined {
    const { bulk } = this;
    const limit = bulk?.limit(operation);
    if (bulk === undefined || limit === undefined) return undefined;
    if (operation === 'update') {
      return {
        ...this.#answersWith('update', 200, (record) => this.#array(record)),
        body: bulk.documented('update'),
        validateBody: (body) => bulk.validate(body, 'update'),
      };
    }
    const options = { minItems: 1, maxItems: limit, uniqueItems: true, description: 'The records to delete' };
    const validateQuery = (query: unknown): object => ({
      pk: bulk.keysOf((query as { pk?: string | readonly string[] }).pk, (text) => this.parsePk(text)),
    });
    return {
      querystring: Type.Object({ pk: Type.Array(this.pkSchema, options) }),
      validateQuery,
      response: { 204: null },
    };
  }

  /**
   * The schemas of an operation's answers: as most requests get them, and as documents have them.
   *
   * @param sent makes the schema of an answer of that of its records
   */
  #answersWith(operation: AnsweringOperation, status: number, sent: (record: TSchema) => TSchema): OperationSchemas {
    const possible = this.answers.possible(operation);
    const [own, ...others] = possible.map((answer) => this.answers.documentedSchema(answer));
    const documented = others.length === 0 ? own! : Type.Union([own!, ...others]);
    return {
      response: { [status]: sent(possible[0]!.schema) },
      documented: documented === possible[0]!.schema ? undefined : { [status]: sent(documented) },
      readShapes: possible.map(({ name }) => name),
    };
  }

  /** The schemas of a POST that takes an array too. */
  #withArrays({ response, documented }: OperationSchemas): OperationSchemas {
    const { input, bulk } = this;
    const one = (documented ?? response)![201]!;
    return {
      body: { oneOf: [input!.documented('create').json, bulk!.documented('create')] },
      validateBody: (body) => (Array.isArray(body) ? bulk!.validate(body, 'create') : input!.validate(body, 'create')),
      documented: { 201: { oneOf: [one, Type.Array(one)] } },
    };
  }

  answerSchema(request: FastifyRequest, operation: AnsweringOperation): TSchema | undefined {
    const { schema } = this.answers.of(request, operation);
    if (this.bulk !== undefined && Array.isArray(request.body)) return this.#array(schema);
    return schema === this.answers.own(operation).schema ? undefined : this.#sent(operation, schema);
  }

  selectAnswer(request: FastifyRequest, operation: AnsweringOperation): void {
    this.answers.select(request, operation);
  }

  representationOf(request: FastifyRequest, operation: AnsweringOperation): string {
    return this.answers.representationOf(request, operation);
  }

  /** Returns the schema of an array of records of a schema: the same object for the same schema. */
  #array(record: TSchema): TSchema {
    const array = this.#arrays.get(record) ?? Type.Array(record);
    this.#arrays.set(record, array);
    return array;
  }

  /** Returns the schema of an operation's answer with records of a schema: the same object for the same schema. */
  #sent(operation: AnsweringOperation, record: TSchema): TSchema {
    if (operation !== 'list') return record;
    const list = this.#lists.get(record) ?? this.paginator?.envelope(record) ?? Type.Array(record);
    this.#lists.set(record, list);
    return list;
  }

  /** Applies the filters in order, at once if each answers at once. */
  filter<Entity extends object>(request: FastifyRequest, records: QuerySet<Entity>): Awaitable<QuerySet<Entity>> {
    const byClient = (narrowed: QuerySet<Entity>): QuerySet<Entity> =>
      narrowed === records ? records : narrowed.by('client');
    return whenReady(this.#filterFrom(0, request, records), byClient);
  }

  #filterFrom<Entity extends object>(
    first: number,
    request: FastifyRequest,
    records: QuerySet<Entity>,
  ): Awaitable<QuerySet<Entity>> {
    let found = records;
    for (let index = first; index < this.filters.length; index++) {
      const answer = applyFilter(this.filters[index]!, found, request);
      if (isPromise(answer)) return answer.then((narrowed) => this.#filterFrom(index + 1, request, narrowed));
      found = answer;
    }
    return found;
  }

  /** Throws one error for all parameters that do not fit the filters and the paginator. Runs no query of its own. */
  async checkListParameters(request: FastifyRequest): Promise<void> {
    const problems = new InvalidUsageCollector();
    const queryset = this.records.using(request);
    for (const filter of this.filters) await problems.attemptLater(() => applyFilter(filter, queryset, request));
    problems.attempt(() => this.paginator?.check(parametersOf(request)));
    problems.throwIfAny();
  }

  parsePk(text: string): unknown {
    try {
      return parseFieldText(this.key.type, text);
    } catch {
      return undefined;
    }
  }

  /**
   * Puts the related entities in the place of a body's references, stores its files, and loads the relations that the body replaces. What the
   * request may not refer to is refused.
   */
  async resolveReferences(request: FastifyRequest, records: readonly RecordData[]): Promise<object[]> {
    const { em } = request;
    const changed = records.flatMap(({ entity }) => entity ?? []);
    const write = changed.length === 0 ? this.input!.create : this.input!.update;
    const relations = changed.length === 0 ? [] : records.flatMap(({ data }) => replacedRelations(write.fields, data));
    if (relations.length > 0) await em.populate(changed, [...new Set(relations)] as never[]);
    const resolved = await write.resolveReferences(records, (reference, condition) =>
      this.#referred.find(request, reference, condition),
    );
    if (write.files.size === 0) return resolved;
    return Promise.all(resolved.map((data) => this.#storeFiles(request, write.files, data)));
  }

  /** Stores the files of a body, and puts what the record keeps of each in the place of it. */
  async #storeFiles({ em }: FastifyRequest, fields: FileFields, data: object): Promise<object> {
    const stored: Record<string, unknown> = { ...data };
    for (const [name, field] of fields) {
      const staged = stored[name];
      if (staged instanceof StagedFile) stored[name] = await this.#fileChanges!.store(em, field, staged);
    }
    return stored;
  }

  #fileActions(view: ResourceView, files: FileFields, { orm, log }: ViewContext): ReadonlyMap<string, Action> {
    for (const [field, { store }] of files) {
      this.#fileChanges ??= fileChangesOf(orm, log);
      this.#fileChanges.declareStore(this.meta, field, store);
    }
    return fileActions(files, (request) => view.getObject(request));
  }

  /** Tells if the condition of records reads nothing but a record's own row, with the filters of MikroORM that a request has. */
  asksOwnColumns({ reader }: FastifyRequest, { condition, filters }: QuerySet<object>): boolean {
    return filters === undefined && ownColumns(condition) !== undefined && isUnfiltered(reader, this.meta);
  }

  /** Makes the path of one record, `/api/products/7`; the parameters of a prefix are those of the request. */
  pathOf(key: unknown, request: FastifyRequest): string {
    const params = request.params as Readonly<Record<string, unknown>>;
    const path = this.#fillPath((parameter) => params[parameter]);
    return `${path}/${typeof key === 'number' ? key : encodeURIComponent(String(key))}`;
  }
}

/** Lists the options about references. Nobody refers to a parent but by the path, which its own view judges. */
function referenceOptions(
  { referencePermissions, referenceViews }: AnyModelOptions,
  parent: ViewContext['parent'],
): ReferenceOptions {
  const without = <Value extends object>(declared: Value | undefined): Value => {
    const { [parent?.relation as keyof Value]: _parent, ...others } = { ...declared } as Value;
    return others as Value;
  };
  return { referencePermissions: without(referencePermissions), referenceViews: without(referenceViews) };
}

function takesQuery(name: string, { queryMethod = false }: AnyModelOptions, operations: readonly Operation[]): boolean {
  if (!queryMethod || operations.includes('list')) return queryMethod;
  throw new ImproperlyConfigured(
    `${name}: option "queryMethod" needs the operation "list", which the view does not offer`,
  );
}

function makeExports({ exports = [] }: AnyModelOptions): ListExport | undefined {
  return exports.length === 0 ? undefined : new ListExport(exports);
}

function ordered(name: string, records: QuerySet<object>, { ordering = [] }: AnyModelOptions): QuerySet<object> {
  const keys = ordering.map((sort) => resolveOption(name, 'ordering', sort, () => orderKey(records.meta, sort)));
  return records.orderByPaths(keys);
}

/** Applies a filter. Its values are the client's, so one that does not fit its field is a 400. */
function applyFilter<Entity extends object>(
  filter: Filter,
  queryset: QuerySet<Entity>,
  request: FastifyRequest,
): Awaitable<QuerySet<Entity>> {
  return settle(
    () => filter.apply(queryset, parametersOf(request), request),
    (narrowed) => narrowed,
    (error) => {
      throw error instanceof FieldValueError ? new InvalidUsage(error.message, { cause: error }) : error;
    },
  );
}

function keySchema(path: FieldPath, words: string): TSchema {
  return { ...lookupTextSchema({ path, lookup: 'exact' }), description: `The ${words} of the record` };
}

function writtenFields(input: ViewInput | undefined): WriteDeclarations['written'] {
  const { create = [], update = [] } = { create: input?.create.fields, update: input?.update.fields };
  return { create: create.map(({ name }) => name), update: update.map(({ name }) => name) };
}

/** @param taken the fields that the path of a nested view says */
function inputReasons(
  name: string,
  input: ViewInput | undefined,
  taken: readonly string[],
): WriteDeclarations['reasons'] {
  const { create = [], update = [] } = input?.reasons ?? {};
  return { create: [...taken.map((field) => `the path of ${name} says "${field}"`), ...create], update };
}

/** The references of all bodies of a view, by their paths. */
function referencesOf(input: ViewInput | undefined): ReadonlyMap<string, readonly Reference[]> {
  const found = new Map<string, Reference[]>();
  for (const shape of new Set([input?.create, input?.update])) {
    for (const [path, reference] of shape?.references ?? []) found.set(path, [...(found.get(path) ?? []), reference]);
  }
  return found;
}

const LOOKUP_KINDS: ReadonlySet<string> = new Set(['string', 'integer', 'bigint', 'uuid']);

function lookupKey(name: string, meta: EntityMetadata, field: string): FieldPath {
  const path = resolveOption(name, 'lookupField', field, () => fieldPath(meta, field, '.'));
  const isNamable = path.steps.length === 0 && LOOKUP_KINDS.has(path.type.kind);
  if (isNamable && !path.nullable && isUnique(meta, path.property)) return path;
  throw wrongOption(name, 'lookupField', 'a unique text or whole number of the entity that is never NULL', field);
}

function preconditionsOf(
  name: string,
  { etags, requireIfMatch = false }: AnyModelOptions,
  { versionProperty }: EntityMetadata,
): Preconditions | undefined {
  const sendsTags = etags ?? (requireIfMatch || versionProperty !== undefined);
  if (sendsTags) return { isRequired: requireIfMatch };
  if (!requireIfMatch) return undefined;
  throw new ImproperlyConfigured(`${name}: requireIfMatch needs the ETags that "etags: false" switches off`);
}

/** Undefined if the view lets clients select nothing. A view that says what a client may add lets it leave out as well. */
function makeSelections(
  name: string,
  entity: EntityName<object>,
  { expand, fields = expand !== undefined }: AnyModelOptions,
  shapes: readonly ReadShape<object, object>[],
): Selections | undefined {
  if (expand === undefined && !fields) return undefined;
  if (expand !== undefined && Object.keys(expand).length === 0) {
    throw wrongOption(name, 'expand', 'fields by name', expand);
  }
  const expandable =
    expand &&
    resolveOption(name, 'expand', Object.keys(expand).join(', '), () => readShape(entity, [], expand as never));
  return new Selections(name, shapes, expandable, fields);
}

function makeFilters(
  name: string,
  meta: EntityMetadata,
  options: AnyModelOptions,
  defaults: readonly FilterClass[],
): Filter[] {
  const target = {
    name,
    meta,
    searchFields: options.searchFields ?? [],
    filterFields: options.filterFields ?? {},
    orderingFields: options.orderingFields ?? {},
    ...(options.jsonLogicFields === undefined ? {} : { jsonLogicFields: options.jsonLogicFields }),
  };
  if (options.filters !== undefined) checkOptionsAreRead(target, options.filters);
  return (options.filters ?? defaults).map((FilterClass) => new FilterClass(target));
}

function makePaginator(name: string, options: AnyModelOptions, { defaults, path }: ViewContext): Paginator | null {
  const Pagination: PaginatorClass | null = options.pagination === undefined ? defaults.pagination : options.pagination;
  if (Pagination === null) return null;
  const { pageSize, maxPageSize, count } = options;
  return new Pagination({ name, path, pageSize, maxPageSize, count, secret: defaults.secret });
}

/** Gathers the parameters that the view's filters and paginator read; no two of them may read the same. */
function declaredParameters(
  name: string,
  ofAnswers: readonly ParameterDeclaration[],
  filters: readonly Filter[],
  paginator: Paginator | null,
): ParameterDeclaration[] {
  const owners = new Map(ofAnswers.map((parameter) => [parameter.name, `the option "${parameter.name}"`]));
  return [...filters, ...(paginator === null ? [] : [paginator])].flatMap((source) => {
    const who = source.constructor.name;
    const { parameters } = source;
    for (const parameter of parameters) {
      const owner = owners.get(parameter.name);
      if (owner !== undefined) {
        throw new ImproperlyConfigured(
          `${name}: query parameter "${parameter.name}" is declared by both ${owner} and ${who}`,
        );
      }
      owners.set(parameter.name, who);
    }
    return parameters;
  });
}
