// Published types keep these imports, by which the options of features are declared.
import './features/bulk/feature.ts';
import './features/conditional/feature.ts';
import './features/constraints/feature.ts';
import './features/emits/feature.ts';
import './features/envelope/feature.ts';
import './features/exports/feature.ts';
import './features/history/feature.ts';
import './features/live/feature.ts';
import './features/soft-delete/feature.ts';
import './features/summary/feature.ts';

export { viewset, type ViewsetInstance } from './plugin/plugin.ts';
export type { ViewsetOptions } from './plugin/options.ts';
export { serverOptions } from './plugin/server-options.ts';
export { freeSlot } from './plugin/admission.ts';
export { errorHandler, reportError, toHttpError } from './plugin/error-handler.ts';
export { isOrigin } from './http/origin.ts';
export { isInTime } from './support/time-limit.ts';
export { securityEvent, type SecurityEvent } from './plugin/security-event.ts';

export { Router, type Registered, type RegisterOptions, type RouterOptions } from './router/router.ts';
export { readJsonOnly } from './router/body-parsers.ts';
export { serializeBySchema } from './schema/scope-serializers.ts';
export { exactJson } from './schema/exact-json.ts';

export { ViewSet } from './view/viewset.ts';
export type { DeclaredList } from './view/setup/list-definition.ts';
export type { Idempotency, IdempotencyMode, KeyedRequest, SentAnswer } from './view/setup/idempotency.ts';
export type { ViewDocumentation } from './view/setup/view-documentation.ts';
export { ModelViewSet, type ModelViewSetClass } from './view/model-viewset.ts';
export type { OutputOf } from './view/setup/model-viewset-options.ts';
export type { Problems } from './view/write/problems.ts';
export { ModelViewSetBase, type WriteData } from './view/model-viewset-base.ts';
export type {
  InputOf,
  JsonLogicField,
  ModelViewSetOptions,
  SearchField,
  UpdateInputOf,
} from './view/setup/model-viewset-options.ts';
export type { EnvelopeOption } from './features/envelope/envelope.ts';
export type { ReadShapes, WriteShapes } from './view/request/named-shapes.ts';
export type { OutputOperation, Operation, UpdateMethod, WriteKind } from './view/request/operation.ts';
export {
  action,
  type Action,
  type ActionHandler,
  type ActionAnswer,
  type ActionMethod,
  type ActionOptions,
  type ActionRequest,
  type RecordRequest,
  type Examples,
  type Words,
} from './view/setup/action.ts';

export { ERROR_SCHEMA, type FormatError, type FormattedError } from './errors/error-format.ts';
export type { OperationParameter, OperationPlan, OperationResponse } from './routes/operation-plan.ts';

export {
  Forbidden,
  HeadersTooLarge,
  HttpError,
  ImproperlyConfigured,
  InternalError,
  InvalidUsage,
  MethodNotAllowed,
  NotFound,
  ParseError,
  PayloadTooLarge,
  PreconditionFailed,
  PreconditionRequired,
  ServiceUnavailable,
  TargetObjectAlreadyExist,
  TooManyRequests,
  Unauthorized,
  UnprocessableEntity,
  UnsupportedMediaType,
  UriTooLong,
  type ErrorBody,
  type ErrorDetail,
  type HttpErrorOptions,
} from './errors/errors.ts';

export {
  getCurrentUser,
  requireUser,
  withUser,
  type AnyUser,
  type AuthenticatedRequest,
  type CurrentUser,
  type UserFunctions,
  type ViewsetTypes,
} from './http/current-user.ts';
export { InvalidUsageCollector } from './errors/invalid-usage-collector.ts';
export { checkOptionNames, wrongOption } from './errors/options.ts';
export { QueryParameters, invalidParameter, type ParameterDeclaration } from './http/parameters.ts';

