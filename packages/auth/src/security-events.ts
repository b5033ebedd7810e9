import type { FastifyRequest } from 'fastify';

/** The events of authentication; docs/security-events.md says of each when it is logged. */
export type SecurityEvent =
  | 'auth.login'
  | 'auth.login_failed'
  | 'auth.token_refused'
  | 'auth.code_sent'
  | 'auth.registered'
  | 'auth.registration_failed';

/** The facts that an event carries beside the client's address; never a secret, a password, a code, a token or an e-mail address. */
export interface SecurityFacts {
  readonly account_id?: unknown;
  readonly reason?: string;
}

/** Writes one line at level info to the request's log: `event`, `address` (of the client) and the facts. */
export function logSecurityEvent(request: FastifyRequest, event: SecurityEvent, facts: SecurityFacts = {}): void {
  request.log.info({ event, address: request.ip, ...facts }, event);
}
