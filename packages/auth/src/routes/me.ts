import { securityEvent } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AccountDeletion } from '../accounts/account-deletion.ts';
import type { AccountInput } from '../accounts/account-input.ts';
import type { Accounts, ShownFields } from '../accounts/accounts.ts';
import type { CheckPassword } from '../login/check-password.ts';
import { DELETE_BODY, readPassword } from './request-body.ts';
import { keepOwners } from '../organizations/kept-owners.ts';
import type { VerificationCodes } from '../codes/verification-codes.ts';
import { type AuthRoute, ENDED_SESSION_COOKIE, NOTHING } from './auth-route.ts';
import type { SessionParts } from './sessions.ts';

export interface MeParts {
  readonly accounts: Accounts;
  readonly checkPassword: CheckPassword;
  readonly resetCodes: VerificationCodes;
  readonly emailChangeCodes: VerificationCodes;
  readonly sessions?: SessionParts | undefined;
  readonly me: {
    readonly read: ShownFields;
    /** Undefined: users cannot change their accounts. */
    readonly input: AccountInput | undefined;
    /** Undefined: users cannot delete their accounts. */
    readonly deletion: AccountDeletion | undefined;
  };
}

const ROUTE = { name: 'me', path: 'me', access: 'token' } as const;

/** The routes for the user's own account that the option `me` enables. */
export function meRoutes(parts: MeParts): readonly AuthRoute[] {
  const { read, input, deletion } = parts.me;
  const routes: AuthRoute[] = [
    {
      ...ROUTE,
      method: 'GET',
      operationId: 'me',
      summary: 'Get your account',
      description: 'The account of the token.',
      status: 200,
      answer: read.schema,
      errors: [401],
      takesApiKeys: true,
      handler: (request) => parts.accounts.shown(request),
    },
  ];
  if (input !== undefined) routes.push(changeRoute(parts, input));
  if (deletion !== undefined) routes.push(deleteRoute(parts, deletion));
  return routes;
}

function changeRoute({ accounts, me }: MeParts, input: AccountInput): AuthRoute {
  return {
    ...ROUTE,
    method: 'PATCH',
    operationId: 'changeMe',
    summary: 'Change your account',
    description: 'Fields that are not sent stay as they are.',
    body: input.documented('change'),
    status: 200,
    answer: me.read.schema,
    errors: [401, 409],
    async handler(request: FastifyRequest) {
      const data = input.read(request.body, 'change');
      await accounts.change(request, input, data);
      request.log.info(securityEvent(request, 'auth.account_changed'), 'an account was changed by its owner');
      return accounts.shown(request);
    },
  };
}

function deleteRoute(parts: MeParts, deletion: AccountDeletion): AuthRoute {
  const { accounts, checkPassword, sessions, resetCodes, emailChangeCodes } = parts;
  return {
    ...ROUTE,
    method: 'DELETE',
    operationId: 'deleteMe',
    summary: 'Delete your account',
    description:
      'Takes the password. A wrong one counts as a wrong password of the account. 409 for the last owner of an organization.',
    body: DELETE_BODY,
    status: 204,
    answer: NOTHING,
    cookies: sessions && ENDED_SESSION_COOKIE,
    errors: [401, 409, 429],
    async handler(request: FastifyRequest, reply: FastifyReply) {
      const { password } = readPassword(request.body);
      const account = await accounts.ofRequest(request);
      await checkPassword(request, account, password, 'password');
      await accounts.delete(request, account, async (remove) => {
        await sessions?.sessions.endAll(request.em, account.id);
        await keepOwners(request, account.id, () => deletion(request, remove));
      });
      sessions?.cookie.clear(request, reply);
      await Promise.all([resetCodes.cancel(account.email), emailChangeCodes.cancel(String(account.id))]);
      const event = { ...securityEvent(request, 'auth.account_deleted'), target: account.id };
      request.log.info(event, 'an account was deleted by its owner');
      reply.code(204);
    },
  };
}
