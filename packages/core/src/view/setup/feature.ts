import type { EntityMetadata, MikroORM } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Awaitable } from '../../support/awaitable.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import type { OptionRule } from '../../errors/options.ts';
import type { Paginator } from '../../pagination/paginator.ts';
import type { ParameterDeclaration } from '../../http/parameters.ts';
import type { PermissionView } from '../../permissions/permission.ts';
import type { QuerySet } from '../../query/queryset.ts';
import type { RecordOutputs } from '../output/record-outputs.ts';
import type { RecordFormat } from '../output/record-format.ts';
import type { FILE_LINKS, LinkedView } from '../files/file-links.ts';
import type { RecordOutputOf } from '../request/record-output.ts';
import type { Operation, OutputOperation, UpdateMethod, WriteOperation } from '../request/operation.ts';
import type { ViewOverrides } from '../request/view-overrides.ts';
import type { Nesting } from '../records/nesting.ts';
import type { RecordKey } from '../records/record-key.ts';
import type { ShownRecords, SHOWN_RECORDS } from '../records/shown-records.ts';
import type { VisibleRecords } from '../records/visible-records.ts';
import type { ViewDefaults } from './view-defaults.ts';
import type { DeletionMark } from '../records/deletion-mark.ts';
import type { ConstraintMessages } from '../write/constraint-messages.ts';
import type { InputResolution } from '../write/input-resolution.ts';
import type { RecordWrites } from '../write/record-writes.ts';
import type { ViewInput } from '../write/view-input.ts';
import type { WriteCondition } from '../write/write-condition.ts';
import type { WriteListener } from '../write/write-listener.ts';
import type { WriteRecorder } from '../write/write-recorder.ts';
import type { Action, RecordRequest } from './action.ts';
import type { ViewPermissions } from './view-permissions.ts';
import type { DeclaredRoute, OperationHandler } from './declared-route.ts';
import type { ListDefinition } from './list-definition.ts';
import type { SchemaParts } from './operation-schemas.ts';

/**
 * An option of views of an entity that stands beside their five operations: the option's name, the values that fit it,
 * and what it adds to a view. Pass features to the option `features` of the plugin, or to `app.viewset.addFeature`
 * before the routers are registered. The type of the option is declared by merging `ModelViewSetOptions`.
 *
 * @example
 * const publishAt: Feature<string> = {
 *   option: 'publishAt',
 *   rule: ['the name of a property', (value) => typeof value === 'string'],
 *   resolve: ({ name, meta }, property) => {
 *     if (!(property in meta.properties)) throw new ImproperlyConfigured(`${name}: publishAt: no property "${property}"`);
 *     return { narrow: (_request, records) => records.filter({ [`${property}__lte`]: new Date() }) };
 *   },
 * };
 * await app.register(viewset, { orm, features: [publishAt] });
 */
export interface Feature<Value = never> {
  /** The name of the option. No other feature, and no option of the library, has it. */
  readonly option: string;
  /** The values that fit: in words, for the error of another value, and as a function. */
  readonly rule: OptionRule;
  /**
   * @internal Makes the format of a view's bodies and responses. It is called before `resolve`, and by the router for the
   * views that leave the option out.
   *
   * @throws ImproperlyConfigured for a value that does not fit
   */
  readonly format?: (owner: string, value: Value) => RecordFormat;
  /** @internal True: `resolve` is called for every view, with undefined for a view without the option. */
  readonly always?: true;
  /**
   * Called when a view that has the option is registered.
   *
   * @throws ImproperlyConfigured for a value that does not fit the view
   */
  resolve(view: FeatureView, value: Value): FeatureParts;
}

/** What a feature adds to one view. Every part may be left out. */
export interface FeatureParts {
  /**
   * Leaves out records that do not exist for a request. It gets all records of the view, and returns some of them, by
   * `filter` or `exclude`. It holds wherever the view selects records: lists, single records, writes, bulk requests,
   * nested views, references by `referenceViews`, files and exports. It is called once for each request. Only its
   * condition counts, not its order. A promise, a slice, and a query set that names filters of MikroORM give 500.
   */
  readonly narrow?: (request: FastifyRequest, records: QuerySet<object>) => QuerySet<object>;
  /**
   * Further actions of the view, by name, as made by `action()`. The view's permissions apply. What they write to the
   * view's records is an entry of its history.
   */
  readonly actions?: ReadonlyMap<string, Action>;
  /**
   * Called with the written records, in the transaction of the write. A view whose override of a write does not call
   * `super` is refused at start, because its writes would be missed.
   */
  readonly listeners?: { readonly [Name in WriteOperation]?: WriteListener };
  /**
   * @internal Wraps the handlers of operations on one record or on the list, even overrides. They must not change what a
   * response shows: entity tags, histories and live lists do not know of them.
   */
  readonly around?: { readonly [Name in Operation]?: OperationWrapper };
  /** @internal Query parameters that operations accept in addition. `around` reads and checks them. */
  readonly parameters?: { readonly [Name in OutputOperation]?: readonly ParameterDeclaration[] };
  /** @internal Deletes the view's records by a mark, so that they stay in the database. */
  readonly deletion?: DeletionMark;
  /** @internal Handles requests that write several records: `createMany`, `updateMany` and `destroyMany` of the view. */
  readonly several?: Readonly<Record<WriteOperation, OperationHandler>>;
  /** @internal The messages of constraints that a write violates. */
  readonly refusals?: ConstraintMessages;
  /** @internal Compares the record that a request writes. */
  readonly writeCondition?: WriteCondition;
  /** @internal Changes how routes are declared: those of the five operations, and those of features. */
  readonly extend?: (route: DeclaredRoute) => DeclaredRoute;
  /** @internal Further routes, made of the routes of the view's operations. */
  readonly routes?: (operations: readonly DeclaredRoute[]) => readonly DeclaredRoute[];
  /** @internal Further media types of lists. */
  readonly representations?: readonly ListRepresentation[];
  /** @internal Records the writes of some work of a request. */
  readonly recorder?: (request: FastifyRequest) => WriteRecorder;
  /** @internal Called once all views are registered. */
  readonly findViews?: (registered: readonly ShownRecords[]) => void;
}

