import { securityEvent, Unauthorized } from '@viewset/core';
import type { FastifyRequest } from 'fastify';

function logFailure(request: FastifyRequest, account: { readonly id: number } | undefined, reason: string): void {
  const event = { ...securityEvent(request, 'auth.login_failed'), account: account?.id ?? null, reason };
  request.log.info(event, 'a login failed');
}

/** Logs the login with a wrong password, or to no account, and returns its 401. */
export function refuseWrong(request: FastifyRequest, account: { readonly id: number } | undefined): Unauthorized {
  logFailure(request, account, account === undefined ? 'no_account' : 'wrong_password');
  return new Unauthorized('The e-mail address or the password is not correct');
}

/** Logs the login of a disabled account and returns its 401. */
export function refuseDisabled(request: FastifyRequest, account: { readonly id: number }): Unauthorized {
  logFailure(request, account, 'disabled');
  return new Unauthorized('The account is disabled');
}
