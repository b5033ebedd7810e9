import type { EntityMetadata, MikroORM } from '@mikro-orm/core';
import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { Summary } from '../../aggregates/summary.ts';
import type { TagOf } from '../../entity-tag.ts';
import type { ErrorFormat } from '../../error-format.ts';
import type { FilterClass, FilterTarget } from '../../filters/filter.ts';
import type { ParameterDeclaration, QueryParameters } from '../../parameters.ts';
import type { PageSizes, PaginatorClass } from '../../pagination/paginator.ts';
import { checkOperators } from '../../permissions/operators.ts';
import { makePermissions, type Permission, type PermissionClass } from '../../permissions/permission.ts';
import type { Store } from '../../stores/store.ts';
import type { BodyMode } from '../../shapes/write/bound-input.ts';
import type { Action } from './action.ts';
import type { Idempotency } from './idempotency.ts';
import type { Providers } from './providers.ts';
import type { RecordHistory } from './record-history.ts';
import type { ViewOverrides } from '../request/view-overrides.ts';
import type { ExportFormat } from '../../exports/list-export.ts';
import type { LiveOption } from '../../live/live-list.ts';
import type { Parent } from '../visible/parent.ts';
import type { Answers } from '../answers/answers.ts';
import type { Envelope } from '../answers/envelope.ts';
import type { OutputOperation, Operation, UpdateMethod, WriteOperation } from '../request/operation.ts';
import type { ReadInput } from '../request/read-input.ts';
import type { KeyDefinition } from '../visible/record-key.ts';
import type { ReservedKeys } from '../visible/reserved-keys.ts';
import type { ShownRecords } from '../visible/shown-records.ts';
import type { SoftDelete } from '../visible/soft-delete.ts';
import type { Preconditions } from '../writes/writing-definition.ts';
import type { FormFields, ViewInput } from '../writes/view-input.ts';
import type { WritePlan } from '../writes/write-plan.ts';

/** The settings of the plugin and the router, for views that do not set their own. */
export interface ViewDefaults {
  readonly permissionClasses: readonly PermissionClass[];
  readonly filters: readonly FilterClass[];
  readonly pagination: PaginatorClass | null;
  readonly ignoreUnknownParameters: boolean | readonly string[];
  /** True if the application has set `throttleRate`. */
  readonly hasThrottleRate: boolean;
  /** The secret that encrypts cursors; undefined if the application has set none. */
  readonly secret: string | undefined;
  readonly errorFormat: ErrorFormat;
  readonly tagOf: TagOf;
  /** Stores the responses of writes by `Idempotency-Key`; undefined if the application has set none. */
  readonly idempotency?: Idempotency | undefined;
  readonly envelope?: Envelope;
}

/** Where a view is registered: its application and its path. */
export interface ViewContext {
  readonly orm: MikroORM;
  /** The log of the application. */
  readonly log: FastifyBaseLogger;
  readonly defaults: ViewDefaults;
  /** The plugins that serve options of views. */
  readonly providers: Providers;
  /** The application's store of counters and short-lived values. */
  readonly store: Store;
  /** The keys that the application's routes reserve. */
  readonly reservedKeys: ReservedKeys;
  /** Path of the collection, `/api/products`. */
  readonly path: string;
  /** True if Fastify's router treats `/products/` as `/products`. */
  readonly ignoresTrailingSlash: boolean;
  /** The parent of a nested view. */
  readonly parent?: Parent | undefined;
}

/** The bodies of an operation as `multipart/form-data`. */
export interface BodyForm {
  /** The schema for documents. */
  readonly schema: TSchema;
  /** The forms that requests can send, without duplicates. */
  readonly kinds: readonly FormFields[];
  /** Returns the form that a request can send. */
  of(request: FastifyRequest): FormFields;
}

export type BodyRefusal = (request: FastifyRequest) => Promise<void>;

/** The schemas of one operation, for validation, serialization and documentation. */
export interface OperationSchemas {
  readonly body?: TSchema;
  /** The default responses by status. null: no body. */
  readonly response?: Readonly<Record<number, TSchema | null>>;
  /** The responses in documents. Default: `response`. */
  readonly documented?: Readonly<Record<number, TSchema | null>> | undefined;
  /** The names of the read shapes of the responses, in the order of `documented`. */
  readonly readShapes?: readonly string[] | undefined;
  /** The names of the write shapes of the body, in the order of `body`. */
  readonly writeShapes?: readonly string[];
  /** Reads the body of a request. A form has no envelope. Throws InvalidUsage. */
  readonly readBody?: (request: FastifyRequest, isForm: boolean) => ReadInput;
  /** Throws the problems found in a body if no built-in operation receives it. Undefined if one always does. */
  readonly refuseBody?: BodyRefusal | undefined;
  /** The body as a form; undefined if it has no file. */
  readonly form?: BodyForm | undefined;
}

/** The schemas of an operation on several records. */
export interface BulkSchemas extends OperationSchemas {
  readonly querystring?: TSchema;
  /** Checks and converts the query string; throws InvalidUsage. */
  readonly validateQuery?: ((query: unknown, parameters: QueryParameters) => unknown) | undefined;
}

