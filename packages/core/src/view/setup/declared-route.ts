import type { FastifyReply, FastifyRequest, preHandlerHookHandler, RouteOptions } from 'fastify';
import type { ParameterDeclaration, QueryParameters } from '../../http/parameters.ts';
import type { Operation, OutputOperation, ParentProof } from '../request/operation.ts';
import type { ActionOptions } from './action.ts';
import type { OperationSchemas } from './operation-schemas.ts';

/** The method of a route. A GET route also responds to HEAD. */
export type OperationMethod = 'GET' | 'QUERY' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Handles one operation of a view. */
export type OperationHandler = (request: FastifyRequest, reply: FastifyReply) => unknown;

/** A hook that sees a response before it is serialized. */
export type ResponseHook = Extract<NonNullable<RouteOptions['preSerialization']>, (...args: never) => unknown>;

/** A header that a route accepts. */
export interface HeaderParameter extends ParameterDeclaration {
  readonly required: boolean;
}

/** A route as declared by its view. The five operations are described like actions. */
export interface DeclaredRoute extends Omit<OperationSchemas, 'body' | 'response'> {
  readonly action: string;
  readonly method: OperationMethod;
  readonly detail: boolean;
  /**
   * The path below the collection or the record (`/recount`), or an extension (`.csv`). Empty for the five operations.
   */
  readonly suffix: string;
  readonly variant?: string | undefined;
  readonly urlName: string;
  readonly options: { readonly [Option in keyof ActionOptions]?: ActionOptions[Option] | undefined };
  /** The operation whose permissions the route has, unless its options have `permissionClasses`. Undefined: those of actions. */
  readonly permissionsOf?: Operation | undefined;
  /** The operation whose records the route returns; undefined if it returns no records of the view. */
  readonly recordsAs?: OutputOperation | undefined;
  /** The first words of its summary in documents, `Summarize the`. Default: those of an operation, or the action's name. */
  readonly words?: string | undefined;
  /** True if the response is a page of the view's records, or all of them. */
  readonly sendsPage?: boolean;
  /** The member that has the records in the body and the response; undefined if the records are all of it. */
  readonly recordsMember?: string | undefined;
  /** See `OperationPlan`. */
  readonly pageMembers?: Readonly<Record<string, string | null>> | undefined;
  readonly outputParameters?: readonly ParameterDeclaration[] | undefined;
  /** Checks and converts the body of an action. */
  readonly validateBody?: ((body: unknown) => unknown) | undefined;
  /** Checks and converts the query string; throws InvalidUsage. */
  readonly validateQuery?: ((query: unknown, parameters: QueryParameters) => unknown) | undefined;
  /** True if the route accepts only those list parameters that narrow lists. */
  readonly isNarrowed?: boolean;
  /** True if a list in the query string is one comma-separated text. */
  readonly isCommaSeparated?: boolean;
  /** True if the body or the query string identifies records that may not exist. */
  readonly namesRecords?: boolean;
  /** The headers that the route accepts, by lower-case name. */
  readonly headerParameters?: readonly HeaderParameter[] | undefined;
  /** Whether the response has an entity tag, or the route refuses requests that name one. */
  readonly tags?: 'sent' | 'refused' | undefined;
  /** Runs before the handler, and can refuse the request. */
  readonly beforeHandler?: preHandlerHookHandler | undefined;
  /** Runs before the response of the handler is serialized. */
  readonly beforeSending?: ResponseHook | undefined;
  readonly transaction: boolean;
  /** True if the response is the bytes of a record's file, with its own tag and date. */
  readonly sendsFile?: true | undefined;
  /** False: the operation cannot be a part of a batch, because it sends something else than JSON. */
  readonly sendsJson?: false;
  /** True if the library handles the operation, false if the view overrides it; undefined for an action. */
  readonly isBuiltIn?: boolean;
  /** Lists why requests may need a transaction of the library. Empty if they write by one statement at most. */
  readonly transactionReasons: () => readonly string[];
  readonly handler: OperationHandler;
  /** How the handler's result shows that the parent of a nested view exists. */
  readonly proof: ParentProof;
}
