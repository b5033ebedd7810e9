import type { FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { BodyMode } from '../../shapes/write/bound-input.ts';
import type { Operation, OutputOperation } from '../request/operation.ts';
import type { AcceptedBodies } from '../output/record-format.ts';
import type { ReadInput } from '../request/read-input.ts';
import type { FormFields } from '../write/view-input.ts';

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
  /** The schema of the response to a request. Undefined, or if it returns undefined: `response`. */
  readonly schemaFor?: ((request: FastifyRequest) => TSchema | undefined) | undefined;
  /** The names of the read shapes of the responses, in the order of `documented`. */
  readonly readShapes?: readonly string[] | undefined;
  /** The names of the write shapes of the body, in the order of `body`. */
  readonly writeShapes?: readonly string[];
  /** Reads the body of a request. A form is a list of fields in any format. Throws InvalidUsage. */
  readonly readBody?: (request: FastifyRequest, isForm: boolean) => ReadInput;
  /** Throws the problems found in a body if no built-in operation receives it. Undefined if one always does. */
  readonly refuseBody?: BodyRefusal | undefined;
  /** The body as a form; undefined if it has no file. */
  readonly form?: BodyForm | undefined;
}

/** The schemas of a view's operations. */
export interface SchemaSource {
  of(operation: Operation, mode: BodyMode): OperationSchemas;
}

/** Reads the body of one record, or the bodies of several, without the member that has them. */
export type ReadsBody = (request: FastifyRequest, body: unknown, isSeveral: boolean) => ReadInput;

/** What features make the schemas of their routes of. */
export interface SchemaParts {
  /** Makes the schema of a list from the schema of its records. The same input gives the same object. */
  ofList(record: TSchema): TSchema;
  /**
   * Makes the schemas of an operation's responses: the default, and the one for documents.
   *
   * @param sent makes the schema of a response from the schema of its records
   */
  responsesWith(operation: OutputOperation, sent: (record: TSchema) => TSchema): OperationSchemas;
  /** Makes the reader of bodies in the view's format. A form is a list of fields in any format. */
  reading(accepted: AcceptedBodies, read: ReadsBody): NonNullable<OperationSchemas['readBody']>;
}
