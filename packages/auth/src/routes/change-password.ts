import { InvalidUsage, inTransaction, securityEvent } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AccountAccess } from '../accounts/remaining-access.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { CheckPassword } from '../login/check-password.ts';
import type { PasswordHasher } from '../passwords/password-hasher.ts';
import type { PasswordChangeNotice } from '../codes/email-sender.ts';
import type { Notices } from '../codes/notices.ts';
import type { PasswordRules } from '../passwords/password-rules.ts';
import { changePasswordBody, passwordChangeReader } from './request-body.ts';
import type { VerificationCodes } from '../codes/verification-codes.ts';
import { type AuthRoute, NOTHING } from './auth-route.ts';
import type { SessionParts } from './sessions.ts';

export interface ChangePasswordParts {
  readonly accounts: Accounts;
  readonly hasher: PasswordHasher;
  readonly checkPassword: CheckPassword;
  readonly passwordRules: PasswordRules;
  readonly access: AccountAccess;
  readonly resetCodes: VerificationCodes;
  readonly emailChangeCodes: VerificationCodes;
  /** Undefined if there is no mailer. */
  readonly notices: Notices | undefined;
  readonly passwordChangeNotice: PasswordChangeNotice;
  readonly sessions?: SessionParts | undefined;
}

export function changePasswordRoute(parts: ChangePasswordParts): AuthRoute {
  return {
    name: 'change-password',
    method: 'POST',
    path: 'change-password',
    operationId: 'changePassword',
    summary: 'Change the password of your account',
    description:
      'Ends all other sessions. A wrong current password counts as a wrong password of the account. `revoke` names what else should go.',
    body: changePasswordBody(parts.passwordRules),
    status: 204,
    answer: NOTHING,
    errors: [401, 429],
    access: 'token',
    handler: changePasswordHandler(parts),
  };
}

/** The error if the password was changed meanwhile. */
function changedMeanwhile(): InvalidUsage {
  const details = [{ in: 'body', path: '/current_password', message: 'is not the password any more' }] as const;
  return new InvalidUsage('The password has been changed meanwhile', { details });
}

function changePasswordHandler(parts: ChangePasswordParts) {
  const { accounts, hasher, checkPassword, passwordRules, access, sessions } = parts;
  const { resetCodes, emailChangeCodes, notices, passwordChangeNotice } = parts;
  const readBody = passwordChangeReader(passwordRules);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { current_password, new_password, revoke = [] } = readBody(request.body);
    const account = await accounts.ofRequest(request);
    await checkPassword(request, account, current_password, 'current_password');
    await passwordRules.refuseCommon(new_password, account, 'new_password');
    // Before the transaction, so that no connection waits for the hash.
    const hash = await hasher.hash(new_password);
    await inTransaction(request, async () => {
      const { id, email, password } = account;
      if (!(await accounts.changePassword(request.em, { id, email, password }, hash))) throw changedMeanwhile();
      await sessions?.sessions.endAll(request.em, account.id, { except: sessions.currentSession(request) });
      await access.revoke(request.em, account.id, revoke);
    });
    await Promise.all([resetCodes.cancel(account.email), emailChangeCodes.cancel(String(account.id))]);
    request.log.info(securityEvent(request, 'auth.password_changed'), 'a password was changed');
    notices?.send(request, account.email, async () => passwordChangeNotice('changed', await access.of(account.id)));
    reply.code(204);
  };
}
