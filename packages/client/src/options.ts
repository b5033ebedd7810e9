import type { Fetch } from './fetch.ts';
import type { TokenSource } from './tokens.ts';

/** The options of a client. */
export interface ClientOptions {
  /** The address of the router: origin and prefix, `https://shop.example/api`. In a browser, `/api` works too. */
  readonly url: string;
  /** The bearer token, or a function that returns it for every request. Default: none. */
  readonly token?: TokenSource;
  /**
   * Fetches a new token after a 401 for a missing or invalid token. It is called once for all waiting requests. Each of
   * them is then sent once more. If it rejects, each rejects with its 401. If it calls this client, give the call its
   * own `token`, such as null. Otherwise a 401 of that call would wait for itself. Default: none.
   */
  readonly refresh?: () => Promise<string>;
  /** Headers of every request. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds after which a try fails. Default: 30 000. */
  readonly timeoutMs?: number;
  /** How often a GET is repeated after 429, 503 or no response. Default: 2. */
  readonly retries?: number;
  /**
   * The longest wait that a server may ask for, in milliseconds. If it asks for more, the call fails at once. Default:
   * 10 000.
   */
  readonly maxRetryWaitMs?: number;
  /** How many responses with an `ETag` are cached. The server can answer their GETs with 304. Default: 100. */
  readonly keptAnswers?: number;
  /** Returns the path of an action by its name, for a server whose router overrides `actionPath`. Default: kebab-case. */
  readonly actionPath?: (name: string) => string;
  /** Sends the requests instead of the platform's `fetch`. */
  readonly fetch?: Fetch;
}

/** A value of a query parameter. Undefined and null leave the parameter out. */
export type QueryValue = string | number | bigint | boolean | Date | object | null | undefined;

/** The options of every call. */
export interface CallOptions {
  /** Ends the call, even while it waits. The call rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds after which a try fails. Default: the client's. */
  readonly timeoutMs?: number | undefined;
  /** How often the request is repeated after 429, 503 or no response. Default: the client's for GET, else 0. */
  readonly retries?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The token instead of the client's; null for none. A 401 then renews no token, so a login can report a wrong password. */
  readonly token?: string | null | undefined;
  /** Sends the request instead of the client's `fetch`: `fetchWithProgress(…)` for an upload. */
  readonly fetch?: Fetch | undefined;
  /** Query parameters that the view does not declare. A list repeats the parameter for each value. */
  readonly query?: Readonly<Record<string, QueryValue>> | undefined;
}

/** The options of a call that writes one record. */
export interface WriteRecordOptions extends CallOptions {
  /**
   * The `ETag` that the record must still have; otherwise the response is 412. With true, it is the last `ETag` that
   * the client has seen for the record. If the client has not seen the record, the call rejects with a TypeError.
   */
  readonly ifMatch?: string | true | undefined;
}
