import { type EntityMetadata, type EntityName, type MikroORM, Utils } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import { resolveOption } from '../../filters/filter.ts';
import { primaryKey } from '../../fields/primary-key.ts';
import { isEmpty } from '../../support/json.ts';
import { checkOptionNames, prefixErrors, wrongOption } from '../../errors/options.ts';
import { checkEnumColumns } from '../../fields/field-type.ts';
import { templateOf } from '../../http/path-template.ts';
import { fillsOf } from '../../permissions/permission.ts';
import { QuerySet } from '../../query/queryset.ts';
import { type ReadShape, readShape, toReadShape } from '../../shapes/read/read-shape.ts';
import { shownByAll } from '../../shapes/read/shown-paths.ts';
import { type Action, actionsOf, type RecordRequest } from './action.ts';
import { type OutputView, RecordOutputs } from '../output/record-outputs.ts';
import type { RecordFormat } from '../output/record-format.ts';
import { ViewOverrides } from '../request/view-overrides.ts';
import { checkCreatedReferences, faultOfCreation } from './creatable.ts';
import { InputResolution, type InputView } from '../write/input-resolution.ts';
import type { AnyModelOptions } from './model-viewset-options.ts';
import { Nesting } from '../records/nesting.ts';
import { namedShapes } from '../request/named-shapes.ts';
import { RecordKey } from '../records/record-key.ts';
import type { FeaturedView, FeatureView } from './feature.ts';
import { RecordLists } from './record-lists.ts';
import { Selections } from '../output/selections.ts';
import type { ReservedKeys } from '../records/reserved-keys.ts';
import type { ShownRecords } from '../records/shown-records.ts';
import {
  OUTPUT_OPERATIONS,
  isWrite,
  type Operation,
  operationsOf,
  UPDATE_METHODS,
  type UpdateMethod,
  type WriteOperation,
} from '../request/operation.ts';
import type { ViewContext, ViewDefinition } from './view-definition.ts';
import type { ViewDefaults } from './view-defaults.ts';
import { type InputPlace, type ShapedView, ViewInput } from '../write/view-input.ts';
import { ViewFeatures } from './view-features.ts';
import { ViewPermissions } from './view-permissions.ts';
import { ViewSchemas } from './view-schemas.ts';
import { WritePlan } from '../write/write-plan.ts';

/** The part of a view that its resource uses. */
interface ResourceView extends InputView, OutputView, ShapedView, FeaturedView {}

/**
 * The declarations of a model view, resolved against the entity's metadata. Made when the view is registered, before
 * the first request. Throws ImproperlyConfigured for a declaration that does not fit the entity.
 */
export class ResolvedView implements ViewDefinition, FeatureView {
  /** The name of the view. */
  readonly name: string;
  readonly view: FeaturedView;
  readonly options: Readonly<Record<string, unknown>>;
  readonly defaults: ViewDefaults;
  readonly operations: readonly Operation[];
  readonly updateMethods: readonly UpdateMethod[];
  readonly orm: MikroORM;
  readonly meta: EntityMetadata;
  readonly pk: FieldPath;
  readonly key: RecordKey;
  readonly reservedKeys: ReservedKeys;
  /** The relation to the parent of a nested view. */
  readonly nesting: Nesting | undefined;
  readonly outputs: RecordOutputs;
  readonly format: RecordFormat;
  readonly lists: RecordLists;
  /** The input of the view; undefined if the view is read-only. */
  readonly input: ViewInput | undefined;
  readonly resolution: InputResolution;
  /** What the features of the application add to the view. */
  readonly features: ViewFeatures;
  readonly writes: WritePlan;
  /** The routes that options add, such as serving files or restoring a record. */
  readonly actions: ReadonlyMap<string, Action>;
  readonly getObject: (request: RecordRequest) => Promise<object>;
  readonly permissions: ViewPermissions;
  readonly overrides: ViewOverrides;
  readonly schemas: ViewSchemas;

  /** @param library the prototype of the library's view class, without overrides */
  constructor(
    view: ResourceView,
    library: object,
    entity: EntityName<object>,
    options: AnyModelOptions,
    context: ViewContext,
  ) {
    const { name } = view;
    const { orm, parent } = context;
    this.name = name;
    this.view = view;
    this.options = options as unknown as Readonly<Record<string, unknown>>;
    this.defaults = context.defaults;
    const operations = operationsOf(options);
    this.operations = operations;
    this.updateMethods = options.updateMethods ?? UPDATE_METHODS;
    const records = resolveOption(name, 'entity', Utils.className(entity), () => QuerySet.of(orm.em, entity));
    const { meta } = records;
    if (meta.readonly === true) checkReadOnly(name, meta, options);
    if (options.write !== undefined) prefixErrors(name, () => checkEnumColumns(meta));
    this.orm = orm;
    this.reservedKeys = context.reservedKeys;
    this.meta = meta;
    this.permissions = new ViewPermissions(view, operations, context.defaults.permissionClasses, meta);
    const overrides = new ViewOverrides(view, library, operations);
    this.overrides = overrides;
    this.pk = primaryKey(meta);
    this.key = new RecordKey(name, meta, options, templateOf(context.path));
    this.nesting = parent === undefined ? undefined : new Nesting(name, meta, parent);
    const taken = this.nesting === undefined ? [] : [this.nesting.relation];

    const input = options.write === undefined ? undefined : this.#makeInput(view, entity, options, taken, context);
    this.input = input;
    for (const { references } of input?.shapes ?? []) checkCreatedReferences(name, orm, references);
    this.resolution = new InputResolution(view, input, options, meta, context);
    this.getObject = (request) => view.getObject(request);

    const shapes = this.#readShapes(entity, options.read);
    const selections = makeSelections(name, entity, options);
    this.outputs = new RecordOutputs({
      view,
      shapes,
      orm,
      meta,
      key: this.key.column,
      operations,
      overrides,
      selections,
    });

    this.format = context.features.formatOf(this);

    checkOptionNames(`${name}.fieldWords`, options.fieldWords ?? {}, namedFields(shapes, input, taken));

    const { format, outputs } = this;
    const isShown = shownByAll(meta, shapes.values());
    const declared = { name, options, operations, overrides, outputs, isShown, format };
    this.lists = new RecordLists({ records, context, ...declared });
    this.features = new ViewFeatures(this, context.features.resolve(this));
    this.actions = this.features.actions;
    checkActions(view, this.actions);
    this.writes = new WritePlan(this);
    this.schemas = new ViewSchemas(this);
  }

