import { type EntityMetadata, type EntityName, type MikroORM, Utils } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { TagOf } from '../entity-tag.ts';
import { ImproperlyConfigured } from '../errors.ts';
import type { FieldPath } from '../fields/field-path.ts';
import { resolveOption } from '../filters/filter.ts';
import { primaryKey } from '../fields/primary-key.ts';
import { checkOptionNames, wrongOption } from '../options.ts';
import type { ParameterDeclaration } from '../parameters.ts';
import { templateOf } from '../path-template.ts';
import { QuerySet } from '../query/queryset.ts';
import type { BodyMode } from '../shapes/bound-input.ts';
import { readShape } from '../shapes/read-shape.ts';
import { shownByAll } from '../shapes/shown-paths.ts';
import type { Action } from './action.ts';
import type { AnsweringOperation } from './answer.ts';
import { type AnsweringView, Answers } from './answers.ts';
import { Bulk } from './bulk.ts';
import { checkCreatable } from './creatable.ts';
import { fileActions, type FileRecord } from './file-actions.ts';
import { sentFiles } from './file-links.ts';
import { InputResolution, type InputView } from './input-resolution.ts';
import type { AnyModelOptions } from './model-viewset-options.ts';
import { Nesting } from './nesting.ts';
import { readShapesOf } from './read-shapes.ts';
import { RecordKey } from './record-key.ts';
import { RecordLists } from './record-lists.ts';
import { Selections } from './selections.ts';
import type { ShownView } from './shown-view.ts';
import {
  type BulkOperation,
  type BulkSchemas,
  type Operation,
  operationsOf,
  type OperationSchemas,
  type Preconditions,
  type ViewContext,
  type ViewDefinition,
} from './view-definition.ts';
import { ViewInput } from './view-input.ts';
import { ViewSchemas } from './view-schemas.ts';
import { type WriteDeclarations, WritePlan } from './write-plan.ts';

/** Names the method of a view that finds a record for one of its files. */
export const FILE_RECORD: unique symbol = Symbol('viewset.file-record');

/** The hooks by which a view may find or refuse one record in a way of its own. */
const FINDERS = ['getObject', 'retrieve'] as const;

/** The part of a view that its resource asks. */
interface ResourceView extends InputView, AnsweringView {
  getObject(request: FastifyRequest): Promise<object>;
  readonly [FILE_RECORD]: FileRecord;
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
  readonly key: RecordKey;
  /** The way to the parent of a view that is nested in another one. */
  readonly nesting: Nesting | undefined;
  readonly answers: Answers;
  readonly lists: RecordLists;
  /** All that the view takes in; undefined if it is read-only. */
  readonly input: ViewInput | undefined;
  readonly resolution: InputResolution;
  /** The requests about several records; undefined if the view takes none. */
  readonly bulk: Bulk | undefined;
  readonly preconditions: Preconditions | undefined;
  readonly writes: WritePlan;
  /** The routes that send the record's files. */
  readonly actions: ReadonlyMap<string, Action>;
  readonly prepareDetailAction: NonNullable<ViewDefinition['prepareDetailAction']>;
  /** True if a hook of the view has to see the record of a path as an entity. */
  readonly readsEntities: boolean;
  /** The operations and hooks that the view overrides. */
  readonly overridden: readonly string[];
  readonly #schemas: ViewSchemas;

  /** @param overridden the names of the hooks that the view overrides */
  constructor(
    view: ResourceView,
    overridden: readonly string[],
    entity: EntityName<object>,
    options: AnyModelOptions,
    context: ViewContext,
  ) {
    const { name } = view;
    const { orm, parent } = context;
    this.operations = operationsOf(options);
    const { operations } = this;
    const records = resolveOption(name, 'entity', Utils.className(entity), () => QuerySet.of(orm.em, entity));
    const { meta } = records;
    if (meta.readonly === true) checkReadOnly(name, meta, options);
    this.orm = orm;
    this.overridden = overridden;
    this.readsEntities = overridden.includes('getObject') || overridden.includes('checkObjectPermissions');
    this.meta = meta;
    this.pk = primaryKey(meta);
    this.key = new RecordKey(name, meta, options.lookupField, templateOf(context.path));
    const key = this.key.column;
    this.nesting = parent === undefined ? undefined : new Nesting(name, meta, parent);
    const taken = this.nesting === undefined ? [] : [this.nesting.relation];

    const input = options.write === undefined ? undefined : new ViewInput(options, { name, entity, meta, taken });
    this.input = input;
    this.resolution = new InputResolution(view, input, options, meta, context);
    this.actions =
      input === undefined ? new Map() : fileActions(input.files, sentFiles({ entity, ...options }), view[FILE_RECORD]);
    this.prepareDetailAction = (request) => view.getObject(request);

    const isChosen = overridden.includes('readShapeFor');
    const shapes = readShapesOf(options.read, { name, entity, operations, isChosen });
    const selections = makeSelections(name, entity, options);
    this.answers = new Answers({ view, shapes, orm, meta, key, overridden, selections });

    const filled = [...taken, ...(input?.filled ?? [])];
    if (input !== undefined && operations.includes('create')) {
      checkCreatable({ name, orm, meta, input: input.create, overridden, filled });
    }
    const shown = [...shapes.values()].flatMap(({ schema }) => Object.keys(schema.properties));
    const fields = new Set([...shown, ...(input?.fields ?? []), ...filled]);
    checkOptionNames(`${name}.fieldWords`, options.fieldWords ?? {}, [...fields]);

    this.preconditions = preconditionsOf(name, options, meta, context.defaults.tagOf);
    const requiresMatch = this.preconditions?.isRequired === true;
    this.bulk =
      options.bulk === undefined
        ? undefined
        : new Bulk({ name, meta, option: options.bulk, input, key, operations, requiresMatch, overridden });
    const answers = {
      create: this.answers.own('create').projection,
      update: this.answers.own('update').projection,
    };
    const bodies = { written: writtenFields(input), reasons: inputReasons(name, input, taken) };
    const occasional = this.#occasionalReasons(name, options);
    this.writes = new WritePlan({ name, orm, meta, key, ...bodies, answers, overridden, occasional });

    const answerParameters = this.answerParametersOf('list');
    const isShown = shownByAll(meta, shapes.values());
    this.lists = new RecordLists({ name, records, options, operations, answerParameters, context, isShown });
    this.#schemas = new ViewSchemas(this);
  }

