import { securityEvent } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { CodeMails } from '../codes/code-mails.ts';
import { readAddress, SEND_BODY } from './request-body.ts';
import { type AuthRoute, MESSAGE } from './auth-route.ts';

export interface SendParts {
  readonly codeMails: CodeMails;
}

export function sendRoute(parts: SendParts): AuthRoute {
  return {
    name: 'send-verification-email',
    method: 'POST',
    path: 'send-verification-email',
    operationId: 'sendVerificationEmail',
    summary: 'Send a verification code to an e-mail address',
    description: 'The response is the same, whether or not the address has an account.',
    body: SEND_BODY,
    status: 200,
    answer: MESSAGE,
    errors: [429],
    access: 'listed',
    handler: sendHandler(parts),
  };
}

/** Sends a new code to an address. It does not look up the account, so the answer cannot reveal if there is one. */
function sendHandler({ codeMails }: SendParts) {
  return async (request: FastifyRequest): Promise<Static<typeof MESSAGE>> => {
    const { email } = readAddress(request.body);
    await codeMails.send(request, { email });
    request.log.info(securityEvent(request, 'auth.code_sent'), 'a verification code was sent');
    return { message: 'A verification code has been sent' };
  };
}
