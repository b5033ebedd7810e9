import { securityEvent } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { Accounts } from '../accounts/accounts.ts';
import type { CodeMails } from '../codes/code-mails.ts';
import type { Mails } from '../codes/mails.ts';
import { readAddress, SEND_BODY } from './request-body.ts';
import { type AuthRoute, MESSAGE } from './auth-route.ts';

export interface ForgotPasswordParts {
  readonly accounts: Accounts;
  readonly mails: Mails;
  readonly resetMails: CodeMails;
}

export function forgotPasswordRoute(parts: ForgotPasswordParts): AuthRoute {
  return {
    name: 'forgot-password',
    method: 'POST',
    path: 'forgot-password',
    operationId: 'forgotPassword',
    summary: 'Send a code for a new password to the address of an account',
    description: 'The response and its time are the same, whether or not the address has an account.',
    body: SEND_BODY,
    status: 200,
    answer: MESSAGE,
    errors: [429],
    access: 'anybody',
    handler: forgotPasswordHandler(parts),
  };
}

/**
 * Does the same for every address until the answer is sent: counts the send, makes a code and looks up the account.
 * Only then sends the mail, if there is an active account. A failing mailer is therefore only logged.
 */
function forgotPasswordHandler({ accounts, mails, resetMails }: ForgotPasswordParts) {
  return async (request: FastifyRequest): Promise<Static<typeof MESSAGE>> => {
    const { email } = readAddress(request.body);
    const deliver = await resetMails.prepare(request, { email });
    const id = await accounts.activeId(request.em, email);
    if (id !== undefined) {
      mails.sometimeAfterwards(request, async () => {
        await deliver();
        const event = { ...securityEvent(request, 'auth.reset_code_sent'), account: id };
        request.log.info(event, 'a code for a new password was sent');
      });
    }
    return { message: 'If the address has an account, a code has been sent to it' };
  };
}
