import { securityEvent } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { Accounts } from '../accounts/accounts.ts';
import type { DeviceCookies } from '../browsers/device-cookies.ts';
import { CONFIRM_BODY, readCode } from './request-body.ts';
import { useCode } from './use-code.ts';
import type { VerificationCodes } from '../codes/verification-codes.ts';
import { type AuthRoute, MESSAGE } from './auth-route.ts';

export interface ConfirmEmailParts {
  readonly accounts: Accounts;
  readonly devices: DeviceCookies;
  readonly emailChangeCodes: VerificationCodes;
  readonly resetCodes: VerificationCodes;
}

export function confirmEmailRoute(parts: ConfirmEmailParts): AuthRoute {
  return {
    name: 'confirm-email',
    method: 'POST',
    path: 'confirm-email',
    operationId: 'confirmEmail',
    summary: 'Confirm the new e-mail address of your account, with the code that was sent to it',
    description: 'Uses up the code. An address that has an account already is refused.',
    body: CONFIRM_BODY,
    status: 200,
    answer: MESSAGE,
    cookies: 'A cookie that identifies the browser for the new address, if it had one for the old address.',
    errors: [401, 429],
    access: 'token',
    handler: confirmEmailHandler(parts),
  };
}

const EVENT = 'auth.email_change_failed';

function confirmEmailHandler({ accounts, devices, emailChangeCodes, resetCodes }: ConfirmEmailParts) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<Static<typeof MESSAGE>> => {
    const account = await accounts.ofRequest(request);
    const code = readCode(request.body, EVENT);
    const sent = { key: String(account.id), code, isNoted: true, event: EVENT };
    await useCode(request, emailChangeCodes, sent, async (address) => {
      await accounts.changeEmail(request.em, account, address);
      const isKnown = devices.knownDevice(request, account.email) !== undefined;
      if (isKnown) devices.remember(request, reply, address);
    });
    // A code that the old address was sent is nothing to its next account.
    await resetCodes.cancel(account.email);
    request.log.info(securityEvent(request, 'auth.email_changed'), 'an e-mail address was changed');
    return { message: 'The e-mail address is changed' };
  };
}