export { computed, type Computed } from './shapes/read/read-field.ts';
export { many, type ManyFromOptions, type ManyOptions } from './shapes/read/many.ts';
export type { Many } from './shapes/read/many-field.ts';
export { inJson, type JsonValue } from './filters/json-value.ts';
export { count, exists, type RelatedConditions, type RelatedValue } from './shapes/read/related-value.ts';
export { readShape, type ReadShape } from './shapes/read/read-shape.ts';
export { writeShape, type WriteShape } from './shapes/write/write-shape.ts';
export { field, type Renamed } from './shapes/write/renamed-field.ts';
export { nested, type Nested, refs, type Refs } from './shapes/write/to-many-input.ts';
export type { Aggregate, SummaryOption } from './features/summary/summary-option.ts';
export type {
  LiveList,
  LiveOption,
  LivePage,
  LiveQuestion,
  LiveRecord,
  LiveSupport,
  SendLiveList,
} from './features/live/live-list.ts';
export { csv, type CsvDelimiter, type CsvFormat, type CsvOptions } from './features/exports/csv-format.ts';
export type { ExportFormat, ExportOption } from './features/exports/list-export.ts';
export { requireEntities } from './mikro/required-entities.ts';
export { canSkipLocked } from './mikro/skip-locked.ts';
export { requireTransactions } from './mikro/transactions.ts';
export { checkFlushed } from './mikro/unflushed-changes.ts';
export { afterCommit } from './view/write/after-commit.ts';
export type {
  HistoricRecord,
  HistoryOption,
  HistoryPlugin,
  HistoryView,
  ViewHistory,
} from './features/history/record-history.ts';
export type { Feature, FeatureParts, FeatureView } from './view/setup/feature.ts';
export type { ConstraintMessage } from './view/write/constraint-messages.ts';
export type { PermissionsByOperation, ViewPermissions } from './view/setup/view-permissions.ts';
export { eventsFeature } from './features/emits/feature.ts';
export { historyFeature } from './features/history/feature.ts';
export { liveFeature, type LivePlugin } from './features/live/feature.ts';
export type { SoftDeleteOption } from './features/soft-delete/soft-delete.ts';
export type { KeptField } from './features/history/history-fields.ts';
export type { HistoryListener, HistoryWrite, KeptValues } from './features/history/history-recorder.ts';
export type { RecordWrite, WriteListener } from './view/write/write-listener.ts';
export { partOf, RequestPart, type RequestPartOptions } from './view/write/request-part.ts';
export { isTransactionLost } from './query/known-errors.ts';
export { retryLost } from './query/retry-lost.ts';
export { inTransaction } from './view/write/transaction.ts';
export { acceptedType } from './http/accepted-type.ts';
export { addVary } from './http/add-vary.ts';
export { sendStaticFile, type StaticFile, staticFile } from './http/static-file.ts';
export { file, type FileField, type FileFieldOptions } from './files/file-field.ts';
export { type NamedUpload, sweepUploads } from './files/direct-uploads.ts';
export {
  type FileFacts,
  type FileStore,
  type FlydriveDisk,
  flydriveStore,
  type FlydriveStoreOptions,
  type FlydriveUploadDisk,
  type SignedUpload,
  type SignUpload,
  type UploadStore,
} from './files/file-store.ts';
export { type FileLink, FileType, type StoredFile } from './files/file-type.ts';

export { compileValidator } from './schema/validator.ts';
export type { WritableSchema } from './shapes/write/write-input.ts';

export { QuerySet } from './query/queryset.ts';
export type { EntityOptions } from './backends/backend.ts';
export { RecordFinder } from './query/record-finder.ts';
export type { Counting, CountOf, Page } from './query/language/query.ts';
export { compare } from './query/language/compare.ts';
export {
  after,
  always,
  and,
  before,
  matching,
  nativeCondition,
  never,
  not,
  or,
  type Condition,
} from './query/language/condition.ts';
export { nativeNumber, type NativeTerm, type TermRecord } from './query/language/native-term.ts';
export type { Period } from './query/language/grouping.ts';
export type { OrderKey } from './query/language/order.ts';
export { resolveLookup, parseLookupText, type ResolvedLookup } from './query/language/resolve-lookup.ts';
export type { Lookup } from './query/language/lookup.ts';
export type { LookupName, Lookups, OrderName } from './query/language/lookup-name.ts';
export type { Projection } from './query/language/projection.ts';

