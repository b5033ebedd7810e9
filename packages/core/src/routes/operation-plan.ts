import type { TSchema } from 'typebox';
import type { ParameterDeclaration } from '../http/parameters.ts';
import type { Permission } from '../permissions/permission.ts';
import type { RuleList } from '../throttle/request-limiter.ts';
import type { Examples, Words } from '../view/setup/action.ts';
import type { IdempotencyMode } from '../view/setup/idempotency.ts';
import type { OperationHandler, OperationMethod } from '../view/setup/declared-route.ts';
import type { DeclaredList } from '../view/setup/list-definition.ts';

/** A parameter of a route's path, query string or headers. Its schema has the type, bounds, default and description. */
export interface OperationParameter extends ParameterDeclaration {
  readonly required: boolean;
  /**
   * How a list is written in a query string. True: as one comma-separated text, as for filters and `sort`. Left out:
   * the name is repeated, `n=1&n=2`, as in the `querystring` of an action.
   */
  readonly isCommaSeparated?: boolean;
}

/** The body of a route. */
export interface OperationBody {
  /** Undefined if the operation accepts any body. */
  readonly schema: TSchema | undefined;
  /** The schema of the body as `multipart/form-data`, with its files; undefined if the route reads no form. */
  readonly form?: TSchema | undefined;
  readonly required: boolean;
  /** The media types that the route reads. Others give 415. */
  readonly contentTypes: readonly string[];
}

/** One response of a route. */
export interface OperationResponse {
  readonly description: string;
  /** Undefined if the response has no body, or no declared schema. */
  readonly schema: TSchema | undefined;
  /** The headers, by lower-case name. */
  readonly headers: Readonly<Record<string, TSchema>>;
}

/** The texts about an operation, for documents. */
export interface OperationDocumentation {
  readonly summary: string;
  readonly description: string | undefined;
  readonly tags: readonly string[];
  readonly deprecated: boolean;
  readonly examples: Examples;
}

/** The view that an operation belongs to. */
export interface OperationView {
  /** The name of its class. */
  readonly name: string;
  /** The first half of its route names, `products`. */
  readonly basename: string;
  readonly description: string | undefined;
  /** The name of its entity; undefined if it has none. */
  readonly entity: string | undefined;
  /** The name of the field that identifies its records; undefined if it has no entity. */
  readonly key: string | undefined;
  /** The texts about the fields of its records, by name. */
  readonly fieldWords: Readonly<Record<string, Words>>;
}

/**
 * Everything that is known about one route of a view. It is made at registration and frozen. The five operations and
 * actions have plans of the same type. Fastify's route, `reverse`, throttles and documents are derived from the plan.
 *
 * A request has the plan of its route in `request.routeOptions.config.viewset`. `app.viewset.operations` lists all
 * plans.
 */
export interface OperationPlan {
  /** `list`, `create`, `retrieve`, `update`, `destroy`, or the name of an action. */
  readonly action: string;
  /**
   * Distinguishes operations of one action: `csv` and `ndjson` send a list as a file, `bulk` creates several records.
   * Undefined for the usual operation.
   */
  readonly variant: string | undefined;
  /** Unique in the application: `listProducts`, `replaceProduct` (PUT), `updateProduct` (PATCH), `recountProduct`. */
  readonly operationId: string;
  /** The name of the route, for `reverse`: `products-detail`. */
  readonly route: string;
  readonly method: OperationMethod;
  /** The path with its parameters by name, `/api/products/:pk`. */
  readonly path: string;
  /** The path as Fastify matches it, with the regular expressions of its parameters. */
  readonly pattern: string;
  /** True if the operation acts on one record: the record of `pk` in the path, or of a singleton. */
  readonly detail: boolean;
  readonly pathParameters: readonly OperationParameter[];
  /** The declared parameters of the query string. Others are rejected, unless the view ignores them. */
  readonly queryParameters: readonly OperationParameter[];
  /** The declared headers, by lower-case name. */
  readonly headerParameters: readonly OperationParameter[];
  /** Undefined if the operation declares no body. */
  readonly body: OperationBody | undefined;
  /** The member that wraps the body and the response; undefined if they are not wrapped. A form has no envelope. */
  readonly envelope: string | undefined;
  /** The renamed members of the page in the response, by their usual names. null: the member is left out. */
  readonly pageMembers: Readonly<Record<string, string | null>>;
  /**
   * The names of the read shapes of records in the response: `default`, the name of an operation, or a name that the
   * view defines. With several, the schema of a record is the union of their schemas, in this order.
   */
  readonly readShapes: readonly string[];
  /**
   * The names of the write shapes of the body: the operation's shape, or the shapes that the view can choose by
   * request. With several, the schema of a record in the body is the union of their schemas, in this order.
   */
  readonly writeShapes: readonly string[];
  /** All responses of the route, by status. */
  readonly responses: Readonly<Record<number, OperationResponse>>;
  /** True if the route needs no token, because the view or the action allows anonymous requests. */
  readonly allowsAnonymous: boolean;
  readonly permissions: readonly Permission[];
  /** True if the permission classes are known to refuse all anonymous requests. */
  readonly refusesAnonymous: boolean;
  /** The throttles that count requests to the route. */
  readonly rules: RuleList;
  /**
   * True if the operation writes everything or nothing: its handler runs in a transaction, or is built in. False if a
   * view overrides `create`, `update` or `destroy`, because then it is not known.
   */
  readonly transaction: boolean;
  /** How the route handles `Idempotency-Key`; undefined if it ignores the header. */
  readonly idempotency: Exclude<IdempotencyMode, 'off'> | undefined;
  /** True if the operation can be a part of a batch. */
  readonly batchable: boolean;
  /** The maximum size of the body, in bytes. Undefined: the application's limit. */
  readonly bodyLimit: number | undefined;
  readonly documentation: OperationDocumentation;
  readonly view: OperationView;
  /** The fields and pages of a `list`; undefined for other operations. */
  readonly list: DeclaredList | undefined;
  /** True for a list that clients can follow by `Accept: text/event-stream`. */
  readonly isLive: boolean;
  readonly handler: OperationHandler;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The plan of a route of a view. */
    viewset?: OperationPlan;
    /** True: the route needs no token. A route of a view still gets the user of a valid token. */
    public?: boolean;
    /** True: a public route of the application also gets the user of a valid token, like a route of a view. */
    identifies?: boolean;
    /** True if a request needs a token. The authentication sets it, for documents. Left out: no token is needed. */
    needsToken?: boolean;
    /** Reports whether a URL of the route needs a token, if that depends on the URL. OPTIONS uses it. */
    needsTokenAt?: (url: string) => boolean;
    /** True: requests of a route of the application may leave the body out, although it has a schema. For documents. */
    optionalBody?: boolean;
    /** False: no throttle counts requests to this route. */
    throttle?: boolean;
  }
}

/**
 * Reports whether an operation on a path without a key shows a collection or a singleton. Other retrieves have a key.
 */
export function isShowing({ action, variant, method }: OperationPlan): boolean {
  return (action === 'list' || action === 'retrieve') && variant === undefined && method === 'GET';
}
