import type { EntityMetadata, MikroORM } from '@mikro-orm/core';
import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { Summary } from '../../aggregates/summary.ts';
import type { TagOf } from '../../entity-tag.ts';
import type { ErrorFormat } from '../../error-format.ts';
import type { FilterClass, FilterTarget } from '../../filters/filter.ts';
import type { ParameterDeclaration } from '../../parameters.ts';
import type { PageSizes, PaginatorClass } from '../../pagination/paginator.ts';
import { makePermissions, type Permission, type PermissionClass } from '../../permissions/permission.ts';
import type { Store } from '../../stores/store.ts';
import type { BodyMode } from '../../shapes/write/bound-input.ts';
import type { Action } from './action.ts';
import type { Idempotency } from './idempotency.ts';
import type { Providers } from './providers.ts';
import type { RecordHistory } from './record-history.ts';
import type { Customized } from '../request/customized.ts';
import type { ExportFormat } from '../../exports/list-export.ts';
import type { LiveOption } from '../../live/live-list.ts';
import type { Parent } from '../visible/parent.ts';
import type { AnsweringOperation } from '../request/answer.ts';
import type { Answers } from '../answers/answers.ts';
import type { Envelope } from '../answers/envelope.ts';
import type { Operation, UpdateMethod, WriteOperation } from '../request/operation.ts';
import type { ReadInput } from '../request/read-input.ts';
import type { KeyDefinition } from '../visible/record-key.ts';
import type { ShownRecords } from '../visible/shown-records.ts';
import type { SoftDelete } from '../visible/soft-delete.ts';
import type { Preconditions } from '../writes/writing-definition.ts';
import type { FormFields, ViewInput } from '../writes/view-input.ts';
import type { WritePlan } from '../writes/write-plan.ts';

/** The settings of the plugin, and of a router, for every view that does not say otherwise. */
export interface ViewDefaults {
  readonly permissionClasses: readonly PermissionClass[];
  readonly filters: readonly FilterClass[];
  readonly pagination: PaginatorClass | null;
  readonly ignoreUnknownParameters: boolean | readonly string[];
  /** True if the application asks a `throttleRate` of its own. */
  readonly hasThrottleRate: boolean;
  /** Encrypts cursors; undefined if the application gave none. */
  readonly secret: string | undefined;
  /** Writes errors. */
  readonly errorFormat: ErrorFormat;
  /** Makes the entity tags of records. */
  readonly tagOf: TagOf;
  /** Stores the answers of writes by `Idempotency-Key`; undefined if the application has none. */
  readonly idempotency?: Idempotency | undefined;
  /** The envelope of the router. */
  readonly envelope?: Envelope;
}

/** The place of a view: its application and its path. */
export interface ViewContext {
  readonly orm: MikroORM;
  /** The log of the application. */
  readonly log: FastifyBaseLogger;
  readonly defaults: ViewDefaults;
  /** The plugins that serve options of views. */
  readonly providers: Providers;
  /** The store of the application: what it counts and keeps for a while. */
  readonly store: Store;
  /** Path of the collection, `/api/products`. */
  readonly path: string;
  /** True if Fastify's router takes `/products/` for `/products`. */
  readonly ignoresTrailingSlash: boolean;
  /** The place of a nested view below the records of another one. */
  readonly parent?: Parent | undefined;
}

/** The bodies of an operation as `multipart/form-data`. */
export interface BodyForm {
  /** As documents have them. */
  readonly schema: TSchema;
  /** Those that requests may send, each once. */
  readonly kinds: readonly FormFields[];
  /** Returns the one that a request may send. */
  of(request: FastifyRequest): FormFields;
}

export type BodyRefusal = (request: FastifyRequest) => Promise<void>;

/** The schemas of one operation, for validation, serialization and documentation. */
export interface OperationSchemas {
  readonly body?: TSchema;
  /** By status, as most requests are answered; null: no body. */
  readonly response?: Readonly<Record<number, TSchema | null>>;
  /** The same as documents have them. Default: `response`. */
  readonly documented?: Readonly<Record<number, TSchema | null>> | undefined;
  /** The names of the read shapes that the answers can have, in the order of `documented`. */
  readonly readShapes?: readonly string[] | undefined;
  /** The names of the write shapes that the body can have, in the order of `body`. */
  readonly writeShapes?: readonly string[];
  /** Reads the body of a request, which has no envelope if it came as a form; throws InvalidUsage. */
  readonly readBody?: (request: FastifyRequest, isForm: boolean) => ReadInput;
  /** Throws the faults that came with a body if no operation of the library's own gets it; undefined if one always does. */
  readonly refuseBody?: BodyRefusal | undefined;
  /** The body as a form; undefined if it holds no file. */
  readonly form?: BodyForm | undefined;
}

/** The schemas of an operation on several records. */
export interface BulkSchemas extends OperationSchemas {
  readonly querystring?: TSchema;
  /** Checks and converts the query string; throws InvalidUsage. */
  readonly validateQuery?: ((query: unknown) => unknown) | undefined;
}

