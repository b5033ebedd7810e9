import { inTransaction, securityEvent } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AccountAccess } from '../accounts/remaining-access.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { DeviceCookies } from '../browsers/device-cookies.ts';
import type { PasswordHasher } from '../passwords/password-hasher.ts';
import type { PasswordChangeNotice } from '../codes/email-sender.ts';
import type { Notices } from '../codes/notices.ts';
import type { PasswordRules } from '../passwords/password-rules.ts';
import { passwordResetReader, readCode, resetPasswordBody, wrongCode } from './request-body.ts';
import { useCode } from './use-code.ts';
import type { VerificationCodes } from '../codes/verification-codes.ts';
import { type AuthRoute, NOTHING } from './auth-route.ts';
import type { SessionParts } from './sessions.ts';

export interface ResetPasswordParts {
  readonly accounts: Accounts;
  readonly hasher: PasswordHasher;
  readonly passwordRules: PasswordRules;
  readonly devices: DeviceCookies;
  readonly access: AccountAccess;
  readonly emailChangeCodes: VerificationCodes;
  readonly resetCodes: VerificationCodes;
  /** Undefined if there is no mailer. */
  readonly notices: Notices | undefined;
  readonly passwordChangeNotice: PasswordChangeNotice;
  readonly sessions?: SessionParts | undefined;
}

export function resetPasswordRoute(parts: ResetPasswordParts): AuthRoute {
  return {
    name: 'reset-password',
    method: 'POST',
    path: 'reset-password',
    operationId: 'resetPassword',
    summary: 'Set a new password, with the code that was sent to the address',
    description: 'Uses up the code, and ends every session of the account. `revoke` names what else should go.',
    body: resetPasswordBody(parts.passwordRules),
    status: 204,
    answer: NOTHING,
    errors: [429],
    access: 'anybody',
    handler: resetPasswordHandler(parts),
  };
}

const EVENT = 'auth.reset_failed';

function resetPasswordHandler(parts: ResetPasswordParts) {
  const { accounts, hasher, passwordRules, devices, access, sessions } = parts;
  const { resetCodes, emailChangeCodes, notices, passwordChangeNotice } = parts;
  const readBody = passwordResetReader(passwordRules);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { email, new_password, revoke = [] } = readBody(request.body);
    const code = readCode(request.body, EVENT);
    const device = devices.knownDevice(request, email);
    await useCode(request, resetCodes, { key: email, code, device, event: EVENT }, async () => {
      const account = await accounts.byEmail(request.em, email);
      // The account may have been deleted or disabled since the code was sent.
      if (account?.is_active !== true) throw wrongCode('is wrong or has expired', EVENT);
      await passwordRules.refuseCommon(new_password, account, 'new_password');
      const hash = await hasher.hash(new_password);
      await inTransaction(request, async () => {
        const { id } = account;
        const isChanged = await accounts.changePassword(request.em, { id, email }, hash);
        if (!isChanged) throw wrongCode('is wrong or has expired', EVENT);
        await sessions?.sessions.endAll(request.em, account.id);
        await access.revoke(request.em, account.id, revoke);
      });
      await emailChangeCodes.cancel(String(account.id));
      const event = { ...securityEvent(request, 'auth.password_reset'), account: account.id };
      request.log.info(event, 'a password was reset');
      notices?.send(request, email, async () => passwordChangeNotice('reset', await access.of(account.id)));
    });
    reply.code(204);
  };
}
