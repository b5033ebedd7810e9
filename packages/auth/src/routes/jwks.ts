import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { PublicJwk } from '../tokens/signing-keys.ts';
import type { AuthRoute } from './auth-route.ts';

/** How long other programs may keep the keys, in seconds. */
const MAX_AGE_SECONDS = 300;

const JWKS = Type.Object({
  keys: Type.Array(
    Type.Object(
      { kid: Type.String(), kty: Type.String(), alg: Type.String(), use: Type.String() },
      { additionalProperties: true, description: 'A public key as in RFC 7517' },
    ),
  ),
});

/** The route of the public keys, at the path that other programs look at. */
export function jwksRoute(keys: readonly PublicJwk[]): AuthRoute {
  return {
    name: 'jwks',
    method: 'GET',
    path: '/.well-known/jwks.json',
    operationId: 'jwks',
    summary: 'Get the public keys of access tokens',
    description: 'A JSON Web Key Set (RFC 7517). The header `kid` of a token names its key.',
    status: 200,
    answer: JWKS,
    errors: [],
    access: 'anybody',
    handler(_request: FastifyRequest, reply: FastifyReply) {
      return reply.header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`).send({ keys });
    },
  };
}
