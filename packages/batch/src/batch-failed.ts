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
}

const MAX_DETAILS = 50;

/** The headers that tell a client what to do about the status of the whole response. */
const KEPT_HEADERS: ReadonlySet<string> = new Set(['retry-after', 'www-authenticate']);

/**
 * Nothing of a batch was stored, because operations have failed. The status is 422. If the first failure is 401, 429, or 500 and above, the
 * response has its status and its `Retry-After`: clients, proxies and monitors act on these.
 */
export class BatchFailed extends HttpError {
  /** The operations that have failed, in their order. */
  readonly operations: readonly FailedOperation[];

  constructor(failures: readonly [Failure, ...Failure[]], cause?: unknown) {
    const [{ index, status, body, headers }] = failures;
    const kept = Object.entries(headers).filter(([name]) => KEPT_HEADERS.has(name));
    super(
      endsBatch(status) ? status : 422,
      'batch_failed',
      `Operation ${index} failed: ${messageOf({ status, body })}`,
      {
        details: failures.flatMap(detailsOf).slice(0, MAX_DETAILS),
        headers: endsBatch(status) ? Object.fromEntries(kept) : {},
        cause,
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

function messageOf({ status, body }: Pick<FailedOperation, 'status' | 'body'>): string {
  const { error } = Object(body) as { readonly error?: unknown };
  return typeof error === 'string' ? error : `it answered ${status}`;
}

function detailsOf(failure: Failure): ErrorDetail[] {
  const place = `/operations/${failure.index}`;
  const { details } = Object(failure.body) as { readonly details?: unknown };
  const known = Array.isArray(details) ? (details as unknown[]).filter(isDetail) : [];
  if (known.length === 0) return [{ in: 'body', path: place, message: messageOf(failure) }];
  return known.map(({ in: part, path, message }) =>
    part === 'body'
      ? { in: 'body', path: `${place}/body${path}`, message }
      : { in: 'body', path: `${place}/path`, message: `${path.slice(1)} ${message}`.trim() },
  );
}

/** The application may have a format of errors of its own. */
function isDetail(value: unknown): value is ErrorDetail {
  const { in: part, path, message } = Object(value) as Partial<Record<keyof ErrorDetail, unknown>>;
  return typeof part === 'string' && typeof path === 'string' && typeof message === 'string';
}
