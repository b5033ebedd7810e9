import { type ErrorBody, type ErrorDetail, HttpError } from '@viewset/core';

/** A failed operation of a batch. */
export interface FailedOperation {
  /** Its index among the operations, from 0. */
  readonly index: number;
  readonly id?: string;
  /** The status that the operation alone would have given. */
  readonly status: number;
  /** The body that the operation alone would have given. */
  readonly body: unknown;
}

/** The failure of one operation, with details that its own entry does not show. */
export interface Failure extends FailedOperation {
  readonly headers: Readonly<Record<string, string>>;
  /** The error of the operation; undefined if there is only a response. */
  readonly error: HttpError | undefined;
}

/** The most faults that a response lists. */
export const MAX_DETAILS = 50;

/** Headers that tell a client how to react to the status of the whole response. */
const KEPT_HEADERS: ReadonlySet<string> = new Set(['retry-after', 'www-authenticate']);

/**
 * The error for a batch with a failed operation; nothing was stored. The status is 422. If the first failure is 401,
 * 429, or 500 and above, the response uses its status, `Retry-After` and `WWW-Authenticate`, because clients, proxies
 * and monitors act on these.
 */
export class BatchFailed extends HttpError {
  /** The failed operations, in order. */
  readonly operations: readonly FailedOperation[];

  constructor(failures: readonly [Failure, ...Failure[]]) {
    const [first] = failures;
    const { error } = first;
    const status = statusOf(first);
    const kept = Object.entries(first.headers).filter(([name]) => KEPT_HEADERS.has(name));
    super(
      endsBatch(status) ? status : 422,
      'batch_failed',
      `Operation ${first.index} failed: ${problemOf(first).message}`,
      {
        details: failures.flatMap(detailsOf).slice(0, MAX_DETAILS),
        headers: endsBatch(status) ? Object.fromEntries(kept) : {},
        cause: error?.cause ?? error,
      },
    );
    this.operations = failures.map((failure) => {
      const named = failure.id === undefined ? {} : { id: failure.id };
      return { index: failure.index, ...named, status: failure.status, body: failure.body };
    });
  }

  override toBody(): ErrorBody & { readonly operations: readonly FailedOperation[] } {
    return { ...super.toBody(), operations: this.operations };
  }
}

/** Tells if a status concerns the whole request: its user, its rate, or the state of the server. */
export function endsBatch(status: number): boolean {
  return status === 401 || status === 429 || status >= 500;
}

/** Returns the status of a failure, before `formatError` may change it. */
export function statusOf({ status, error }: Pick<Failure, 'status' | 'error'>): number {
  return error?.statusCode ?? status;
}

/** The message and details of a failure. */
interface Problem {
  readonly message: string;
  readonly details?: readonly ErrorDetail[] | undefined;
}

function problemOf({ error, status, body }: Failure): Problem {
  if (error !== undefined) return error;
  const { error: message, details } = Object(body) as { readonly error?: unknown; readonly details?: unknown };
  return {
    message: typeof message === 'string' ? message : `it answered ${status}`,
    details: Array.isArray(details) ? (details as unknown[]).filter(isDetail) : [],
  };
}

function detailsOf(failure: Failure): ErrorDetail[] {
  const place = `/operations/${failure.index}`;
  const { message, details = [] } = problemOf(failure);
  if (details.length === 0) return [{ in: 'body', path: place, message }];
  return details.map((detail) =>
    detail.in === 'body'
      ? { in: 'body', path: `${place}/body${detail.path}`, message: detail.message }
      : { in: 'body', path: `${place}/path`, message: `${detail.path.slice(1)} ${detail.message}`.trim() },
  );
}

/** A response may have another error format. */
function isDetail(value: unknown): value is ErrorDetail {
  const { in: part, path, message } = Object(value) as Partial<Record<keyof ErrorDetail, unknown>>;
  return typeof part === 'string' && typeof path === 'string' && typeof message === 'string';
}
