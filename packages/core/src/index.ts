export { viewset, type ViewsetInstance } from './plugin/plugin.ts';
export type { ViewsetOptions } from './plugin/options.ts';
export { serverOptions } from './plugin/server-options.ts';
export { errorHandler, toHttpError } from './plugin/error-handler.ts';
export { securityEvent, type SecurityEvent } from './plugin/security-event.ts';

export { Router, type RegisterOptions, type RouterOptions } from './router/router.ts';
export { readJsonOnly } from './router/body-parsers.ts';

export { ViewSet, type OperationHandler, type ViewDocumentation } from './viewset/viewset.ts';
export { ModelViewSet, type InputOf, type ModelViewSetClass, type OutputOf } from './viewset/model-viewset.ts';
export { ModelViewSetBase, type WriteData } from './viewset/model-viewset-base.ts';
export type { ModelViewSetOptions, SearchField } from './viewset/model-viewset-options.ts';
export type { Operation } from './viewset/view-definition.ts';
export {
  action,
  type Action,
  type ActionHandler,
  type ActionMethod,
  type ActionOptions,
  type ActionHooks,
  type ActionRequest,
  type ActionResponses,
  type Examples,
} from './viewset/action.ts';

export type {
  OperationBody,
  OperationDocumentation,
  OperationMethod,
  OperationParameter,
  OperationPlan,
  OperationResponse,
  OperationView,
} from './operations/operation-plan.ts';

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
} from './errors.ts';

export { getCurrentUser, type AnyUser, type CurrentUser, type ViewsetTypes } from './current-user.ts';
export { InvalidUsageCollector } from './invalid-usage-collector.ts';
export { checkOptionNames, wrongOption } from './options.ts';
export { QueryParameters, invalidParameter, type ParameterDeclaration } from './parameters.ts';

export { computed, type Computed } from './shapes/read-field.ts';
export { readShape, type ReadShape } from './shapes/read-shape.ts';
export type { BoundWriteShape } from './shapes/bound-write-shape.ts';
export { writeShape, type WriteShape } from './shapes/write-shape.ts';
export { compileValidator } from './shapes/validator.ts';
export type { WritableSchema } from './shapes/write-input.ts';

export { QuerySet } from './query/queryset.ts';
export type { EntityOptions } from './backends/backend.ts';
export { RecordFinder } from './query/record-finder.ts';
export type { Counting, CountOf, Page } from './language/query.ts';
export { compare } from './language/compare.ts';
export { after, always, and, before, matching, never, not, or, type Condition } from './language/condition.ts';
export type { OrderKey } from './language/order.ts';
export { resolveLookup, parseLookupText, type ResolvedLookup } from './language/resolve-lookup.ts';
export type { Lookup } from './language/lookup.ts';
export type { LookupName, Lookups, OrderName } from './language/lookup-name.ts';
export type { Projection } from './language/projection.ts';

export { fieldPath, type FieldPath } from './fields/field-path.ts';
export type { FieldKind, FieldType } from './fields/field-type.ts';
export type { PathOf } from './fields/field-name.ts';
export { FieldValueError } from './fields/field-value.ts';

export { Filter, type FilterClass, type FilterTarget } from './filters/filter.ts';
export { DEFAULT_FILTERS } from './filters/default-filters.ts';
export { JsonLogicFilter } from './filters/json-logic-filter.ts';
export { OrderingFilter } from './filters/ordering-filter.ts';
export { QueryParameterFilter } from './filters/query-parameter-filter.ts';
export { SearchFilter } from './filters/search-filter.ts';

export { Paginator, type PageSizes, type PaginatorClass, type PaginatorOptions } from './pagination/paginator.ts';
export { CountedPagination } from './pagination/counted-pagination.ts';
export { CursorPagination, type CursorEnvelope } from './pagination/cursor-pagination.ts';
export { LimitOffsetPagination } from './pagination/limit-offset-pagination.ts';
export { PageNumberPagination } from './pagination/page-number-pagination.ts';
export { PaginatedResult, type PageEnvelope, type PaginatedResultOptions } from './pagination/paginated-result.ts';

export { Permission, type PermissionClass, type PermissionView } from './permissions/permission.ts';
export { AllowAny, IsAuthenticated, IsRoleAdminUser, IsSafeMethodOnly } from './permissions/built-in-permissions.ts';

export { RateLimitRule, type RateLimitPhase, type RateLimitRuleOptions } from './throttle/rate-limit-rule.ts';
export { HeaderRateLimit, type HeaderRateLimitOptions } from './throttle/header-rate-limit.ts';
export { IPRateLimit } from './throttle/ip-rate-limit.ts';
export { PathRateLimit, type PathRateLimitOptions } from './throttle/path-rate-limit.ts';
export { UserRateLimit } from './throttle/user-rate-limit.ts';
export { RequestLimiter, type RequestLimiterOptions } from './throttle/request-limiter.ts';

