import { type CurrentUser, getCurrentUser, Unauthorized } from '@viewset/core';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { bearerToken, invalidToken } from './bearer-token.ts';
import type { NonAuthEndpoints } from './non-auth-endpoints.ts';

/** What a request says of its sender: the claims of a verified token, or what an `authenticate` of your own answers. */
export type AuthPayload = Readonly<Record<string, unknown>> & { readonly user_id?: unknown };

/** The payload of a request. Throws Unauthorized where it has none, or none that is good. */
export type Authenticate = (request: FastifyRequest) => AuthPayload | Promise<AuthPayload>;
/** The user of a payload; null where the payload is empty, has no `user_id`, or names nobody who may come in. */
export type RetrieveUser = (
  request: FastifyRequest,
  payload: AuthPayload | null | undefined,
) => CurrentUser | null | Promise<CurrentUser | null>;
/** Loads the user of an id and stores it as `request.user`, where there is one. */
export type StoreUser = (request: FastifyRequest, userId: CurrentUser['id']) => void | Promise<void>;

export interface AuthenticationSteps {
  readonly authenticate: Authenticate;
  readonly retrieveUser: RetrieveUser;
  /** Undefined: what `retrieveUser` answers is stored, without being loaded again. */
  readonly storeUser: StoreUser | undefined;
  /** True where a request without an Authorization header cannot be anybody's. */
  readonly needsHeader: boolean;
}

/** The hook that finds out who sent a request, before anything else is made of it. */
export class Authentication {
  readonly #steps: AuthenticationSteps;
  readonly #endpoints: NonAuthEndpoints;

  constructor(steps: AuthenticationSteps, endpoints: NonAuthEndpoints) {
    this.#steps = steps;
    this.#endpoints = endpoints;
  }

  readonly onRequest = (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    if (request.is404) return done();
    const isPublic = this.#endpoints.includes(request.method, request.url);
    if (isPublic && this.#steps.needsHeader && request.headers.authorization === undefined) return done();
    if (request.routeOptions.config.public === true) return done();
    void this.#answer(request, isPublic, done);
  };

  async #answer(request: FastifyRequest, isPublic: boolean, done: HookHandlerDoneFunction): Promise<void> {
    let refusal: Error | undefined;
    try {
      await this.#identify(request);
    } catch (error) {
      refusal = isPublic && error instanceof Unauthorized ? this.#ignore(request, error) : (error as Error);
    }
    done(refusal);
  }

  async #identify(request: FastifyRequest): Promise<void> {
    const { authenticate, retrieveUser, storeUser } = this.#steps;
    const user = await retrieveUser(request, await authenticate(request));
    // Undefined is none of its type, but what a look-up that found nothing often gives.
    if (user === null || user === undefined) throw nobody(request);
    if (storeUser === undefined) request.user = user;
    else await storeUser(request, user.id);
    if (getCurrentUser(request) === null) throw nobody(request);
  }

  #ignore(request: FastifyRequest, { headers }: Unauthorized): undefined {
    request.user = null;
    // Should the answer be a 401 after all, it says why.
    request.challenge = headers['www-authenticate'] ?? null;
  }
}

/** The token is one of ours, but whose it was is gone or disabled. */
function nobody(request: FastifyRequest): Unauthorized {
  const sent = bearerToken(request.headers.authorization) !== undefined;
  return sent ? invalidToken('The token is no longer valid') : new Unauthorized();
}
