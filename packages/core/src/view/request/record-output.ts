import type { FastifyRequest } from 'fastify';
import type { TObject } from 'typebox';
import { backendOf } from '../../query/backend-of.ts';
import type { QuerySet } from '../../query/queryset.ts';
import type { ReadShape } from '../../shapes/read/read-shape.ts';
import type { Keyed, Projection } from '../../query/language/projection.ts';

/** One way to respond with records: their schema, and how they are read and made. */
export interface RecordOutput {
  /** The name of the read shape; `default` for the view's main shape. */
  readonly name: string;
  readonly shape: ReadShape<object, object>;
  /**
   * The full output that this one was selected from with `expand` and `fields`. Undefined if the client selected
   * nothing.
   */
  readonly selectedFrom: RecordOutput | undefined;
  readonly schema: TObject;
  /** Reads the fields of the shape, from rows and from entities. */
  readonly projection: Projection<object>;
  /** Makes the records to send: by `projection`, or by an overridden `represent`. */
  readonly records: Projection<object>;
  /** Makes the records together with their keys. */
  readonly keyed: Projection<Keyed<object>>;
  /** True if a statement that writes a record can return every field of the shape. */
  readonly isPlain: boolean;
  /** Makes the output for one request. Undefined if the records do not depend on the request. */
  readonly forRequest: ((request: FastifyRequest) => RecordOutput) | undefined;
}

/** An output with records of a type. */
export interface RecordOutputOf<Output extends object> extends RecordOutput {
  readonly records: Projection<Output>;
  readonly keyed: Projection<Keyed<Output>>;
}

/** Marks the query of a selected output as the client's, because clients can select many different outputs. */
export function markShapedByClient<Entity extends object>(
  records: QuerySet<Entity>,
  { selectedFrom }: RecordOutput,
): QuerySet<Entity> {
  return selectedFrom === undefined ? records : records.by('client');
}

/** Makes the record to send from an entity. */
export async function recordOf<Output extends object>(
  request: FastifyRequest,
  { projection, records }: RecordOutputOf<Output>,
  entity: object,
): Promise<Output> {
  if ((projection.related ?? projection.aggregates) !== undefined) {
    await backendOf(request).loadRelated(request, [entity], projection);
  }
  return records.readEntity(entity);
}
