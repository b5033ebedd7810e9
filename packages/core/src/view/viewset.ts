import type { EntityMetadata } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { isYes } from '../support/awaitable.ts';
import { permissionDenied } from '../http/current-user.ts';
import type { PermissionClass, PermissionView } from '../permissions/permission.ts';
import type { RateLimitRule } from '../throttle/rate-limit-rule.ts';
import { stateOf } from './request/request-state.ts';
import { type Operation, OPERATIONS } from './request/operation.ts';
import type { OperationSchemas } from './setup/operation-schemas.ts';
import { DEFINE, type ViewContext, type ViewDefinition } from './setup/view-definition.ts';
import type { IdempotencyMode } from './setup/idempotency.ts';
import type { ViewDocumentation } from './setup/view-documentation.ts';
import { type PermissionsByOperation, ViewPermissions } from './setup/view-permissions.ts';

/**
 * A group of routes under one name. Define any of `list`, `create`, `retrieve`, `update` (PUT and PATCH) and `destroy`,
 * and any number of `action()`s; each gets its route, behind the view's permissions and throttles.
 *
 * One instance serves every request: keep nothing about a request on `this`.
 *
 * @example
 * class StatusViewSet extends ViewSet {
 *   override permissionClasses = [IsAuthenticated];
 *   override list() { return { uptime: process.uptime() }; }   // GET /api/status
 * }
 */
export abstract class ViewSet implements PermissionView {
  /**
   * The classes that decide who may use the view. All must agree. With `{ default: […], destroy: […] }`, operations have
   * lists of their own; `default` is for the others, and for actions. Default: the plugin's `permissionClasses`.
   */
  permissionClasses: readonly PermissionClass[] | PermissionsByOperation | undefined = undefined;
  /** Rules that limit requests to this view, in addition to the plugin's. */
  throttles: readonly RateLimitRule[] = [];
  /** Unknown query parameters that are ignored instead of refused: true for all, or their names. Default: the plugin's. */
  ignoreUnknownParameters: boolean | readonly string[] | undefined = undefined;

  /**
   * True: the view's routes need no token. Default: true for the operations and actions whose only class in
   * `permissionClasses` is AllowAny.
   */
  allowAnonymous: boolean | undefined = undefined;
  /** Sets how the view's POST and PATCH routes use `Idempotency-Key`. Default: the plugin's `idempotency`. */
  idempotency: IdempotencyMode | undefined = undefined;
  /**
   * True: the view's operations may be parts of a batch (`@viewset/batch`). Actions have their own option. Default:
   * operations that the library handles may, operations that the view handles itself may not.
   */
  batchable: boolean | undefined = undefined;
  /** The texts about the view in documents. */
  documentation: ViewDocumentation = {};
  /**
   * The response schemas of a view without an entity, by operation: for 201 of `create`, otherwise for 200. Only declared fields are sent,
   * and documents show the schemas. Default: everything is sent.
   *
   * @example
   * class StatusViewSet extends ViewSet {
   *   override responses = { list: Type.Object({ uptime: Type.Number() }) };
   *   override list() { return { uptime: process.uptime() }; }
   * }
   */
  declare responses?: { readonly [Name in Exclude<Operation, 'destroy'>]?: TSchema };

  list?(request: FastifyRequest, reply: FastifyReply): unknown;
  create?(request: FastifyRequest, reply: FastifyReply): unknown;
  retrieve?(request: FastifyRequest, reply: FastifyReply): unknown;
  update?(request: FastifyRequest, reply: FastifyReply): unknown;
  destroy?(request: FastifyRequest, reply: FastifyReply): unknown;

  /** The name of the class, for errors and logs. */
  get name(): string {
    return this.constructor.name;
  }

  /** Returns the name of the request's operation or action: `list`, `retrieve`, `featured`, … */
  getAction(request: FastifyRequest): string {
    return request.routeOptions.config.viewset?.action ?? '';
  }

  /**
   * Called after the declared throttles, for every request; false gives 429. Override it for a rule that needs more than a key. Default:
   * true.
   */
  throttleRate(_request: FastifyRequest): boolean | Promise<boolean> {
    return true;
  }

  /** The metadata of the view's entity; undefined if it has none. */
  get meta(): EntityMetadata | undefined {
    return undefined;
  }

  /** @internal */
  [DEFINE]({ defaults }: ViewContext): ViewDefinition {
    const operations = OPERATIONS.filter((name) => typeof this[name] === 'function');
    return {
      permissions: new ViewPermissions(this, operations, defaults.permissionClasses, undefined),
      operations,
      key: { schema: Type.String(), parse: (text) => (text === '' ? undefined : text) },
      schemas: { of: (operation) => responseOf(operation, this.responses?.[operation as never]) },
    };
  }

  /**
   * Checks the view's permissions on one record. In a plain ViewSet, call it for every record that a handler uses. The `getObject` of a
   * ModelViewSet calls it for you. Throws Unauthorized or Forbidden.
   */
  async checkObjectPermissions(request: FastifyRequest, object: object): Promise<void> {
    const { grant } = stateOf(request);
    if (grant !== undefined && !isYes(await grant.allows(object))) throw permissionDenied(request);
  }
}

function responseOf(operation: Operation, schema: TSchema | undefined): OperationSchemas {
  return schema === undefined ? {} : { response: { [operation === 'create' ? 201 : 200]: schema } };
}

/** Reports whether a view overrides `throttleRate`. */
export function hasThrottleRate(view: ViewSet): boolean {
  return view.throttleRate !== ViewSet.prototype.throttleRate;
}
