import type { EntityManager } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { AccountUser } from './accounts.ts';

/** Finds the user of a token; null if there is none or it is disabled. */
export interface UserSource {
  user(request: FastifyRequest, id: unknown): AccountUser | null | Promise<AccountUser | null>;
}

export interface UserCacheOptions {
  readonly seconds: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** For this time a disabled account may still be accepted: minutes, never hours. */
export const MAX_USER_CACHE_SECONDS = 300;
/** About 3 MB of users. An evicted user only costs a query, so this needs no option. */
export const MAX_CACHED_USERS = 10_000;

interface Kept {
  readonly user: AccountUser;
  readonly until: number;
}

/**
 * Caches users for some time. All processes notice a changed account or role only when it is over, even the one that
 * made the change. The time starts before the query, so a slow answer is not kept longer. A missing user is never
 * cached.
 *
 * Requests that have used `request.em` neither use nor fill the cache: in a transaction, or with filter parameters,
 * they may see other accounts.
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

  /** The number of cached users, including expired ones. */
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

/** Frozen, because several requests share the user. */
function frozen(user: AccountUser): AccountUser {
  for (const role of [user.role, ...(user.roles ?? [])]) Object.freeze(role);
  Object.freeze(user.roles);
  Object.freeze(user.permissions);
  return Object.freeze(user);
}
