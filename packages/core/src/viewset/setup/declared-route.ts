import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ParameterDeclaration } from '../../parameters.ts';
import type { Operation, OutputOperation, ParentProof } from '../request/operation.ts';
import type { Preconditions } from '../writes/writing-definition.ts';
import type { ActionOptions } from './action.ts';
import type { BulkSchemas } from './operation-schemas.ts';

/** The method of a route. A GET route also responds to HEAD. */
export type OperationMethod = 'GET' | 'QUERY' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Handles one operation of a view. */
export type OperationHandler = (request: FastifyRequest, reply: FastifyReply) => unknown;

/** A route as declared by its view. The five operations are described like actions. */
export interface DeclaredRoute extends Omit<BulkSchemas, 'body' | 'response' | 'querystring'> {
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
  readonly answersAs?: OutputOperation | undefined;
  /** The first words of its summary in documents, `Summarize the`. Default: those of an operation, or the action's name. */
  readonly words?: string | undefined;
  /** True if the response is a page of the view's records, or all of them. */
  readonly sendsPage?: boolean;
  /** See `OperationPlan`. */
  readonly envelope?: string | undefined;
  readonly pageMembers?: Readonly<Record<string, string | null>> | undefined;
  readonly answerParameters?: readonly ParameterDeclaration[] | undefined;
  /** Checks and converts the body of an action. */
  readonly validateBody?: ((body: unknown) => unknown) | undefined;
  /** True if the route accepts only those list parameters that narrow lists. */
  readonly isNarrowed?: boolean;
  /** True if a list in the query string is one comma-separated text. */
  readonly isCommaSeparated?: boolean;
  /** True if the body or the query string identifies records that may not exist. */
  readonly namesRecords?: boolean;
  /** The preconditions of the view's operations. Undefined for an action, even if it has the name of an operation. */
  readonly preconditions?: Preconditions | undefined;
  readonly transaction: boolean;
  /** True if the library handles the operation, false if the view overrides it; undefined for an action. */
  readonly isBuiltIn?: boolean;
  /** Lists why requests may need a transaction of the library. Empty if they write by one statement at most. */
  readonly transactionReasons: () => readonly string[];
  readonly handler: OperationHandler;
  /** How the handler's result shows that the parent of a nested view exists. */
  readonly proof: ParentProof;
}
