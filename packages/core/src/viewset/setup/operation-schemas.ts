import type { FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { QueryParameters } from '../../parameters.ts';
import type { BodyMode } from '../../shapes/write/bound-input.ts';
import type { OutputOperation, Operation, WriteOperation } from '../request/operation.ts';
import type { ReadInput } from '../request/read-input.ts';
import type { FormFields } from '../writes/view-input.ts';

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

/** The schemas of a view's operations. */
export interface SchemaSource {
  of(operation: Operation, mode: BodyMode): OperationSchemas;
  /** The schemas of an operation on several records; undefined if the view does not allow it. */
  forBulk?(operation: WriteOperation): BulkSchemas | undefined;
  /** The schema of the response to a request, if it differs from the route's schema. */
  forAnswer?(request: FastifyRequest, operation: OutputOperation): TSchema | undefined;
}
