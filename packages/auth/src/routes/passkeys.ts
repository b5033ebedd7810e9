import { InvalidUsage, NotFound, securityEvent } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { AccountEntity } from '../accounts/account-contract.ts';
import type { OwnerProof } from '../login/owner-proof.ts';
import { ASSERTION, NEW_CREDENTIAL } from '../passkeys/passkey-answers.ts';
import { MAX_PASSKEY_NAME_LENGTH } from '../passkeys/passkey-contract.ts';
import type { Passkeys, ShownPasskey } from '../passkeys/passkeys.ts';
import { bodyReader, PROOF } from './request-body.ts';
import { accountOf, type AuthRoute, NOTHING } from './auth-route.ts';
import { CREATION_OPTIONS, REQUEST_OPTIONS } from './webauthn-options.ts';
import { isUuid } from '../accounts/uuid.ts';

export interface PasskeyParts {
  readonly proveOwner: OwnerProof;
  readonly passkeys: Passkeys;
}

const PASSKEY = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    name: Type.String(),
    created_at: Type.String({ format: 'date-time' }),
    last_used_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  },
  { title: 'Passkey' },
);
export const PASSKEYS = Type.Array(PASSKEY);

const PASSKEY_PROOF = Type.Object({
  password: PROOF.password,
  code: Type.Optional(
    Type.String({ description: 'With the password, if the account has two factors', maxLength: 100 }),
  ),
  passkey: Type.Optional(ASSERTION),
});
const NEW_PASSKEY = Type.Object({
  name: Type.String({ minLength: 1, maxLength: MAX_PASSKEY_NAME_LENGTH }),
  passkey: NEW_CREDENTIAL,
});
const readProof = bodyReader(PASSKEY_PROOF, {});
const readNew = bodyReader(NEW_PASSKEY, {});

const ROUTE = { name: 'passkeys', access: 'token' } as const;

/** The routes with which users manage their passkeys. */
export function passkeyRoutes(parts: PasskeyParts): readonly AuthRoute[] {
  return [
    {
      ...ROUTE,
      method: 'GET',
      path: 'passkeys',
      operationId: 'listPasskeys',
      summary: 'List the passkeys of your account',
      description: 'The newest comes first.',
      status: 200,
      answer: PASSKEYS,
      errors: [401],
      handler: (request) => parts.passkeys.list(request, accountOf(request)),
    },
    ...optionsRoutes(parts),
    {
      ...ROUTE,
      method: 'POST',
      path: 'passkeys',
      operationId: 'addPasskey',
      summary: 'Add a passkey',
      description: 'Takes the result of the browser for the options that were requested just before.',
      body: NEW_PASSKEY,
      status: 201,
      answer: PASSKEY,
      errors: [401, 409],
      handler: addHandler(parts),
    },
    {
      ...ROUTE,
      method: 'DELETE',
      path: 'passkeys/:id',
      operationId: 'deletePasskey',
      summary: 'Delete a passkey',
      description: 'Takes the password, or one of the passkeys. The last way to log in cannot be deleted.',
      params: Type.Object({ id: Type.String() }),
      body: PASSKEY_PROOF,
      status: 204,
      answer: NOTHING,
      errors: [401, 404, 409, 429],
      handler: deleteHandler(parts),
    },
  ];
}

function optionsRoutes(parts: PasskeyParts): readonly AuthRoute[] {
  const { passkeys } = parts;
  const shared = { ...ROUTE, method: 'POST', status: 200, errors: [401, 429] } as const;
  return [
    {
      ...shared,
      path: 'passkeys/proof-options',
      operationId: 'passkeyProofOptions',
      summary: 'Get the options to prove with a passkey that you are the owner of the account',
      description: 'Send the result of the browser as `passkey` instead of a password, within five minutes.',
      answer: REQUEST_OPTIONS,
      handler: (request) => passkeys.requestOptions(request, { to: 'prove', account: accountOf(request) }),
    },
    {
      ...shared,
      path: 'passkeys/options',
      operationId: 'passkeyOptions',
      summary: 'Get the options to add a passkey',
      description:
        'Takes the password, or one of the passkeys that the account has. The answer of the browser goes to `passkeys` within five minutes.',
      body: PASSKEY_PROOF,
      answer: CREATION_OPTIONS,
      handler: async (request) => passkeys.creationOptions(request, await provenAccount(parts, request)),
    },
  ];
}

/** Returns the logged-in user's account after the proof of its owner, which a passkey of the account gives too. */
async function provenAccount({ proveOwner, passkeys }: PasskeyParts, request: FastifyRequest): Promise<AccountEntity> {
  const { passkey, ...sent } = readProof(request.body);
  const { account, isProven } = await proveOwner(request, passkey === undefined ? sent : {});
  if (passkey === undefined) {
    if (!isProven) throw refused('/password', 'is required, or a passkey');
  } else if ((await passkeys.check(request, { to: 'prove', account: account.id }, passkey)) === undefined) {
    throw refused('/passkey', 'is not a passkey of the account that was asked for just before');
  }
  return account;
}

function addHandler({ passkeys }: PasskeyParts) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<ShownPasskey> => {
    const { name, passkey } = readNew(request.body);
    const added = await passkeys.add(request, accountOf(request), name, passkey);
    if (added === undefined) throw refused('/passkey', 'is not a passkey that was asked for just before');
    request.log.info({ ...securityEvent(request, 'auth.passkey_added'), passkey: added.id }, 'a passkey was added');
    reply.code(201);
    return added;
  };
}

function deleteHandler(parts: PasskeyParts) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { id } = request.params as { id: string };
    await provenAccount(parts, request);
    const isDeleted = isUuid(id) && (await parts.passkeys.delete(request, id));
    if (!isDeleted) throw new NotFound('The account has no such passkey');
    request.log.info({ ...securityEvent(request, 'auth.passkey_deleted'), passkey: id }, 'a passkey was deleted');
    reply.code(204);
  };
}

function refused(path: string, message: string): InvalidUsage {
  const details = [{ in: 'body', path, message }] as const;
  return new InvalidUsage('The passkey is not accepted', { details, event: 'auth.passkey_refused' });
}
