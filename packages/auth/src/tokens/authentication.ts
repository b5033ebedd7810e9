import { type CurrentUser, partOf, toHttpError, Unauthorized } from '@viewset/core';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { type AuthorizationHeader, invalidToken } from './access-tokens.ts';
import type { NonAuthEndpoints } from './non-auth-endpoints.ts';

/** The claims about the sender of a request: those of a verified token, or the result of your own `authenticate`. */
export type AuthPayload = Readonly<Record<string, unknown>> & { readonly user_id?: unknown };

/** Returns the payload of a request. Throws Unauthorized if there is none, or it is invalid. */
export type Authenticate = (request: FastifyRequest) => AuthPayload | Promise<AuthPayload>;
/** Returns the user of a payload; null if the payload is empty, has no `user_id`, or its user may not log in. */
export type RetrieveUser = (
  request: FastifyRequest,
  payload: AuthPayload | null | undefined,
) => CurrentUser | null | Promise<CurrentUser | null>;
/** Loads the user with an id and stores it as `request.user`, if it exists. */
export type StoreUser = (request: FastifyRequest, userId: CurrentUser['id']) => void | Promise<void>;

export interface AuthenticationSteps {
  readonly authenticate: Authenticate;
  readonly retrieveUser: RetrieveUser;
  /** Undefined: the result of `retrieveUser` is stored without loading it again. */
  readonly storeUser: StoreUser | undefined;
  readonly header: AuthorizationHeader;
  /** True if a request without an Authorization header cannot be anybody's. */
  readonly needsHeader: boolean;
  /**
   * True if all steps are the plugin's own, which use only the token. An application's steps may also use the route.
   */
  readonly areBuiltIn: boolean;
}

/** Identifies the sender of a request in an onRequest hook, before anything else is done for the request. */
export class Authentication {
  readonly #steps: AuthenticationSteps;
  readonly #endpoints: NonAuthEndpoints;
  /** The users of requests with parts, once a part has asked. All parts have the same token. */
  readonly #ofWholes = new WeakMap<FastifyRequest, CurrentUser>();

  constructor(steps: AuthenticationSteps, endpoints: NonAuthEndpoints) {
    this.#steps = steps;
    this.#endpoints = endpoints;
  }

  readonly onRequest = (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    this.#onRequest(request, done);
  };

  #onRequest(request: FastifyRequest, done: HookHandlerDoneFunction): void {
    if (request.is404) return done();
    const { config } = request.routeOptions;
    // A view's route that is open itself may still ask for the user; other public routes do so only with `identifies`.
    const isOpen = config.viewset?.allowsAnonymous === true || config.identifies === true;
    if (config.public === true && !isOpen) return done();
    const isPublic = isOpen || this.#endpoints.includes(request.method, request.url);
    if (isPublic && this.#steps.needsHeader && request.headers.authorization === undefined) return done();
    void this.#answer(request, isPublic, done);
  }

  /**
   * Identifies the sender of a long-lasting request again. Throws Unauthorized if the token has expired or its session
   * is over.
   */
  readonly identifyAgain = (request: FastifyRequest): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    request.user = null;
    this.#onRequest(request, (refusal) => (refusal === undefined ? resolve() : reject(refusal)));
    return promise;
  };

  async #answer(request: FastifyRequest, isPublic: boolean, done: HookHandlerDoneFunction): Promise<void> {
    let refusal: Error | undefined;
    try {
      await this.#identify(request);
    } catch (error) {
      refusal = isPublic && error instanceof Unauthorized ? this.#ignore(request, error) : asError(error);
    }
    done(refusal);
  }

  /** Sets `request.user`. A step's result that is not a payload or a user means that nobody is logged in. */
  async #identify(request: FastifyRequest): Promise<void> {
    const outer = this.#steps.areBuiltIn ? partOf(request)?.outer : undefined;
    const known = outer && this.#ofWholes.get(outer);
    if (known !== undefined) request.user = known;
    else await this.#find(request);
    if (outer !== undefined && request.user !== null) this.#ofWholes.set(outer, request.user);
  }

  async #find(request: FastifyRequest): Promise<void> {
    const { authenticate, retrieveUser, storeUser } = this.#steps;
    const payload = await authenticate(request);
    if (!isRecord(payload)) throw this.#nobody(request);
    const user = await retrieveUser(request, payload);
    if (!isUser(user)) throw this.#nobody(request);
    if (storeUser === undefined) request.user = user;
    else await storeUser(request, user.id);
    if (isUser(request.user)) return;
    request.user = null;
    throw this.#nobody(request);
  }

  /** Returns the 401 for a payload without an acceptable user, such as a deleted or disabled account. */
  #nobody(request: FastifyRequest): Unauthorized {
    const sent = this.#steps.header.token(request.headers.authorization) !== undefined;
    return sent ? invalidToken('The token is no longer valid') : new Unauthorized();
  }

  #ignore(request: FastifyRequest, { headers }: Unauthorized): undefined {
    request.user = null;
    // If the response becomes a 401 later, it contains the reason.
    request.challenge = headers['www-authenticate'] ?? null;
  }
}

/** Makes an error of anything that was thrown: `done(undefined)`, as `done(null)`, would let the request in. */
function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : toHttpError(thrown);
}

/** True for an object that is not an array: a failed look-up may return `[]` instead of null. */
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** True for an object with an id, which throttles need to distinguish users. */
function isUser(value: unknown): value is CurrentUser {
  return isRecord(value) && value['id'] !== undefined && value['id'] !== null;
}