/** The declarations of a view's lists, for programs that check them. */
export interface DeclaredList {
  /** The fields that clients can search, filter and order by. */
  readonly target: FilterTarget;
  /** The view's default order: paths with `__`, with a minus for descending. */
  readonly ordering: readonly string[];
  /** The page sizes. null: no pages. */
  readonly pageSizes: PageSizes | null;
}

/** The lists of a view. */
export interface ListDefinition {
  readonly declared: DeclaredList;
  /** The query parameters of lists. */
  readonly parameters: readonly ParameterDeclaration[];
  readonly isPaged: boolean;
  /** The renamed members of a list, by their usual names, for documents. null: the member is left out. */
  readonly pageMembers: Readonly<Record<string, string | null>>;
  /** True if clients can also request lists by QUERY, with the parameters in the body. */
  readonly takesQuery: boolean;
  /** The headers of the view's own list, by lower-case name, for documents. */
  readonly headers: Readonly<Record<string, TSchema>>;
  /** `parameters` without paging parameters, for lists that are sent as a file. */
  readonly unpagedParameters: readonly ParameterDeclaration[];
  /** `unpagedParameters` without parameters that order records. */
  readonly narrowingParameters: readonly ParameterDeclaration[];
  /** The option `live` of the view. True: clients can follow its lists. */
  readonly live: LiveOption | undefined;
  /** The file formats of lists, with the schema of the file's text. */
  readonly exports: ReadonlyMap<ExportFormat, TSchema>;
  /** Adds the most records of a page to the schema of a page, for documents. The same input gives the same object. */
  documentPage(page: TSchema): TSchema;
  /** Throws InvalidUsage that names every invalid parameter. */
  check(request: FastifyRequest): Promise<void>;
}

/** The schemas of a view's operations. */
export interface SchemaSource {
  of(operation: Operation, mode: BodyMode): OperationSchemas;
  /** The schemas of an operation on several records; undefined if the view does not allow it. */
  forBulk?(operation: WriteOperation): BulkSchemas | undefined;
  /** The schema of the response to a request, if it differs from the route's schema. */
  forAnswer?(request: FastifyRequest, operation: OutputOperation): TSchema | undefined;
}

/** The resolved declarations of a view, for the router. */
export interface ViewDefinition {
  /** The actions that send the files of records, by name. */
  readonly fileActions?: ReadonlyMap<string, unknown>;
  /** The operations that get a route. */
  readonly operations: readonly Operation[];
  /** The methods of `update`. Default: both. */
  readonly updateMethods?: readonly UpdateMethod[];
  /** The permissions of the view. */
  readonly permissions: readonly Permission[];
  readonly key: KeyDefinition;
  /** The overrides of a view of an entity; undefined for a view without an entity. */
  readonly overrides?: ViewOverrides;
  /** Undefined if the view has no entity. */
  readonly lists?: ListDefinition;
  /** The conditions of requests on one record; undefined if the view sends no `ETag`. */
  readonly preconditions?: Preconditions | undefined;
  /** How the view's built-in operations write to the database. */
  readonly writes?: WritePlan;
  /** Lists why a write operation may need a transaction. Empty if it writes by one statement. */
  transactionReasons?(operation: WriteOperation): readonly string[];
  readonly schemas: SchemaSource;
  /** The members that wrap bodies and responses; undefined if the view has no entity. */
  readonly envelope?: Envelope;
  /** The view's answers to requests; undefined if the view has no entity. */
  readonly answers?: Answers;
  /** The input of the view; undefined if the view is read-only or has no entity. */
  readonly input?: ViewInput | undefined;
  /** The summary of the records; undefined without the option `summary`. */
  readonly summary?: Summary | undefined;
  /** The soft deletion of records; undefined without the option `softDelete`. */
  readonly softDelete?: SoftDelete | undefined;
  /** The history of the records; undefined without the option `history`. */
  readonly history?: RecordHistory | undefined;
  /**
   * Finds the views that the declarations refer to, after all are registered. Throws ImproperlyConfigured for a view
   * that is not registered.
   */
  findViews?(registered: readonly ShownRecords[]): void;
  /** Further routes that options add, by action name. */
  readonly actions?: ReadonlyMap<string, Action>;
  /** True for the root of a router, which lists the collections. */
  readonly listsCollections?: boolean;
  /** Runs before the handler of a detail action. */
  readonly prepareDetailAction?: (request: FastifyRequest) => Promise<unknown>;
}

/**
 * The key of the method that resolves a view's declarations. A symbol, so that it does not appear among the names of a
 * user's `this`.
 */
export const DEFINE: unique symbol = Symbol('viewset.define');

/** Makes the permissions of a view from its classes, or from the application's if the view has none. */
export function permissionsOf(
  view: { readonly name: string; readonly permissionClasses?: readonly PermissionClass[] | undefined },
  defaults: ViewDefaults,
  meta: EntityMetadata | undefined,
): readonly Permission[] {
  const { name, permissionClasses } = view;
  checkOperators(name, view);
  return makePermissions(permissionClasses ?? defaults.permissionClasses, name, meta);
}
