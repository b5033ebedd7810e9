import { InvalidUsageCollector, securityEvent } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, type TObject, Type } from 'typebox';
import type { AccountModel } from '../accounts/account-contract.ts';
import { AccountInput, type WrittenFields } from '../accounts/account-input.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { PasswordRules } from '../passwords/password-rules.ts';
import { accountReader, readCode, registerBody } from './request-body.ts';
import { useCode } from './use-code.ts';
import type { VerificationCodes } from '../codes/verification-codes.ts';
import type { AuthRoute } from './auth-route.ts';

export interface RegisterParts {
  readonly accounts: Accounts;
  readonly codes: VerificationCodes;
  readonly passwordRules: PasswordRules;
  /** The application's own fields; undefined if it has none. */
  readonly registrationInput: AccountInput | undefined;
}

export const REGISTERED = Type.Object({
  message: Type.String(),
  user: Type.Object({ id: Type.Integer(), email: Type.String(), name: Type.String() }),
});

export function registerRoute(parts: RegisterParts): AuthRoute {
  return {
    name: 'register',
    method: 'POST',
    path: 'register',
    operationId: 'register',
    summary: 'Make an account, with the code that was sent to its address',
    description: 'Uses up the code. An address that has an account already is refused.',
    body: documentedBody(parts),
    status: 201,
    answer: REGISTERED,
    errors: [429],
    access: 'listed',
    handler: registerHandler(parts),
  };
}

/** Makes the input for the application's own fields, beside those of every registration. */
export function readRegistrationFields(fields: WrittenFields, model: AccountModel, rules: PasswordRules): AccountInput {
  return new AccountInput('registrationFields', fields, model, [], Object.keys(registerBody(rules).properties));
}

function documentedBody({ passwordRules, registrationInput }: RegisterParts): TObject {
  const body = registerBody(passwordRules);
  const extra = registrationInput?.documented('create');
  return extra === undefined ? body : Type.Object({ ...extra.properties, ...body.properties });
}

/**
 * Creates an account for a user with the code that was sent to the address. Without the code, the response reveals
 * nothing about the account.
 */
function registerHandler({ accounts, codes, passwordRules, registrationInput }: RegisterParts) {
  const readAccount = accountReader(passwordRules);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<Static<typeof REGISTERED>> => {
    const [account, extra] = InvalidUsageCollector.both(
      () => readAccount(request.body),
      () => registrationInput?.read(request.body, 'create') ?? {},
    );
    const event = 'auth.registration_failed';
    const code = readCode(request.body, event);
    await passwordRules.refuseCommon(account.password, account, 'password');
    return useCode(request, codes, { key: account.email, code, event }, async () => {
      await accounts.requireUnregistered(request.em, account.email);
      const { id, email, name } = await accounts.create(request, { ...account, extra }, registrationInput);
      request.log.info({ ...securityEvent(request, 'auth.registered'), account: id }, 'an account was registered');
      reply.code(201);
      return { message: 'The account is registered', user: { id, email, name } };
    });
  };
}
