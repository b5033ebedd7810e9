import type { EntityManager } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { AccountUser } from './accounts.ts';

/** Finds the user that a token names; null if there is none, or it is disabled. */
export interface UserSource {
  user(request: FastifyRequest, id: unknown): AccountUser | null | Promise<AccountUser | null>;
}

export interface UserCacheOptions {
  readonly seconds: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** A disabled account may come in for so long: minutes, never hours. */
export const MAX_USER_CACHE_SECONDS = 300;
/** About 3 MB of users. Whoever is pushed out costs a query, so there is nothing to tune. */
export const MAX_CACHED_USERS = 10_000;

interface Kept {
  readonly user: AccountUser;
  readonly until: number;
}

/**
 * Users that were found, for a time: a change of an account or of its role is noticed when the time is over, in every
 * process, the one that made it included. The time counts from before the question, so that an answer which is slow to
 * come is not kept longer. That there is no such user is never kept.
 *
 * A request that has asked for its entity manager has its own answer, neither taken from here nor kept: a transaction,
 * or filters with its parameters, may have it see other accounts than others do.
 */
export class CachedUsers implements UserSource {
  readonly #source: UserSource;
  readonly #em: EntityManager;
  readonly #lifetimeMs: number;
  readonly #clock: () => number;
  readonly #kept = new Map<unknown, Kept>();

  /** @param em the ORM's global entity manager */
  constructor(source: UserSource, em: EntityManager, { seconds, clock }: UserCacheOptions) {
    this.#source = source;
    this.#em = em;
    this.#lifetimeMs = seconds * 1000;
    this.#clock = clock;
  }

  /** The number of users that are kept now, including those whose time is over. */
  get size(): number {
    return this.#kept.size;
  }

  user(request: FastifyRequest, id: unknown): AccountUser | null | Promise<AccountUser | null> {
    if (request.reader !== this.#em) return this.#source.user(request, id);
    const now = this.#clock();
    // Compared with a user's time, null counts as 0: that user would be kept for ever.
    if (!Number.isFinite(now)) return this.#source.user(request, id);
    const kept = this.#kept.get(id);
    return kept !== undefined && now < kept.until ? kept.user : this.#find(request, id, now + this.#lifetimeMs);
  }

  async #find(request: FastifyRequest, id: unknown, until: number): Promise<AccountUser | null> {
    const user = await this.#source.user(request, id);
    // Taken out first, so that a user found again is the youngest.
    this.#kept.delete(id);
    if (user !== null) this.#keep(id, { user: frozen(user), until });
    return user;
  }

  #keep(id: unknown, kept: Kept): void {
    if (this.#kept.size >= MAX_CACHED_USERS) this.#kept.delete(this.#kept.keys().next().value);
    this.#kept.set(id, kept);
  }
}

/** Requests share it: none may change it for the others. */
function frozen(user: AccountUser): AccountUser {
  for (const role of [user.role, ...(user.roles ?? [])]) Object.freeze(role);
  Object.freeze(user.roles);
  Object.freeze(user.permissions);
  return Object.freeze(user);
}
