import type { FastifyRequest } from 'fastify';

/**
 * What an application tells the types about itself, by module augmentation.
 *
 * @example
 * declare module '@viewset/core' {
 *   interface ViewsetTypes { user: Account }
 * }
 */
export interface ViewsetTypes {}

/** The least that the built-in permissions and throttles need of a user. */
export interface AnyUser {
  readonly id: number | string | bigint;
  readonly role?: { readonly name: string } | null | undefined;
}

/** The application's user: `ViewsetTypes['user']` where it is declared. */
export type CurrentUser = ViewsetTypes extends { user: infer User } ? User : AnyUser;

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is logged in; null when nobody is. Set by the authentication plugin before any permission is asked. */
    user: CurrentUser | null;
    /**
     * What a 401 of this request tells in `WWW-Authenticate`, where it is more than `Bearer`; null where it is not. Set
     * by the authentication plugin when it let a bad token count as none.
     */
    challenge: string | null;
  }
}

/** Where the user of a request comes from that the application keeps elsewhere: option `user` of the plugin. */
export const USER_SOURCE: unique symbol = Symbol('viewset.user');

/**
 * Who is logged in, or null when nobody is: `request.user`, unless option `user` of the plugin says otherwise.
 *
 * @example
 * const user = getCurrentUser(request);
 * if (user === null) throw new Unauthorized();
 */
export function getCurrentUser(request: FastifyRequest): CurrentUser | null {
  const { [USER_SOURCE]: known } = request as { [USER_SOURCE]?: CurrentUser | null };
  const user: unknown = known === undefined ? request.user : known;
  return typeof user === 'object' ? (user as CurrentUser | null) : null;
}
