/** The error for a response of a service's API whose status is not 2xx. */
export class ServiceResponseError extends Error {
  readonly status: number;

  constructor(address: string, status: number) {
    super(`${address} responded with ${status}`);
    this.name = 'ServiceResponseError';
    this.status = status;
  }
}

const TIMEOUTS = new Set(['OAUTH_TIMEOUT', 'OAUTH_ABORT']);
const BAD_RESPONSES = new Set(['OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON']);

/** True for an error of a service that cannot be reached, or is not in order at this moment. Otherwise the service has refused. */
export function isUnreachable(error: unknown): boolean {
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: { readonly code?: unknown } };
  if (TIMEOUTS.has(String(code))) return true;
  if (error instanceof ServiceResponseError) return isOutage(error.status);
  // A page instead of JSON, with 200, is what a service shows during its maintenance.
  if (BAD_RESPONSES.has(String(code))) return !(cause instanceof Response) || cause.ok || isOutage(cause.status);
  // `fetch` throws a TypeError with a cause if it cannot connect.
  return error instanceof TypeError && typeof cause?.code === 'string';
}

function isOutage(status: number): boolean {
  return status >= 500 || status === 429;
}
