import { securityEvent } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { Accounts } from '../accounts/accounts.ts';
import type { CheckPassword } from '../login/check-password.ts';
import type { CodeMails } from '../codes/code-mails.ts';
import type { EmailChangeNotice } from '../codes/email-sender.ts';
import type { Notices } from '../codes/notices.ts';
import { CHANGE_EMAIL_BODY, readEmailChange } from './request-body.ts';
import { type AuthRoute, MESSAGE } from './auth-route.ts';

export interface ChangeEmailParts {
  readonly accounts: Accounts;
  readonly checkPassword: CheckPassword;
  /** Undefined if there is no mailer. */
  readonly notices: Notices | undefined;
  readonly emailChangeMails: CodeMails;
  readonly emailChangeNotice: EmailChangeNotice;
}

export function changeEmailRoute(parts: ChangeEmailParts): AuthRoute {
  return {
    name: 'change-email',
    method: 'POST',
    path: 'change-email',
    operationId: 'changeEmail',
    summary: 'Change the e-mail address of your account',
    description:
      'Sends a code to the new address, and a notice to the old one. The response is the same if the new address has an account.',
    body: CHANGE_EMAIL_BODY,
    status: 200,
    answer: MESSAGE,
    errors: [401, 429],
    access: 'token',
    handler: changeEmailHandler(parts),
  };
}

function changeEmailHandler(parts: ChangeEmailParts) {
  const { accounts, checkPassword, notices, emailChangeMails, emailChangeNotice } = parts;
  return async (request: FastifyRequest): Promise<Static<typeof MESSAGE>> => {
    const { new_email, password } = readEmailChange(request.body);
    const account = await accounts.ofRequest(request);
    await checkPassword(request, account, password, 'password');
    await emailChangeMails.send(request, { email: new_email, key: String(account.id), note: new_email });
    notices?.send(request, account.email, emailChangeNotice);
    request.log.info(securityEvent(request, 'auth.email_change_asked'), 'a new e-mail address was asked for');
    return { message: 'A code has been sent to the new address' };
  };
}
