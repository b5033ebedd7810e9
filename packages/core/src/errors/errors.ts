/** One wrong field of a request: the part of the request, a JSON pointer to the field, and the problem. */
export interface ErrorDetail {
  readonly in: 'body' | 'query' | 'params';
  readonly path: string;
  readonly message: string;
}

/** The options of an error, besides its message. */
export interface HttpErrorOptions {
  readonly details?: readonly ErrorDetail[];
  /** Headers that the response must have, in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The error that caused this one. It is logged, and never sent. */
  readonly cause?: unknown;
  /** The security event for the log, such as `permission.refused`. Default: none. */
  readonly event?: string;
}

/** The body of every error, from every layer. */
export interface ErrorBody {
  readonly error: string;
  readonly code: string;
  readonly details?: readonly ErrorDetail[];
}

/**
 * An error with an HTTP response. Throw one of its subclasses from any hook or handler. The client sees `statusCode`, `code`, `message` and
 * `details`.
 *
 * @example
 * throw new NotFound('No such invoice');   // 404 {"error":"No such invoice","code":"not_found"}
 */
export class HttpError extends Error {
  override readonly name: string;
  readonly statusCode: number;
  readonly code: string;
  readonly details: readonly ErrorDetail[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** The security event for the log. It is never sent. */
  readonly event: string | undefined;

  constructor(statusCode: number, code: string, message: string, options: HttpErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    if (!Number.isInteger(statusCode) || statusCode < 400 || statusCode > 599) {
      throw new ImproperlyConfigured(
        `${new.target.name}: statusCode must be an integer from 400 to 599, got ${String(statusCode)}`,
      );
    }
    this.name = new.target.name;
    this.statusCode = statusCode;
    this.code = code;
    this.details = options.details;
    this.headers = options.headers ?? {};
    this.event = options.event;
  }

  toBody(): ErrorBody {
    const body = { error: this.message, code: this.code };
    return this.details === undefined ? body : { ...body, details: this.details };
  }
}

/** Makes an error class with one status and code, and a default message. */
function errorClass(
  statusCode: number,
  code: string,
  usualMessage: string,
): new (message?: string, options?: HttpErrorOptions) => HttpError {
  return class extends HttpError {
    constructor(message = usualMessage, options?: HttpErrorOptions) {
      super(statusCode, code, message, options);
    }
  };
}

/** 400: the request cannot be read: malformed JSON, malformed HTTP, or an empty body where JSON is required. */
export class ParseError extends errorClass(400, 'parse_error', 'The request could not be parsed') {}

/** 400: the request can be read, but some values in it are wrong. Name each of them in `details`. */
export class InvalidUsage extends errorClass(400, 'invalid_usage', 'The request is not valid') {}

/** 401: the user is not logged in, or the credentials are wrong. Carries `WWW-Authenticate: Bearer` (RFC 6750, section 3). */
export class Unauthorized extends HttpError {
  constructor(message = 'Authentication is required', options: HttpErrorOptions = {}) {
    super(401, 'unauthorized', message, { ...options, headers: { 'www-authenticate': 'Bearer', ...options.headers } });
  }
}

/** 403: the user is logged in, but is not allowed to do this. */
export class Forbidden extends HttpError {
  constructor(message = 'You are not allowed to do this', options?: HttpErrorOptions) {
    super(403, 'forbidden', message, { event: 'permission.refused', ...options });
  }
}

/** 404: the route or record does not exist, or this request may not see it. */
export class NotFound extends errorClass(404, 'not_found', 'Not found') {}

/** Throws NotFound if nothing was found. */
export function orNotFound<Found>(found: Found | undefined): Found {
  if (found === undefined) throw new NotFound();
  return found;
}

/** 405: the path exists, but not the method. `Allow` lists the existing methods (RFC 9110, section 15.5.6). */
export class MethodNotAllowed extends HttpError {
  constructor(method: string, allowed: readonly string[], options: HttpErrorOptions = {}) {
    super(405, 'method_not_allowed', `Method ${method} is not allowed here; allowed: ${allowed.join(', ')}`, {
      ...options,
      headers: { allow: allowed.join(', '), ...options.headers },
    });
  }
}

/** 409: another record already has the unique value, or other records refer to this one. */
export class TargetObjectAlreadyExist extends errorClass(409, 'conflict', 'The object already exists') {}

/** 412: `If-Match` does not match the record (RFC 9110, section 15.5.13). Nothing was written. */
export class PreconditionFailed extends errorClass(
  412,
  'precondition_failed',
  'The record has changed since it was read; read it again',
) {}

/** 413: the body is larger than the route's `bodyLimit`. */
export class PayloadTooLarge extends errorClass(413, 'payload_too_large', 'The request body is too large') {}

/** 414: the URL, or one of its path parameters, is longer than the server accepts. */
export class UriTooLong extends errorClass(414, 'uri_too_long', 'The URL is too long') {}

/** 415: the route does not read the media type of the body. */
export class UnsupportedMediaType extends errorClass(
  415,
  'unsupported_media_type',
  'The media type is not supported; send application/json',
) {}

/** 422: for rules of applications. The library never throws it. */
export class UnprocessableEntity extends errorClass(422, 'unprocessable_entity', 'The request cannot be processed') {}

/** 428: the view requires `If-Match` for writes, and the request has none (RFC 6585, section 3). */
export class PreconditionRequired extends errorClass(
  428,
  'precondition_required',
  'Send If-Match with the ETag of the record as you have read it',
) {}

/** 429: the limit of a throttle is reached. `Retry-After` has the time to wait, in whole seconds. */
export class TooManyRequests extends HttpError {
  constructor(retryAfterSeconds: number, message = 'Too many requests', options: HttpErrorOptions = {}) {
    super(429, 'too_many_requests', message, {
      event: 'throttle.refused',
      ...options,
      headers: { 'retry-after': String(Math.max(1, Math.ceil(retryAfterSeconds))), ...options.headers },
    });
  }
}

/** 431: the header section is larger than the server accepts. */
export class HeadersTooLarge extends errorClass(431, 'headers_too_large', 'The request headers are too large') {}

/** 500: a fault of the server. The log has the cause under the request's id. The response never has it. */
export class InternalError extends HttpError {
  constructor(options?: HttpErrorOptions) {
    super(500, 'internal_error', 'An internal error occurred', options);
  }
}

/**
 * 500: a mistake in the program or its configuration. It is thrown at registration, and its message names the option, what was expected and
 * what was received. If it is thrown during a request, the client only sees that the server is not configured.
 */
export class ImproperlyConfigured extends HttpError {
  constructor(message: string, options?: HttpErrorOptions) {
    super(500, 'improperly_configured', message, options);
    // Node prints the enumerable properties of an error that ends the start. These are about responses.
    for (const name of ['name', 'statusCode', 'details', 'headers', 'event'] as const) {
      Object.defineProperty(this, name, { enumerable: false });
    }
  }

  override toBody(): ErrorBody {
    return { error: 'The server is not properly configured', code: this.code };
  }
}

/**
 * Returns the error for a thrown value: the value itself if it is an error, else an InternalError with the value as its
 * cause. `throw undefined` and `Promise.reject()` are failures, and must never count as success.
 */
export function errorFrom(thrown: unknown): Error {
  if (typeof thrown === 'object' && thrown !== null) return thrown as Error;
  const received = typeof thrown === 'string' ? JSON.stringify(thrown) : String(thrown);
  return new InternalError({ cause: new TypeError(`${received} was thrown or rejected with, instead of an Error`) });
}

/** 503: a store or the mail server that this request needs is down or too slow. */
export class ServiceUnavailable extends errorClass(
  503,
  'service_unavailable',
  'The service is temporarily unavailable',
) {}

/**
 * Returns the status of an error that rejects a request, from the library or elsewhere; undefined for an error that is
 * not a 4xx.
 */
export function refusalStatus(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { statusCode } = error as { readonly statusCode?: unknown };
  return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500 ? statusCode : undefined;
}
