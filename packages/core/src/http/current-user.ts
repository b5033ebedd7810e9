import type { FastifyRequest } from 'fastify';
import { Forbidden, Unauthorized } from '../errors/errors.ts';

/**
 * The types that an application declares by module augmentation.
 *
 * @example
 * declare module '@viewset/core' {
 *   interface ViewsetTypes { user: Account }
 * }
 */
export interface ViewsetTypes {}

/** The properties of a user that the built-in permissions and throttles need. */
export interface AnyUser {
  readonly id: number | string | bigint;
  readonly role?: { readonly name: string } | null | undefined;
}

/** The application's user: `ViewsetTypes['user']` if it is declared. If only another name is declared there, no user fits the type. */
export type CurrentUser = ViewsetTypes extends { user: infer User } ? User : OnlyUser<keyof ViewsetTypes>;

type OnlyUser<Declared> = [Declared] extends [never]
  ? AnyUser
  : `ViewsetTypes has no "${Declared & string}", but "user"`;

declare module 'fastify' {
  interface FastifyRequest {
    /** The logged-in user, or null. The authentication plugin sets it before permissions are checked. */
    user: CurrentUser | null;
    /**
     * The `WWW-Authenticate` challenge of a 401 of this request, if it is more than `Bearer`; else null. The
     * authentication plugin sets it when it treats a bad token as no token.
     */
    challenge: string | null;
  }
}

/**
 * A request of a logged-in user. A permission whose `hasPermission` returns `request is AuthenticatedRequest` promises that it refuses
 * anonymous requests. Actions with this permission then get a request of this type.
 */
export type AuthenticatedRequest = FastifyRequest & { user: NonNullable<FastifyRequest['user']> };

/** The user of a request, if the application keeps it elsewhere; see the plugin's option `user`. */
export const USER_SOURCE: unique symbol = Symbol('viewset.user');

/**
 * Returns the logged-in user, or null if there is none. That is `request.user`, unless the plugin's option `user` says otherwise.
 *
 * @example
 * const user = getCurrentUser(request);
 * if (user === null) throw new Unauthorized();
 */
export function getCurrentUser(request: FastifyRequest): CurrentUser | null {
  const { [USER_SOURCE]: known } = request as { [USER_SOURCE]?: CurrentUser | null };
  return asUser(known === undefined ? request.user : known);
}

/**
 * Returns the logged-in user; behind IsAuthenticated there always is one. Throws Unauthorized if there is none.
 *
 * @example
 * override performCreate(request: FastifyRequest, data: WriteData<Order, InputOf<typeof write>>) {
 *   return super.performCreate(request, { ...data, owner: requireUser(request).id });
 * }
 */
export function requireUser(request: FastifyRequest): CurrentUser {
  const user = getCurrentUser(request);
  if (user === null) throw new Unauthorized();
  return user;
}

/** The functions that return the user of a request, for one type of user. */
export interface UserFunctions<User extends AnyUser> {
  /** Returns the logged-in user, or null if there is none. */
  readonly getCurrentUser: (request: FastifyRequest) => User | null;
  /** Returns the logged-in user. Throws Unauthorized if there is none. */
  readonly requireUser: (request: FastifyRequest) => User;
}

/**
 * Returns `getCurrentUser` and `requireUser` for one type of user, without augmentation. Use it if two APIs in one program have different
 * users. Call it once in each API and import the functions from there. The type is not checked at run time.
 *
 * @example
 * const members = withUser<{ id: number; card: string }>();
 * const cardOf = (request: FastifyRequest) => members.requireUser(request).card;
 */
export function withUser<User extends AnyUser>(): UserFunctions<User> {
  return { getCurrentUser, requireUser } as unknown as UserFunctions<User>;
}

/**
 * Returns a user, or null for any other value. A list also counts as no user, because a look-up without a match may
 * return an empty list.
 */
export function asUser(user: unknown): CurrentUser | null {
  return typeof user === 'object' && !Array.isArray(user) ? (user as CurrentUser | null) : null;
}

/** Makes a 401 if nobody is logged in, else a 403. */
export function permissionDenied(request: FastifyRequest): Unauthorized | Forbidden {
  return getCurrentUser(request) === null
    ? new Unauthorized(undefined, { event: 'permission.refused' })
    : new Forbidden();
}
