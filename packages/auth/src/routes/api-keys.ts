import { InvalidUsage, NotFound, securityEvent } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { MAX_API_KEY_NAME_LENGTH } from '../api-keys/api-key-contract.ts';
import type { ApiKeys } from '../api-keys/api-keys.ts';
import type { RecentProof } from '../login/recent-proof.ts';
import { bodyReader, PROOF } from './request-body.ts';
import { accountOf, type AuthRoute, NOTHING } from './auth-route.ts';

export interface ApiKeyParts {
  readonly apiKeys: ApiKeys;
  readonly proveRecently: RecentProof;
  /** The names that a scope may have; undefined: any. */
  readonly permissions: readonly string[] | undefined;
}

const MAX_SCOPES = 100;
const Scope = Type.String({ minLength: 1, maxLength: 100 });
const OrNull = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()]);

export const API_KEY_BODY = Type.Object({
  name: Type.String({ minLength: 1, maxLength: MAX_API_KEY_NAME_LENGTH }),
  scopes: Type.Optional(OrNull(Type.Array(Scope, { maxItems: MAX_SCOPES, description: 'Names of permissions' }))),
  expires_at: Type.Optional(OrNull(Type.String({ format: 'date-time' }))),
  ...PROOF,
});

export const API_KEY = Type.Object({
  id: Type.String(),
  prefix: Type.String({ description: 'The visible beginning of the key' }),
  name: Type.String(),
  scopes: OrNull(Type.Array(Type.String())),
  expires_at: OrNull(Type.String({ format: 'date-time' })),
  last_used_at: OrNull(Type.String({ format: 'date-time' })),
  created_at: Type.String({ format: 'date-time' }),
});
export const API_KEYS = Type.Array(API_KEY);
export const NEW_API_KEY = Type.Object({ ...API_KEY.properties, key: Type.String() });

const readBody = bodyReader(API_KEY_BODY, {});

export function apiKeyRoutes({ apiKeys, permissions, proveRecently }: ApiKeyParts): readonly AuthRoute[] {
  const shared = { name: 'api-keys', errors: [401, 403], access: 'token' } as const;
  return [
    {
      ...shared,
      method: 'GET',
      path: 'api-keys',
      operationId: 'listApiKeys',
      summary: 'List the API keys of one’s own account, the newest first',
      description: 'Shows the beginning of each key. The key itself is shown once, when it is made.',
      status: 200,
      answer: API_KEYS,
      handler: (request: FastifyRequest) => apiKeys.list(request, accountOf(request)),
    },
    {
      ...shared,
      method: 'POST',
      path: 'api-keys',
      operationId: 'createApiKey',
      summary: 'Make an API key',
      description:
        'A key can do at most what its account can. With scopes it has these permissions of its account and no role. It is sent as a bearer token. ' +
        'Takes the password, with a code if the account has two factors, unless the login is at most ten minutes old.',
      body: API_KEY_BODY,
      status: 201,
      answer: NEW_API_KEY,
      errors: [...shared.errors, 409, 429],
      async handler(request: FastifyRequest, reply: FastifyReply) {
        const body = readBody(request.body);
        const fields = newKey(body, permissions);
        await proveRecently(request, body);
        const made = await apiKeys.create(request, fields);
        const event = { ...securityEvent(request, 'auth.api_key_created'), api_key: made.id };
        request.log.info(event, 'an API key was made');
        reply.code(201);
        return made;
      },
    },
    {
      ...shared,
      method: 'DELETE',
      path: 'api-keys/:id',
      operationId: 'destroyApiKey',
      summary: 'Revoke an API key',
      description: 'Requests with the key are refused from then on.',
      params: Type.Object({ id: Type.String() }),
      status: 204,
      answer: NOTHING,
      errors: [...shared.errors, 404],
      async handler(request: FastifyRequest, reply: FastifyReply) {
        const { id } = request.params as { id: string };
        if (!(await apiKeys.remove(request, accountOf(request), id))) throw new NotFound();
        const event = { ...securityEvent(request, 'auth.api_key_deleted'), api_key: id };
        request.log.info(event, 'an API key was revoked');
        return reply.code(204).send();
      },
    },
  ];
}

function newKey(
  { name, scopes = null, expires_at = null }: Static<typeof API_KEY_BODY>,
  permissions?: readonly string[],
) {
  const expiresAt = expires_at === null ? null : new Date(expires_at);
  const unknown = permissions === undefined ? [] : [...(scopes?.entries() ?? [])];
  const details = [
    ...unknown
      .filter(([, scope]) => !permissions?.includes(scope))
      .map(
        ([index]) => ({ in: 'body', path: `/scopes/${index}`, message: 'must be the name of a permission' }) as const,
      ),
    ...(expiresAt !== null && expiresAt.getTime() <= Date.now()
      ? [{ in: 'body', path: '/expires_at', message: 'must be in the future' } as const]
      : []),
  ];
  if (details.length > 0) throw new InvalidUsage('The API key cannot be made', { details });
  return { name, scopes: scopes === null ? null : [...new Set(scopes)], expiresAt };
}