/** @internal Wraps the handler of an operation; `next` runs it. */
export type OperationWrapper = (
  request: FastifyRequest,
  reply: FastifyReply,
  next: () => Awaitable<unknown>,
) => Awaitable<unknown>;

/** A media type of lists besides JSON. */
export interface ListRepresentation {
  readonly type: string;
  /** The `variant` of the routes that always send this type; undefined if there are none. */
  readonly variant?: string;
  /**
   * True if the response follows the list for as long as the client stays. Only the operation `list` sends it, and only
   * to clients whose `Accept` names the type: others would wait for its end.
   */
  readonly isLive?: boolean;
  /** Sends the list. `select` applies the filters; call it once, and await it first. */
  send(request: FastifyRequest, reply: FastifyReply, select: () => Awaitable<QuerySet<object>>): Promise<FastifyReply>;
}

/** The key of a view's steps. A symbol, so that views can have members of any name. */
export const STEPS: unique symbol = Symbol('viewset.steps');

/** The steps of a view's operations, for features. */
export interface ViewSteps {
  readonly list: {
    /**
     * Selects the records that a list has for a request: those that the request sees, after the filters, and before the
     * page. Errors of its parameters name every invalid parameter.
     */
    selected<Result>(request: FastifyRequest, use: (records: QuerySet<object>) => Awaitable<Result>): Promise<Result>;
  };
  readonly update: {
    /** Updates the record of a request by its parsed body. */
    run(request: FastifyRequest, reply: FastifyReply, output: RecordOutputOf<object>): Promise<object>;
  };
  /** The records that a request sees. */
  readonly records: VisibleRecords<object>;
  /** The steps that all writes share. */
  readonly writes: RecordWrites<object>;
}

/** The view that a feature is resolved for. */
export interface FeaturedView extends PermissionView {
  readonly name: string;
  getObject(request: FastifyRequest): Promise<object>;
  checkObjectPermissions(request: FastifyRequest, entity: object): Promise<void>;
  retrieve(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
  performCreate(request: FastifyRequest, data: object, extra?: object): Promise<object>;
  performUpdate(request: FastifyRequest, entity: object, data: object, extra?: object): Promise<object>;
  performDestroy(request: FastifyRequest, entity: object): Promise<void>;
  createMany(request: FastifyRequest, reply: FastifyReply): Promise<readonly object[]>;
  updateMany(request: FastifyRequest, reply: FastifyReply): Promise<readonly object[]>;
  destroyMany(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  readonly allowAnonymous: boolean | undefined;
  readonly [FILE_LINKS]: LinkedView;
  readonly [SHOWN_RECORDS]: ShownRecords;
  readonly [STEPS]: ViewSteps;
}

/** What a feature sees of a view: its declarations, resolved against the entity's metadata. */
export interface FeatureView {
  /** The name of the view's class, for errors. */
  readonly name: string;
  /** The metadata of the view's entity. */
  readonly meta: EntityMetadata;
  readonly orm: MikroORM;
  /** The operations that have a route. */
  readonly operations: readonly Operation[];
  /** The permissions of the view. `of(operation)` lists those of an operation, `of(undefined)` those of actions. */
  readonly permissions: ViewPermissions;
  /**
   * Finds the record of the path, for a detail action of the feature, as `getObject` of the view does.
   *
   * @throws NotFound, Unauthorized or Forbidden
   */
  readonly getObject: (request: RecordRequest) => Promise<object>;
  /** @internal */
  readonly view: FeaturedView;
  /** @internal The options of the view, by name. */
  readonly options: Readonly<Record<string, unknown>>;
  /** @internal The settings of the plugin and the router. */
  readonly defaults: ViewDefaults;
  /** @internal */
  readonly pk: FieldPath;
  /** @internal */
  readonly key: RecordKey;
  /** @internal */
  readonly nesting: Nesting | undefined;
  /** @internal */
  readonly overrides: ViewOverrides;
  /** @internal */
  readonly outputs: RecordOutputs;
  /** @internal */
  readonly format: RecordFormat;
  /** @internal */
  readonly lists: ListDefinition & { readonly records: QuerySet<object>; readonly paginator: Paginator | null };
  /** @internal The methods of `update`. */
  readonly updateMethods: readonly UpdateMethod[];
  /** @internal */
  readonly input: ViewInput | undefined;
  /** @internal */
  readonly resolution: InputResolution;
  /** @internal What all features add. Made after the features are resolved. */
  readonly features: { readonly deletion: DeletionMark | undefined };
  /** @internal Made after the features are resolved. */
  readonly schemas: SchemaParts;
}
