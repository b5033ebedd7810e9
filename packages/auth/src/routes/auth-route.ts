import { requireUser } from '@viewset/core';
import type { FastifyRequest, RouteHandlerMethod } from 'fastify';
import { type TSchema, Type } from 'typebox';
import type { AuthRouteName } from './route-names.ts';

/** A row of the table of routes. */
export interface AuthRoute {
  readonly name: AuthRouteName;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the prefix, without a slash in front: `sessions/:id`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly params?: TSchema;
  readonly querystring?: TSchema;
  /** Undefined: the route takes none. */
  readonly body?: TSchema;
  readonly status: 200 | 201 | 204 | 302;
  readonly answer: TSchema;
  /** The cookies that the answer sets, for documents. Default: none. */
  readonly cookies?: string | undefined;
  /** The errors that the route answers, besides those that every route of its kind does. */
  readonly errors: readonly number[];
  /** Who may call it: whoever has a token, anybody, or anybody as long as `nonAuthEndpoints` lists it. */
  readonly access: 'token' | 'anybody' | 'listed';
  /** True if an API key may call it too. Default: a key reaches no route that needs a token. */
  readonly takesApiKeys?: true;
  readonly handler: RouteHandlerMethod;
}

/** What the answers of logins set. */
export const LOGIN_COOKIES =
  'A cookie that identifies the browser. With sessions, also one with the refresh token, unless the body asks for the token.';
/** What an answer sets that ends the session of the browser. */
export const ENDED_SESSION_COOKIE = 'Clears the cookie with the refresh token.';

export const MESSAGE = Type.Object({ message: Type.String() });
/** What a 204 answers. */
export const NOTHING = Type.Null();

/** The account of a request that is logged in. Throws Unauthorized if `nonAuthEndpoints` has let in somebody who is not. */
export function accountOf(request: FastifyRequest): number {
  // The application declares what its users are; sessions are of accounts, whose ids are numbers.
  const { id }: { readonly id: unknown } = requireUser(request);
  return id as number;
}
