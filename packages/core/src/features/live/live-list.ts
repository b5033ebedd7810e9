import type { FastifyReply, FastifyRequest } from 'fastify';

/** The media type of a list that is sent as a stream of its changes. */
export const STREAM_TYPE = 'text/event-stream';

/**
 * `true`: clients can follow the lists of a view. `'writes'`: they cannot, but its writes update the live lists of
 * other views.
 */
export type LiveOption = boolean | 'writes';

/** One record of a list. */
export interface LiveRecord {
  /** The key of the record, as in its path. */
  readonly key: string;
  /** The record as the list sends it. */
  readonly json: string;
}

/** A list at one point in time. */
export interface LivePage {
  readonly records: readonly LiveRecord[];
  /** Everything else in the list, such as its count, as a JSON object; `{}` for a list that is an array. */
  readonly rest: string;
  /** `rest` without the page cursors, which are different texts each time. */
  readonly mark: string;
  /** The whole list, as a GET would send it. */
  readonly json: string;
}

/** The list of a request, whose records are decided but not read yet. */
export interface LiveQuestion {
  /** Equal for questions that may be the same, so that few need a full comparison. */
  readonly hint: string;
  /** Reports whether another question gets the same list: the same database query, for the same read shape. */
  isSameAs(other: LiveQuestion): boolean;
  /** Reads the list from the primary of the database. */
  read(): Promise<LivePage>;
}

/** The list of a request. Ask again whenever it may have changed. */
export interface LiveList {
  /** The name of the entity of its records. If several entities share a table, the name of the root. */
  readonly entity: string;
  /**
   * Evaluates the list again, like a new request of the same sender: authentication, permissions, the hooks of the
   * view, its parents and its filters.
   *
   * @throws HttpError if the sender may no longer read the list
   */
  ask(): Promise<LiveQuestion>;
}

/**
 * Responds to a request for a list with `text/event-stream`, and returns the reply. It is called only for views with the
 * option `live`.
 */
export type SendLiveList = (request: FastifyRequest, reply: FastifyReply, list: LiveList) => Promise<FastifyReply>;

/** The support for plugins with long-lived responses, such as live lists. */
export interface LiveSupport {
  /**
   * Functions that identify the sender of a long-lived request again, by the same headers. Each sets `request.user`, or
   * throws Unauthorized. `auth` of `@viewset/auth` adds its own.
   */
  readonly identify: Set<(request: FastifyRequest) => Promise<void>>;
}
