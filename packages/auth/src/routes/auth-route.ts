import { requireUser } from '@viewset/core';
import type { FastifyRequest, RouteHandlerMethod } from 'fastify';
import { type TSchema, Type } from 'typebox';
import type { AuthRouteName } from './route-names.ts';

/** A row of the table of routes. */
export interface AuthRoute {
  readonly name: AuthRouteName;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the prefix, without a slash in front: `sessions/:id`. With a slash, from the root of the scope. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly params?: TSchema;
  readonly querystring?: TSchema;
  /** Undefined: the route has no body. */
  readonly body?: TSchema;
  /** True: a request may leave the body out. */
  readonly hasOptionalBody?: true;
  readonly status: 200 | 201 | 204 | 302;
  readonly answer: TSchema;
  /** Further responses without an error, by status. */
  readonly others?: Readonly<Record<number, TSchema>>;
  /** The cookies that the response sets, for documents. Default: none. */
  readonly cookies?: string | undefined;
  /** The route's error statuses, in addition to the usual ones for its kind. */
  readonly errors: readonly number[];
  /**
   * Who may call it: users with a token, anybody, anybody while `nonAuthEndpoints` lists it, or users whom either an
   * access token or the handler identifies.
   */
  readonly access: 'token' | 'anybody' | 'listed' | 'either';
  /** True if an API key may call it too. Default: a key reaches no route that needs a token. */
  readonly takesApiKeys?: true;
  /** True: the log of requests has no query string of the route. */
  readonly hidesQuery?: true;
  /** True: the body is a form, which the handler gets as `URLSearchParams`. JSON gives 415. */
  readonly readsForm?: true;
  readonly handler: RouteHandlerMethod;
}

/** The cookies in login responses. */
export const LOGIN_COOKIES =
  'A cookie that identifies the browser. With sessions, also one with the refresh token, unless the body asks for the token.';
/** The cookie in responses that end the browser's session. */
export const ENDED_SESSION_COOKIE = 'Clears the cookie with the refresh token.';

export const MESSAGE = Type.Object({ message: Type.String() });
/** The body of a 204. */
export const NOTHING = Type.Null();

/** Returns the logged-in user's account. Throws Unauthorized if `nonAuthEndpoints` admitted an anonymous request. */
export function accountOf(request: FastifyRequest): number {
  // The application declares the type of its users; sessions belong to accounts, whose ids are numbers.
  const { id }: { readonly id: unknown } = requireUser(request);
  return id as number;
}