  /** The reasons why the write of some requests is more than one statement. */
  #occasionalReasons(name: string, { expand }: AnyModelOptions): WriteDeclarations['occasional'] {
    const matched =
      this.preconditions === undefined ? [] : [`${name} has ETags, so that requests may have an If-Match`];
    const ofAnswer = (operation: 'create' | 'update'): string[] => [
      ...(expand === undefined ? [] : [`a request may "expand" the answer`]),
      ...this.answers
        .possible(operation)
        .filter(({ isPlain }) => !isPlain)
        .map((answer) => `the answer "${answer.name}" shows other than plain columns of ${this.meta.className}`),
    ];
    return {
      create: ofAnswer('create'),
      update: [...matched, ...ofAnswer('update')],
      destroy: matched,
    };
  }

  get finders(): readonly string[] {
    const isAsked = (hook: string): boolean => hook !== 'retrieve' || this.operations.includes(hook);
    return FINDERS.filter((hook) => this.overridden.includes(hook) && isAsked(hook));
  }

  /** True if a hook of the view decides which records it shows. */
  get narrows(): boolean {
    return this.readsEntities || this.finders.length > 0 || this.overridden.includes('getQueryset');
  }

  get createsSeveral(): boolean {
    return this.bulk?.limit('create') !== undefined;
  }

  findViews(registered: readonly ShownView[]): void {
    this.resolution.findViews(registered);
  }

  answerParametersOf(operation: AnsweringOperation): readonly ParameterDeclaration[] {
    return this.answers.parametersOf(operation);
  }

  schemasOf(operation: Operation, mode: BodyMode): OperationSchemas {
    return this.#schemas.of(operation, mode);
  }

  bulkSchemas(operation: BulkOperation): BulkSchemas | undefined {
    return this.#schemas.ofSeveral(operation);
  }

  answerSchema(request: FastifyRequest, operation: AnsweringOperation): TSchema | undefined {
    return this.#schemas.ofAnswer(request, operation);
  }

  selectAnswer(request: FastifyRequest, operation: AnsweringOperation): void {
    this.answers.select(request, operation);
  }

  answersWhole(request: FastifyRequest, operation: AnsweringOperation): boolean {
    // Nobody knows what an override of retrieve would answer.
    const isOwn = operation === 'retrieve' || !this.overridden.includes('retrieve');
    return isOwn && this.answers.isRetrieved(request, operation);
  }
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

function preconditionsOf(
  name: string,
  { etags, requireIfMatch = false }: AnyModelOptions,
  { versionProperty }: EntityMetadata,
  tagOf: TagOf,
): Preconditions | undefined {
  const sendsTags = etags ?? (requireIfMatch || versionProperty !== undefined);
  if (sendsTags) return { isRequired: requireIfMatch, tagOf };
  if (!requireIfMatch) return undefined;
  throw new ImproperlyConfigured(`${name}: requireIfMatch needs the ETags that "etags: false" switches off`);
}

/** Undefined if the view lets clients select nothing. A view that says what a client may add lets it leave out as well. */
function makeSelections(
  name: string,
  entity: EntityName<object>,
  { expand, fields = expand !== undefined }: AnyModelOptions,
): Selections | undefined {
  if (expand === undefined && !fields) return undefined;
  if (expand !== undefined && Object.keys(expand).length === 0) {
    throw wrongOption(name, 'expand', 'fields by name', expand);
  }
  const expandable =
    expand &&
    resolveOption(name, 'expand', Object.keys(expand).join(', '), () => readShape(entity, [], expand as never));
  return new Selections(name, expandable, fields);
}

/** @throws ImproperlyConfigured for a view that would write records that MikroORM only reads: those of a view of the database, or `readonly` */
function checkReadOnly(name: string, { className }: EntityMetadata, options: AnyModelOptions): void {
  const isWriting = operationsOf(options).some((operation) => operation !== 'list' && operation !== 'retrieve');
  const option =
    (['write', 'bulk'] as const).find((each) => options[each] !== undefined) ?? (isWriting ? 'operations' : undefined);
  if (option === undefined) return;
  throw new ImproperlyConfigured(
    `${name}: option "${option}" would write ${className}, which is read-only in MikroORM (a view of the database, or readonly: true): ` +
      'leave it out, and have list and retrieve',
  );
}