  #makeInput(
    view: ResourceView,
    entity: EntityName<object>,
    options: AnyModelOptions,
    taken: readonly string[],
    context: ViewContext,
  ): ViewInput {
    const { meta, overrides } = this;
    const creationFault: InputPlace['creationFault'] = (shape, filled) => this.#creationFault(shape, filled);
    const owned = fillsOf(this.permissions.all, meta);
    return new ViewInput(options, { view, overrides, entity, meta, taken, owned, creationFault, context });
  }

  #creationFault(...[input, filled]: Parameters<InputPlace['creationFault']>): string | undefined {
    const { name, orm, meta, operations, overrides } = this;
    if (!operations.includes('create')) return undefined;
    return faultOfCreation({ name, orm, meta, input, overrides, filled });
  }

  #readShapes(entity: EntityName<object>, read: unknown): ReadonlyMap<string, ReadShape<object, object>> {
    const { name, operations, overrides } = this;
    return namedShapes(read, {
      name,
      option: 'read',
      operations: OUTPUT_OPERATIONS.filter((operation) => operations.includes(operation)),
      isChosen: overrides.choosesReadShape,
      make: (shape) => toReadShape(entity, shape as ReadShape<object, object>),
    });
  }

  transactionReasons(operation: WriteOperation): readonly string[] {
    return this.overrides.reaches(operation) ? this.writes.transactionReasons(operation) : [];
  }

  findViews(registered: readonly ShownRecords[]): void {
    this.resolution.findViews(registered);
    this.features.findViews(registered);
  }
}

/** Lists the fields that clients can see or send, and the fields that the view sets. */
function namedFields(
  shapes: ReadonlyMap<string, ReadShape<object, object>>,
  input: ViewInput | undefined,
  taken: readonly string[],
): readonly string[] {
  const shown = [...shapes.values()].flatMap(({ schema }) => Object.keys(schema.properties));
  return [...new Set([...shown, ...(input?.fields ?? []), ...taken, ...(input?.filled ?? [])])];
}

/**
 * Makes the selections of clients. Undefined if clients can select nothing. A view with `expand` also allows `fields`
 * by default.
 */
function makeSelections(
  name: string,
  entity: EntityName<object>,
  { expand, fields = expand !== undefined }: AnyModelOptions,
): Selections | undefined {
  if (expand === undefined && !fields) return undefined;
  if (expand !== undefined && isEmpty(expand)) {
    throw wrongOption(name, 'expand', 'fields by name', expand);
  }
  const expandable =
    expand &&
    resolveOption(name, 'expand', Object.keys(expand).join(', '), () => readShape(entity, [], expand as never));
  return new Selections(name, expandable, fields);
}

/**
 * @throws ImproperlyConfigured for a view that would write an entity that is read-only in MikroORM: a database view, or
 * `readonly`
 */
function checkReadOnly(name: string, { className }: EntityMetadata, options: AnyModelOptions): void {
  const isWriting = operationsOf(options).some(isWrite);
  const option =
    (['write', 'bulk'] as const).find((each) => options[each] !== undefined) ?? (isWriting ? 'operations' : undefined);
  if (option === undefined) return;
  throw new ImproperlyConfigured(
    `${name}: option "${option}" would write ${className}, which is read-only in MikroORM (a view of the database, or readonly: true): ` +
      'leave it out, and have list and retrieve',
  );
}

/**
 * A file has only a GET route, so an action of its name may have the other methods, such as a POST that replaces the file.
 *
 * @throws ImproperlyConfigured if the view declares an action of the same name as an option
 */
function checkActions(view: FeaturedView, actions: ReadonlyMap<string, Action>): void {
  const viewActions = actionsOf(view);
  const [taken] =
    [...actions].find(([name, { traits }]) => {
      const methods = viewActions.get(name)?.methods;
      return methods !== undefined && (traits?.sendsFile !== true || methods.includes('get'));
    }) ?? [];
  if (taken === undefined) return;
  throw new ImproperlyConfigured(
    `${view.name}: its options make an action "${taken}", and the view has another action of this name; rename it`,
  );
}
