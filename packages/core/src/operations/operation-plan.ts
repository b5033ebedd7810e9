import type { TSchema } from 'typebox';
import type { ParameterDeclaration } from '../parameters.ts';
import type { Permission } from '../permissions/permission.ts';
import type { RuleList } from '../throttle/request-limiter.ts';
import type { Examples, Words } from '../viewset/setup/action.ts';
import type { ExportFormat } from '../exports/list-export.ts';
import type { IdempotencyMode } from '../viewset/setup/idempotency.ts';
import type { DeclaredList } from '../viewset/setup/view-definition.ts';
import type { OperationHandler } from '../viewset/viewset.ts';

/** The method of a route; a GET route answers HEAD too. */
export type OperationMethod = 'GET' | 'QUERY' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A parameter of a route's path, query string or headers. Its schema has type, bounds, default and description. */
export interface OperationParameter extends ParameterDeclaration {
  readonly required: boolean;
  /**
   * The way in which a list comes in a query string. True: in one text, separated by commas, as filters and `sort` read it.
   * Left out: each value under the name anew, `n=1&n=2`, as the `querystring` of an action has it.
   */
  readonly isCommaSeparated?: boolean;
}

/** The body that a route takes. */
export interface OperationBody {
  /** Undefined if the operation takes anything. */
  readonly schema: TSchema | undefined;
  /** The body as `multipart/form-data`, with its files; undefined if the route reads no form. */
  readonly form?: TSchema | undefined;
  readonly required: boolean;
  /** The media types that the route reads; any other is a 415. */
  readonly contentTypes: readonly string[];
}

/** One answer of a route. */
export interface OperationResponse {
  readonly description: string;
  /** Undefined if the answer has no body, or one that nothing declares. */
  readonly schema: TSchema | undefined;
  /** By name, in lower case. */
  readonly headers: Readonly<Record<string, TSchema>>;
}

/** The words about an operation, for people. */
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
  /** First half of its routes' names, `products`. */
  readonly basename: string;
  readonly description: string | undefined;
  /** The name of its entity; undefined if it has none. */
  readonly entity: string | undefined;
  /** The name of the field by which its records are found; undefined if it has no entity. */
  readonly key: string | undefined;
  /** The words about the fields of its records, by name. */
  readonly fieldWords: Readonly<Record<string, Words>>;
}

/**
 * Everything that is known of one route of a view, made at registration and frozen. The five operations and actions are
 * plans of one kind. Fastify's route, `reverse`, throttles and documents are derived from it.
 *
 * A request has its own as `request.routeOptions.config.viewset`; `app.viewset.operations` lists all.
 */
export interface OperationPlan {
  /** `list`, `create`, `retrieve`, `update`, `destroy`, or the name of an action. */
  readonly action: string;
  /**
   * Tells apart the operations of one action: `csv` and `ndjson` send a list as a file, `bulk` creates several records. Each has a path of
   * its own, `/api/products.csv`. Undefined for the usual operation.
   */
  readonly variant: ExportFormat | 'bulk' | undefined;
  /** Unique in the application: `listProducts`, `replaceProduct` (PUT), `updateProduct` (PATCH), `recountProduct`. */
  readonly operationId: string;
  /** The name of the route, for `reverse`: `products-detail`. */
  readonly route: string;
  readonly method: OperationMethod;
  /** The path with its parameters by name, `/api/products/:pk`. */
  readonly path: string;
  /** The path as Fastify matches it, with the expressions of its parameters. */
  readonly pattern: string;
  /** True if the operation acts on one record: `pk` in the path, or that of a singleton. */
  readonly detail: boolean;
  readonly pathParameters: readonly OperationParameter[];
  /** Any other parameter is refused, unless the view lets it pass. */
  readonly queryParameters: readonly OperationParameter[];
  /** By their names in lower case. */
  readonly headerParameters: readonly OperationParameter[];
  /** Undefined if the operation declares none. */
  readonly body: OperationBody | undefined;
  /** The member in which the body and the answer of the operation stand; undefined if they stand by themselves. A form has no envelope. */
  readonly envelope: string | undefined;
  /** The members of the page that the operation answers with whose names are not the usual ones, by those; null: left out. */
  readonly pageMembers: Readonly<Record<string, string | null>>;
  /**
   * The names of the read shapes that the records of its answer can have: `default`, an operation's name, or one that the
   * view chooses by itself. If there are several, the schema of a record is the union of theirs, in this order.
   */
  readonly readShapes: readonly string[];
  /**
   * The names of the write shapes that its body can have: the operation's own, or one that the view chooses for the request. If there are
   * several, the schema of a record in the body is the union of theirs, in this order.
   */
  readonly writeShapes: readonly string[];
  /** Every answer that the route can give, by status. */
  readonly responses: Readonly<Record<number, OperationResponse>>;
  /** True if the route needs no token, because the view or the action says so. */
  readonly allowsAnonymous: boolean;
  readonly permissions: readonly Permission[];
  /** True if the permissions grant nothing to whoever is not logged in, as far as their classes tell without being asked. */
  readonly refusesAnonymous: boolean;
  /** The throttles that count the requests of the route. */
  readonly rules: RuleList;
  /**
   * True if all that the operation writes is stored or nothing: its handler runs in a transaction, or is the library's own.
   * Nothing is known of a `create`, `update` or `destroy` that a view overrides.
   */
  readonly transaction: boolean;
  /** How the route takes `Idempotency-Key`; undefined if it takes none. */
  readonly idempotency: Exclude<IdempotencyMode, 'off'> | undefined;
  /** The largest body that the route reads; undefined: the application's limit. */
  readonly bodyLimit: number | undefined;
  readonly documentation: OperationDocumentation;
  readonly view: OperationView;
  /** What a `list` lists; undefined of any other operation. */
  readonly list: DeclaredList | undefined;
  readonly handler: OperationHandler;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The plan of a route that a router has made. */
    viewset?: OperationPlan;
    /** True: a route that needs no token. That of a view is still told who sent a good one. */
    public?: boolean;
    /** True: a public route of the application that is told who sent a good token, as that of a view is. */
    identifies?: boolean;
    /** True if a request needs a token: the word of the authentication, for documents. Left out: nobody has to send one. */
    needsToken?: boolean;
    /** Tells if a request needs a token for one of the route's URLs, if that differs between them: OPTIONS then asks by URL. */
    needsTokenAt?: (url: string) => boolean;
    /** False: no throttle counts requests to this route. */
    throttle?: boolean;
  }
}

/** Tells if an operation shows a collection, or a singleton: of paths without a key, no other retrieves. */
export function isShowing({ action, variant, method }: OperationPlan): boolean {
  return (action === 'list' || action === 'retrieve') && variant === undefined && method === 'GET';
}
