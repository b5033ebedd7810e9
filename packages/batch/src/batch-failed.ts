import { type ErrorBody, type ErrorDetail, HttpError } from '@viewset/core';

/** An operation of a batch that has failed. */
export interface FailedOperation {
  /** Its place among the operations, from 0. */
  readonly index: number;
  readonly id?: string;
  /** The status that it alone would have had. */
  readonly status: number;
  /** The body that it alone would have had. */
  readonly body: unknown;
}

/** The failure of one operation, with what is not for its own entry. */
export interface Failure extends FailedOperation {
  readonly headers: Readonly<Record<string, string>>;
  /** What the operation failed of; undefined if only its response says so. */
  readonly error: HttpError | undefined;
}

/** The greatest number of faults that a response tells. */
export const MAX_DETAILS = 50;

/** The headers that tell a client what to do about the status of the whole response. */
const KEPT_HEADERS: ReadonlySet<string> = new Set(['retry-after', 'www-authenticate']);

/**
 * Nothing of a batch was stored, because operations have failed. The status is 422. If the first failure is 401, 429, or 500 and above, the
 * response has its status and its `Retry-After`: clients, proxies and monitors act on these.
 */
export class BatchFailed extends HttpError {
  /** The operations that have failed, in their order. */
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

/** Tells if a status says something about the whole request: who sends it, how often, or the state of the server. */
export function endsBatch(status: number): boolean {
  return status === 401 || status === 429 || status >= 500;
}

/** Returns the status of a failure, before the application's format of errors changes it. */
export function statusOf({ status, error }: Pick<Failure, 'status' | 'error'>): number {
  return error?.statusCode ?? status;
}

/** What a failure says. */
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

/** A response may have another form of errors. */
function isDetail(value: unknown): value is ErrorDetail {
  const { in: part, path, message } = Object(value) as Partial<Record<keyof ErrorDetail, unknown>>;
  return typeof part === 'string' && typeof path === 'string' && typeof message === 'string';
}
