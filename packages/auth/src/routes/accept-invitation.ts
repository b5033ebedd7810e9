import { InvalidUsage, securityEvent } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { MAX_TOKEN_LENGTH } from '../codes/mail-tokens.ts';
import type { Invitations } from '../invitations/invitations.ts';
import { normalizePassword, type PasswordHasher } from '../passwords/password-hasher.ts';
import type { PasswordRules } from '../passwords/password-rules.ts';
import type { AuthRoute } from './auth-route.ts';
import { REGISTERED } from './register.ts';
import { bodyReader } from './request-body.ts';

export interface AcceptInvitationParts {
  readonly invitations: Invitations;
  readonly hasher: PasswordHasher;
  readonly passwordRules: PasswordRules;
}

const token = Type.String({ minLength: 1, maxLength: MAX_TOKEN_LENGTH });

/** The body as documented. */
export const acceptBody = ({ documented }: PasswordRules) => Type.Object({ token, password: documented });

export function acceptInvitationRoute(parts: AcceptInvitationParts): AuthRoute {
  return {
    name: 'accept-invitation',
    method: 'POST',
    path: 'accept-invitation',
    operationId: 'acceptInvitation',
    summary: 'Choose the password of an account that was made for you',
    description: 'Uses up the link. The account can log in from then on.',
    body: acceptBody(parts.passwordRules),
    status: 200,
    answer: REGISTERED,
    errors: [],
    access: 'anybody',
    handler: acceptHandler(parts),
  };
}

function acceptHandler({ invitations, hasher, passwordRules }: AcceptInvitationParts) {
  const readBody = bodyReader(Type.Object({ token, password: passwordRules.field }), { password: normalizePassword });
  return async (request: FastifyRequest): Promise<Static<typeof REGISTERED>> => {
    const body = readBody(request.body);
    const account = await invitations.find(request, body.token);
    if (account === undefined) throw refused();
    await passwordRules.refuseCommon(body.password, account, 'password');
    const hash = await hasher.hash(body.password);
    if (!(await invitations.accept(request, account, hash))) throw refused();
    const { id, email, name } = account;
    const event = { ...securityEvent(request, 'auth.invitation_accepted'), account: id };
    request.log.info(event, 'an invitation was accepted');
    return { message: 'The account is ready', user: { id, email, name } };
  };
}

function refused(): InvalidUsage {
  const message = 'is wrong, has expired, or was used or replaced';
  const details = [{ in: 'body', path: '/token', message }] as const;
  return new InvalidUsage(`The link ${message}; ask for a new invitation`, {
    details,
    event: 'auth.invitation_refused',
  });
}
