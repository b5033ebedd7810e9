import type { FastifyRequest } from 'fastify';
import { getCurrentUser } from '../http/current-user.ts';
import { LineLimit } from '../support/line-limit.ts';

/**
 * The fields of a security event in the log. They never contain a token, a password, a code, a body or a query string.
 */
export interface SecurityEvent {
  /** The name of the event, such as `permission.refused`. docs/security-events.md lists all events. */
  readonly event: string;
  /** The account's id; null if nobody is logged in. */
  readonly account: number | string | bigint | null;
  readonly address: string;
  readonly method: string;
  /** The route as it was registered, `/api/products/:pk`. Null for a path without a route. */
  readonly route: string | null;
}

/**
 * Returns the fields of the log line of a security event.
 *
 * @example
 * request.log.warn(securityEvent(request, 'export.downloaded'), 'all invoices were downloaded');
 */
export function securityEvent(request: FastifyRequest, event: string): SecurityEvent {
  const { ip, method, routeOptions } = request;
  const account = getCurrentUser(request)?.id ?? null;
  return { event, account, address: ip, method, route: routeOptions.url?.replace(/\(.*\)/, '') ?? null };
}

/** In this time, each account or address gets one line for each event, and all of them together get `MAX_LINES`. */
const INTERVAL_MS = 1000;
const MAX_LINES = 100;
/** The limits by server, so that one application does not suppress lines of another in the same process. */
const limits = new WeakMap<object, LineLimit>();

/** Logs the event of a refused request, unless the same account or address had a line for it within the last second. */
export function logRefusal(request: FastifyRequest, event: string, message: string): void {
  const { server } = request.server;
  let limit = limits.get(server);
  if (limit === undefined) limits.set(server, (limit = new LineLimit(INTERVAL_MS, MAX_LINES)));
  const fields = securityEvent(request, event);
  const withheld = limit.take(`${event} ${fields.account === null ? fields.address : `#${fields.account}`}`);
  if (withheld !== undefined) request.log.info({ ...fields, withheld }, message);
}
