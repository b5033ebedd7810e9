import type { FastifyRequest } from 'fastify';
import type { TObject } from 'typebox';
import { backendOf } from '../../query/backend-of.ts';
import type { QuerySet } from '../../query/queryset.ts';
import type { ReadShape } from '../../shapes/read/read-shape.ts';
import type { Keyed, Projection, Seen } from '../../language/projection.ts';

/** The operations that answer with records. */
export const ANSWERING = ['list', 'retrieve', 'create', 'update'] as const;
/** The name of an operation whose responses have records. */
export type AnsweringOperation = (typeof ANSWERING)[number];

export function isAnswering(name: string): name is AnsweringOperation {
  return (ANSWERING as readonly string[]).includes(name);
}

/** One way to answer with records: their schema, and the reading and making of them. */
export interface Answer {
  /** The name of the read shape; `default` for the one that says what a record is. */
  readonly name: string;
  readonly shape: ReadShape<object, object>;
  /** The answer that a client has selected this one of by `expand` and `fields`; undefined if it has not. */
  readonly selectedFrom: Answer | undefined;
  readonly schema: TObject;
  /** Reads the fields of the shape, of rows and of entities. */
  readonly projection: Projection<object>;
  /** Makes the records that are sent: by `projection`, or by `represent` if the view overrides it. */
  readonly records: Projection<object>;
  /** Makes them with the values that name them. */
  readonly keyed: Projection<Keyed<object>>;
  /** Makes them with what a statement that changes them has to find unchanged. */
  readonly seen: Projection<Seen<object>>;
  /** True if a statement that writes a record can return all that is read of it. */
  readonly isPlain: boolean;
  /** Makes the same answer for one request, of which its records tell; undefined if they tell of none. */
  readonly forRequest: ((request: FastifyRequest) => Answer) | undefined;
}

/** An answer with records of a type. */
export interface AnswerOf<Output extends object> extends Answer {
  readonly records: Projection<Output>;
  readonly keyed: Projection<Keyed<Output>>;
  readonly seen: Projection<Seen<Output>>;
}

/** Takes the statement of an answer that a client has selected for one of a client, of which there may be many. */
export function byAuthor<Entity extends object>(records: QuerySet<Entity>, { selectedFrom }: Answer): QuerySet<Entity> {
  return selectedFrom === undefined ? records : records.by('client');
}

/** Makes the record that is sent of an entity. */
export async function recordOf<Output extends object>(
  request: FastifyRequest,
  { projection, records }: AnswerOf<Output>,
  entity: object,
): Promise<Output> {
  if ((projection.related ?? projection.told) !== undefined) {
    await backendOf(request).loadRelated(request, [entity], projection);
  }
  return records.readEntity(entity);
}