export { MemoryStore, type MemoryStoreOptions } from './stores/memory-store.ts';
export { rateLimitStore } from './stores/rate-limit-store.ts';
export { RedisStore, type RedisStoreOptions } from './stores/redis-store.ts';
export { StoreUnavailable, type HitResult, type PutOptions, type Store, type TakeResult } from './stores/store.ts';

export {
  HTTP_100_CONTINUE,
  HTTP_101_SWITCHING_PROTOCOLS,
  HTTP_102_PROCESSING,
  HTTP_103_EARLY_HINTS,
  HTTP_104_UPLOAD_RESUMPTION_SUPPORTED,
  HTTP_200_OK,
  HTTP_201_CREATED,
  HTTP_202_ACCEPTED,
  HTTP_203_NON_AUTHORITATIVE_INFORMATION,
  HTTP_204_NO_CONTENT,
  HTTP_205_RESET_CONTENT,
  HTTP_206_PARTIAL_CONTENT,
  HTTP_207_MULTI_STATUS,
  HTTP_208_ALREADY_REPORTED,
  HTTP_226_IM_USED,
  HTTP_300_MULTIPLE_CHOICES,
  HTTP_301_MOVED_PERMANENTLY,
  HTTP_302_FOUND,
  HTTP_303_SEE_OTHER,
  HTTP_304_NOT_MODIFIED,
  HTTP_305_USE_PROXY,
  HTTP_307_TEMPORARY_REDIRECT,
  HTTP_308_PERMANENT_REDIRECT,
  HTTP_400_BAD_REQUEST,
  HTTP_401_UNAUTHORIZED,
  HTTP_402_PAYMENT_REQUIRED,
  HTTP_403_FORBIDDEN,
  HTTP_404_NOT_FOUND,
  HTTP_405_METHOD_NOT_ALLOWED,
  HTTP_406_NOT_ACCEPTABLE,
  HTTP_407_PROXY_AUTHENTICATION_REQUIRED,
  HTTP_408_REQUEST_TIMEOUT,
  HTTP_409_CONFLICT,
  HTTP_410_GONE,
  HTTP_411_LENGTH_REQUIRED,
  HTTP_412_PRECONDITION_FAILED,
  HTTP_413_CONTENT_TOO_LARGE,
  HTTP_414_URI_TOO_LONG,
  HTTP_415_UNSUPPORTED_MEDIA_TYPE,
  HTTP_416_RANGE_NOT_SATISFIABLE,
  HTTP_417_EXPECTATION_FAILED,
  HTTP_421_MISDIRECTED_REQUEST,
  HTTP_422_UNPROCESSABLE_ENTITY,
  HTTP_423_LOCKED,
  HTTP_424_FAILED_DEPENDENCY,
  HTTP_425_TOO_EARLY,
  HTTP_426_UPGRADE_REQUIRED,
  HTTP_428_PRECONDITION_REQUIRED,
  HTTP_429_TOO_MANY_REQUESTS,
  HTTP_431_REQUEST_HEADER_FIELDS_TOO_LARGE,
  HTTP_451_UNAVAILABLE_FOR_LEGAL_REASONS,
  HTTP_500_INTERNAL_SERVER_ERROR,
  HTTP_501_NOT_IMPLEMENTED,
  HTTP_502_BAD_GATEWAY,
  HTTP_503_SERVICE_UNAVAILABLE,
  HTTP_504_GATEWAY_TIMEOUT,
  HTTP_505_HTTP_VERSION_NOT_SUPPORTED,
  HTTP_506_VARIANT_ALSO_NEGOTIATES,
  HTTP_507_INSUFFICIENT_STORAGE,
  HTTP_508_LOOP_DETECTED,
  HTTP_511_NETWORK_AUTHENTICATION_REQUIRED,
  isInformational,
  isSuccess,
  isRedirect,
  isClientError,
  isServerError,
} from './status.ts';

export { HealthCheck, type HealthCheckOptions } from './health/health-check.ts';
export { HealthRegistry, type HealthRegistryOptions } from './health/health-registry.ts';
export type { CheckReport, HealthReport, HealthStatus } from './health/health-report.ts';
export { MongoHealthCheck } from './health/mongo-health-check.ts';
export { PostgresHealthCheck } from './health/postgres-health-check.ts';
export { RedisHealthCheck } from './health/redis-health-check.ts';
export { SqliteHealthCheck } from './health/sqlite-health-check.ts';