/** The declarations of a view about its lists, for programs that check them. */
export interface DeclaredList {
  /** The fields that clients may search, filter and order by. */
  readonly target: FilterTarget;
  /** The view's own order: paths with `__`, a minus in front for descending. */
  readonly ordering: readonly string[];
  /** The sizes of pages; null: a list has all records. */
  readonly pageSizes: PageSizes | null;
}

/** The lists of a view. */
export interface ListDefinition {
  readonly declared: DeclaredList;
  /** The query parameters that they take. */
  readonly parameters: readonly ParameterDeclaration[];
  readonly isPaged: boolean;
  /** The members of a list that have another name, or none, by their usual names, for documents. */
  readonly pageMembers: Readonly<Record<string, string | null>>;
  /** True if a list may be asked for by QUERY too, its parameters in the body. */
  readonly takesQuery: boolean;
  /** The headers of the view's own list, by their names in lower case, for documents. */
  readonly headers: Readonly<Record<string, TSchema>>;
  /** The same without those of pages, which a list that is sent as a file has none of. */
  readonly unpagedParameters: readonly ParameterDeclaration[];
  /** The same without those that order records, for what has none of its own. */
  readonly narrowingParameters: readonly ParameterDeclaration[];
  /** The view's option; true if clients can follow its lists. */
  readonly live: LiveOption | undefined;
  /** The forms in which a list is sent as a file. */
  readonly exports: readonly ExportFormat[];
  /** Throws InvalidUsage that names every parameter that does not fit. */
  check(request: FastifyRequest): Promise<void>;
}

/** The schemas of a view's operations. */
export interface SchemaSource {
  of(operation: Operation, mode: BodyMode): OperationSchemas;
  /** The schemas of an operation on several records; undefined if the view does not allow it. */
  forBulk?(operation: WriteOperation): BulkSchemas | undefined;
  /** The schema of the answer to a request if it is another than that of the route. */
  forAnswer?(request: FastifyRequest, operation: AnsweringOperation): TSchema | undefined;
}

/** A view as the router sees it: its declarations, resolved at the view's place. */
export interface ViewDefinition {
  /** The operations that get a route. */
  readonly operations: readonly Operation[];
  /** The methods of `update`. Default: both. */
  readonly updateMethods?: readonly UpdateMethod[];
  /** The permissions of the view. */
  readonly permissions: readonly Permission[];
  readonly key: KeyDefinition;
  /** The overrides of a view of an entity; undefined if the view has none. */
  readonly customized?: Customized;
  /** Undefined if the view has no entity. */
  readonly lists?: ListDefinition;
  /** The conditions that requests about one record may carry; undefined if the view sends no `ETag`. */
  readonly preconditions?: Preconditions | undefined;
  /** The way of the view's own operations to the database. */
  readonly writes?: WritePlan;
  /** Tells why requests may need a transaction of the library's for an operation that writes; no reason if one statement is all that they write. */
  transactionReasons?(operation: WriteOperation): readonly string[];
  readonly schemas: SchemaSource;
  /** The members in which bodies and answers stand; undefined if the view has no entity. */
  readonly envelope?: Envelope;
  /** The answers to requests; undefined if the view has no entity. */
  readonly answers?: Answers;
  /** All that the view takes in; undefined if it is read-only, or has no entity. */
  readonly input?: ViewInput | undefined;
  /** The groups of the records; undefined if the view declares none. */
  readonly summary?: Summary | undefined;
  /** The way to delete records and keep them; undefined if a deleted one is gone, or the view has no entity. */
  readonly softDelete?: SoftDelete | undefined;
  /** The history of the records; undefined if the view keeps none. */
  readonly history?: RecordHistory | undefined;
  /** Finds the views that the declarations name, once all are registered. Throws ImproperlyConfigured if one is not. */
  findViews?(registered: readonly ShownRecords[]): void;
  /** Further routes that the declarations bring along, by the names of actions. */
  readonly actions?: ReadonlyMap<string, Action>;
  /** True of the root of a router, which lists the collections. */
  readonly listsCollections?: boolean;
  /** Runs before the handler of a detail action. */
  readonly prepareDetailAction?: (request: FastifyRequest) => Promise<unknown>;
}

/** The method of every view that resolves its declarations; a symbol, so that no name of it shows on a user's `this`. */
export const DEFINE: unique symbol = Symbol('viewset.define');

/** Makes the permissions of a view: those of its classes, else the application's. */
export function permissionsOf(
  {
    name,
    permissionClasses,
  }: { readonly name: string; readonly permissionClasses?: readonly PermissionClass[] | undefined },
  defaults: ViewDefaults,
  meta: EntityMetadata | undefined,
): readonly Permission[] {
  return makePermissions(permissionClasses ?? defaults.permissionClasses, name, meta);
}