export { fieldPath, type FieldPath } from './fields/field-path.ts';
export type { FieldKind, FieldType } from './fields/field-kind.ts';
export type { PathOf } from './fields/field-name.ts';
export { FieldValueError } from './fields/field-value-error.ts';

export { Filter, type FilterClass, type FilterTarget } from './filters/filter.ts';
export { DEFAULT_FILTERS } from './filters/default-filters.ts';
export { JsonLogicFilter } from './filters/json-logic-filter.ts';
export { OrderingFilter } from './filters/ordering-filter.ts';
export { QueryParameterFilter } from './filters/query-parameter-filter.ts';
export { SearchFilter } from './filters/search-filter.ts';
export type { SearchedView, SearchLimits, TextSearch, ViewSearch } from './filters/text-search.ts';

export { Paginator, type PageSizes, type PaginatorClass, type PaginatorOptions } from './pagination/paginator.ts';
export { type Exchange, type PageLinks, sendLinks } from './pagination/link-header.ts';
export { CountedPagination, LimitOffsetPagination, PageNumberPagination } from './pagination/counted-pagination.ts';
export { CursorPagination, type CursorEnvelope } from './pagination/cursor-pagination.ts';
export type { MemberNames } from './pagination/page-names.ts';
export type { TotalHeader } from './pagination/total-header.ts';
export type { CountedSettings, PaginatorSettings, PaginatorWith } from './pagination/paginator-with.ts';
export { PaginatedResult, type PageEnvelope, type PaginatedResultOptions } from './pagination/paginated-result.ts';

export {
  Permission,
  type PermissionClass,
  type PermissionView,
  type UserPermissionClass,
} from './permissions/permission.ts';
export { checkOwners } from './plugin/check-owners.ts';
export { IsOwner } from './permissions/is-owner.ts';
export { scoped } from './permissions/scoped.ts';
export {
  AllowAny,
  HasRole,
  IsAuthenticated,
  IsRoleAdminUser,
  IsSafeMethodOnly,
} from './permissions/built-in-permissions.ts';

export { tenant, type Tenants } from './tenants/tenant.ts';
export type { TenantOptions } from './tenants/tenant-options.ts';
export { forkForTenant, forkForAllTenants, keepTenant, keptKey, tenantProperty } from './tenants/kept-tenant.ts';
export { ALL_TENANTS, type TenantKey } from './tenants/tenant-scope.ts';

export { clientNetwork } from './throttle/client-address.ts';
export { RateLimitRule, type RateLimitPhase, type RateLimitRuleOptions } from './throttle/rate-limit-rule.ts';
export {
  HeaderRateLimit,
  IPRateLimit,
  PathRateLimit,
  UserRateLimit,
  type HeaderRateLimitOptions,
  type PathRateLimitOptions,
} from './throttle/built-in-rules.ts';
export { RequestLimiter, type RequestLimiterOptions } from './throttle/request-limiter.ts';

export { MemoryStore, type MemoryStoreOptions } from './stores/memory-store.ts';
export { rateLimitStore } from './stores/rate-limit-store.ts';
export { RedisStore, type RedisStoreOptions } from './stores/redis-store.ts';
export { StoreUnavailable, type HitResult, type PutOptions, type Store, type TakeResult } from './stores/store.ts';

export * from './http/status.ts';

export { HealthCheck, type HealthCheckOptions } from './health/health-check.ts';
export { HealthRegistry, type HealthRegistryOptions } from './health/health-registry.ts';
export type { CheckReport, HealthReport, HealthStatus } from './health/watched-check.ts';
export {
  type DatabaseHealthCheckOptions,
  MongoHealthCheck,
  PostgresHealthCheck,
  RedisHealthCheck,
  type RedisHealthCheckOptions,
  SqliteHealthCheck,
} from './health/built-in-checks.ts';
