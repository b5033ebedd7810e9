/** One wrong value of a request: the part of the request, a JSON pointer to the value, and what was expected. */
export interface ErrorDetail {
  readonly in: 'body' | 'query' | 'params';
  readonly path: string;
  readonly message: string;
}

/** The body of every error from a Viewset server. */
export interface ErrorBody {
  readonly error: string;
  readonly code: string;
  readonly details?: readonly ErrorDetail[];
}

/** The codes of the library by status; 0: no response was received. */
interface Codes {
  readonly 0: 'network_error' | 'timed_out';
  readonly 400: 'parse_error' | 'invalid_usage';
  readonly 401: 'unauthorized';
  readonly 403: 'forbidden';
  readonly 404: 'not_found';
  readonly 405: 'method_not_allowed';
  readonly 408: 'request_timeout';
  readonly 409: 'conflict';
  readonly 412: 'precondition_failed';
  readonly 413: 'payload_too_large';
  readonly 414: 'uri_too_long';
  readonly 415: 'unsupported_media_type';
  readonly 422: 'unprocessable_entity';
  readonly 428: 'precondition_required';
  readonly 429: 'too_many_requests';
  readonly 500: 'internal_error' | 'improperly_configured';
  readonly 503: 'service_unavailable';
}

/**
 * The code of an error with this status: one of the library's codes, or any other that an application or proxy sends.
 */
export type ErrorCode<Status> =
  | (Status extends keyof Codes ? Codes[Status] : 'unexpected_answer')
  // Keeps the code names, which a union with plain `string` would lose.
  | (string & Record<never, never>);

/** The constructor arguments of an `ApiError`. */
export interface ApiErrorOptions {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** `GET https://shop.example/api/products`. */
  readonly request: string;
  readonly body?: unknown;
  readonly headers?: Headers;
  readonly cause?: unknown;
}

/**
 * A failed request: the server rejected it, or no response was received (status 0). Every call throws it, and `.safe()` returns
 * it. If the call's own `signal` aborts, the call rejects with the reason of the signal instead.
 *
 * @example
 * try {
 *   await api.products.create(product);
 * } catch (error) {
 *   if (error instanceof ApiError && error.status === 400) show(error.details);   // [{ in: 'body', path: '/price', … }]
 * }
 */
export class ApiError<Status extends number = number, Body = unknown> extends Error {
  override readonly name = 'ApiError';
  /** The status of the response; 0 if none was received. */
  readonly status: Status;
  readonly code: ErrorCode<Status>;
  /** The wrong values; empty if the error is not about values. */
  readonly details: readonly ErrorDetail[];
  /** The body of the response: a JSON object, a text, or undefined if there was none. */
  readonly body: Body;
  readonly headers: Headers;
  /** Method and address of the request. */
  readonly request: string;

  constructor({ status, code, message, request, body, headers, cause }: ApiErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    const details = (body as Partial<ErrorBody> | null | undefined)?.details;
    this.status = status as Status;
    this.code = code;
    this.details = Array.isArray(details) ? (details as ErrorDetail[]) : [];
    this.body = body as Body;
    this.headers = headers ?? new Headers();
    this.request = request;
  }

  /** Seconds until another try may succeed, from `Retry-After`; undefined without that header. */
  get retryAfterSeconds(): number | undefined {
    const text = this.headers.get('retry-after');
    if (text === null) return undefined;
    const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
    return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
  }

  /** The id of the request in the server's log, from `X-Request-Id`; undefined without that header. */
  get requestId(): string | undefined {
    return this.headers.get('x-request-id') ?? undefined;
  }
}

/** Makes the error of a response that is not a success or cannot be read. */
export function errorOfAnswer(request: string, { status, headers }: Response, text: string): ApiError {
  const body = text === '' ? undefined : (parsed(text) ?? { data: text }).data;
  const { error, code } = Object(body) as Partial<ErrorBody>;
  // Other error formats are only in `body`.
  const isUsual = typeof error === 'string' && typeof code === 'string';
  const said = isUsual
    ? { message: error, code }
    : { message: `${request} answered ${status}`, code: 'unexpected_answer' };
  return new ApiError({ status, request, body, headers, ...said });
}

/** Parses JSON; undefined if the text is not JSON. */
export function parsed(text: string): { readonly data: unknown } | undefined {
  try {
    return { data: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

/** Makes the error of a request that got no response. */
export function unanswered(request: string, cause: unknown): ApiError {
  const isTimeOut = (cause as { name?: unknown } | null)?.name === 'TimeoutError';
  const [code, message] = isTimeOut
    ? ['timed_out', 'The request timed out']
    : ['network_error', 'The server could not be reached'];
  return new ApiError({ status: 0, code, message, request, cause });
}
