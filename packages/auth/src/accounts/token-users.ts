import type { FastifyRequest } from 'fastify';
import { sessionOf } from '../tokens/access-tokens.ts';
import type { AccountUser } from './accounts.ts';
import type { AuthPayload, RetrieveUser } from '../tokens/authentication.ts';
import type { UserSource } from './cached-users.ts';
import { isUuid } from './uuid.ts';

type Payload = AuthPayload | null | undefined;

/**
 * Finds the users of token payloads. A token with a session is only valid while the session lives, so one query reads
 * the session with its account.
 */
export class TokenUsers {
  readonly #accounts: UserSource;
  readonly #sessions: UserSource | undefined;
  readonly #current = new WeakMap<FastifyRequest, string>();
  readonly #issued = new WeakMap<FastifyRequest, Date>();

  /** @param sessions finds users by their session; undefined if sessions are off */
  constructor(accounts: UserSource, sessions: UserSource | undefined) {
    this.#accounts = accounts;
    this.#sessions = sessions;
  }

  find(request: FastifyRequest, payload: Payload): AccountUser | null | Promise<AccountUser | null> {
    const issued = payload?.['iat'];
    if (typeof issued === 'number') this.#issued.set(request, new Date(issued * 1000));
    const session = this.#sessionOf(payload);
    if (session === undefined) return this.#accounts.user(request, payload?.user_id);
    return this.#ofSession(request, session, payload?.user_id);
  }

  /** Returns the user with an id, whatever the session. */
  byId(request: FastifyRequest, id: unknown): AccountUser | null | Promise<AccountUser | null> {
    return this.#accounts.user(request, id);
  }

  /** Accepts the application's users only while their token's session lives. */
  whileSessionLives(retrieveUser: RetrieveUser): RetrieveUser {
    return async (request, payload) => {
      const hasEnded = this.#sessionOf(payload) !== undefined && (await this.find(request, payload)) === null;
      return hasEnded ? null : retrieveUser(request, payload);
    };
  }

  /** Returns the session of a request's token; undefined if the application authenticates in another way. */
  readonly currentSession = (request: FastifyRequest): string | undefined => this.#current.get(request);

  /** Returns when a request's token was issued, which is the time of the login if it has no session. */
  readonly issuedAt = (request: FastifyRequest): Date | undefined => this.#issued.get(request);

  #sessionOf(payload: Payload): string | undefined {
    return this.#sessions === undefined || !payload ? undefined : sessionOf(payload);
  }

  async #ofSession(request: FastifyRequest, session: string, id: unknown): Promise<AccountUser | null> {
    // Another program may have signed the token. No query takes every text as an id.
    if (!isUuid(session)) return null;
    const user = await this.#sessions!.user(request, session);
    if (user === null || user.id !== id) return null;
    this.#current.set(request, session);
    return user;
  }
}
