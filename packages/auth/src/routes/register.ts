import { securityEvent } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Accounts } from '../accounts.ts';
import { readAccount, readCode, REGISTER_BODY, wrongCode } from '../request-body.ts';
import type { TakenCode, VerificationCodes } from '../verification-codes.ts';
import type { AuthRoute } from './auth-route.ts';

export interface RegisterParts {
  readonly accounts: Accounts;
  readonly codes: VerificationCodes;
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
    body: REGISTER_BODY,
    status: 201,
    answer: REGISTERED,
    errors: [],
    access: 'listed',
    handler: registerHandler(parts),
  };
}

/**
 * Makes an account for whoever has the code that was sent to its address. The code is taken before anything is looked
 * up or hashed: of many requests with one code a single one goes on, and without the code nothing is learned of the
 * account. If that one then fails, the code is put back as it was.
 */
function registerHandler({ accounts, codes }: RegisterParts) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<Static<typeof REGISTERED>> => {
    const account = readAccount(request.body);
    const code = readCode(request.body);
    const taken = await codes.take(account.email, code);
    if (taken === undefined) throw wrongCode('is wrong or has expired');
    try {
      await accounts.requireUnregistered(request.em, account.email);
      const { id, email, name } = await accounts.create(request, account);
      request.log.info({ ...securityEvent(request, 'auth.registered'), account: id }, 'an account was registered');
      reply.code(201);
      return { message: 'The account is registered', user: { id, email, name } };
    } catch (error) {
      await restore(codes, { email: account.email, code, taken }, request);
      throw error;
    }
  };
}

/** The registration's own failure is what the client hears of; that the code is lost too, the log. */
async function restore(
  codes: VerificationCodes,
  { email, code, taken }: { email: string; code: string; taken: TakenCode },
  request: FastifyRequest,
): Promise<void> {
  try {
    await codes.restore(email, code, taken);
  } catch (error) {
    request.log.warn({ err: error }, 'a verification code could not be put back after a failed registration');
  }
}
