import type { FastifyReply, FastifyRequest } from 'fastify';

/** The media type of a list that is sent as a stream of its changes. */
export const STREAM_TYPE = 'text/event-stream';

/** How far the lists of a view are live: `true`, or only as far as its writes are told of. */
export type LiveOption = boolean | 'writes';

/** One record of a list. */
export interface LiveRecord {
  /** The key of the record, as it stands in its path. */
  readonly key: string;
  /** The record as the list sends it. */
  readonly json: string;
}

/** A list as it was at one time. */
export interface LivePage {
  readonly records: readonly LiveRecord[];
  /** All else that the list sends, such as its count, as a JSON object; `{}` for a list that is an array. */
  readonly rest: string;
  /** `rest` without the cursors of the pages, which are new texts each time. */
  readonly mark: string;
  /** The whole list, as a GET would send it. */
  readonly json: string;
}

/** A list that a request may have now: its records are decided, and not read yet. */
export interface LiveQuestion {
  /** Equal for questions that may be the same, so that few have to be compared. */
  readonly hint: string;
  /** Tells if another question has the same answer: the database would be asked the same, for the same read shape. */
  isSameAs(other: LiveQuestion): boolean;
  /** Reads the list from the primary of the database. */
  read(): Promise<LivePage>;
}

/** The list of a request, to be asked for as often as it may have changed. */
export interface LiveList {
  /** The name of the entity of its records; of several in one table, that which the others extend. */
  readonly entity: string;
  /**
   * Asks the view for the list again, as for a new request of the same sender: the authentication, the permissions, the hooks of the view, its
   * parents and its filters.
   *
   * @throws HttpError if the sender may not have the list any more
   */
  ask(): Promise<LiveQuestion>;
}

/**
 * Answers a request for a list as `text/event-stream`, and returns the reply. Only lists of views with the option `live` get there.
 */
export type SendLiveList = (request: FastifyRequest, reply: FastifyReply, list: LiveList) => Promise<FastifyReply>;

/** The part of an application that plugins use whose answers last, such as lists that are live. */
export interface LiveSupport {
  /**
   * Identify the sender of a request that lasts once more, by the same headers. Each sets `request.user`, or throws Unauthorized. `auth` of
   * `@viewset/auth` adds its own.
   */
  readonly identify: Set<(request: FastifyRequest) => Promise<void>>;
  /** Frees the slot of a request whose answer lasts, so that it does not count as a request in flight. */
  readonly freeSlot: (request: FastifyRequest) => void;
}
