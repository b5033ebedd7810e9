import { securityEvent, Unauthorized } from '@viewset/core';
import type { FastifyRequest } from 'fastify';

export function logFailure(
  request: FastifyRequest,
  account: { readonly id: number } | undefined,
  reason: string,
): void {
  const event = { ...securityEvent(request, 'auth.login_failed'), account: account?.id ?? null, reason };
  request.log.info(event, 'a login failed');
}

/** Logs the login of a disabled account and returns its 401. */
export function refuseDisabled(request: FastifyRequest, account: { readonly id: number }): Unauthorized {
  logFailure(request, account, 'disabled');
  return new Unauthorized('The account is disabled');
}
