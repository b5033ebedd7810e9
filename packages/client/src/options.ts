import type { TokenSource } from './tokens.ts';

/** Sends a request, as the platform's `fetch` does. */
type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The options of a client. */
export interface ClientOptions {
  /** The address of the router: origin and prefix, `https://shop.example/api`; in a browser `/api` serves too. */
  readonly url: string;
  /** The bearer token, or a function that is asked for it before every request. Default: none. */
  readonly token?: TokenSource;
  /**
   * Fetches another token when a 401 says that there is none or that it is no longer good. Called once for all requests
   * that wait; each is then sent once more. If it rejects, each rejects with its 401. What it asks of this client it asks with a
   * `token` of the call, null or another: else its own 401 would wait for it. Default: nothing.
   */
  readonly refresh?: () => Promise<string>;
  /** Headers of every request. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds until a try is given up. Default: 30 000. */
  readonly timeoutMs?: number;
  /** Times that a GET is sent again after 429, 503 or no answer. Default: 2. */
  readonly retries?: number;
  /** Milliseconds: a server that asks for a longer wait is not waited for. Default: 10 000. */
  readonly maxRetryWaitMs?: number;
  /** Answers with an `ETag` that are kept, so that a GET may answer 304. Default: 100. */
  readonly keptAnswers?: number;
  /** The path of an action of its name, for a server whose router overrides `actionPath`. Default: kebab-case. */
  readonly actionPath?: (name: string) => string;
  /** Sends the requests in the place of the platform's `fetch`. */
  readonly fetch?: Fetch;
}

/** A value of a query parameter; undefined and null leave it out. */
export type QueryValue = string | number | bigint | boolean | Date | object | null | undefined;

/** The options of every call. */
export interface CallOptions {
  /** Ends the call: it rejects with the reason of the signal, also while it waits. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until a try is given up. Default: the client's. */
  readonly timeoutMs?: number | undefined;
  /** Times that the request is sent again after 429, 503 or no answer. Default: the client's for GET, else 0. */
  readonly retries?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The token in the place of the client's, null for none. A 401 then renews nothing: a login is to say that a password is wrong. */
  readonly token?: string | null | undefined;
  /** Sends the request in the place of the client's `fetch`: `fetchWithProgress(…)` for an upload. */
  readonly fetch?: Fetch | undefined;
  /** Query parameters that no declaration knows. A list is sent as the parameter several times. */
  readonly query?: Readonly<Record<string, QueryValue>> | undefined;
}

/** The options of a call that writes one record. */
export interface WriteRecordOptions extends CallOptions {
  /**
   * The `ETag` that the record must still have, else the answer is 412; true: the one that the client has seen last. A
   * record that it has not seen is then a TypeError.
   */
  readonly ifMatch?: string | true | undefined;
}
