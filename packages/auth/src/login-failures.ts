import { securityEvent, Unauthorized } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { AccountEntity } from './account-contract.ts';

export function logFailure(request: FastifyRequest, account: AccountEntity | undefined, reason: string): void {
  const event = { ...securityEvent(request, 'auth.login_failed'), account: account?.id ?? null, reason };
  request.log.info(event, 'a login failed');
}

/** Logs the login of a disabled account and returns its 401. */
export function refuseDisabled(request: FastifyRequest, account: AccountEntity): Unauthorized {
  logFailure(request, account, 'disabled');
  return new Unauthorized('The account is disabled');
}
