import { randomUUID } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/core';
import { securityEvent, Unauthorized } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { TokenAccount } from '../tokens/access-tokens.ts';
import { type AccountUser, userOf } from '../accounts/accounts.ts';
import type { RefreshTokens } from './refresh-tokens.ts';
import { MAX_IP_LENGTH, MAX_USER_AGENT_LENGTH, type SessionEntity, type SessionFields } from './session-contract.ts';
import type { ListedSession, SessionRecords } from './session-records.ts';

/** The times of sessions, in whole seconds. */
export interface SessionTimes {
  /** A session ends after this time without a refresh. */
  readonly lifetimeSeconds: number;
  /** A session ends this long after its login, however often it is refreshed. */
  readonly maxLifetimeSeconds: number;
  /** How long after the last refresh every used refresh token still returns the newest one. */
  readonly graceSeconds: number;
}

/** A session that was started or refreshed. */
export interface OpenSession {
  readonly id: string;
  readonly refreshToken: string;
  readonly expiresAt: Date;
}

/** How often a process removes expired sessions of all accounts, and how many at a time. */
const SWEEP_INTERVAL_MS = 60_000;
const SWEEP_SIZE = 100;

/**
 * The sessions of accounts. A session ends with its row, so that access tokens of it are refused from then on in every process.
 */
export class Sessions {
  readonly #records: SessionRecords;
  readonly #tokens: RefreshTokens;
  readonly #times: SessionTimes;
  #nextSweep = 0;

  constructor(records: SessionRecords, tokens: RefreshTokens, times: SessionTimes) {
    this.#records = records;
    this.#tokens = tokens;
    this.#times = times;
  }

  async start(request: FastifyRequest, account: TokenAccount): Promise<OpenSession> {
    const id = randomUUID();
    const refreshToken = this.#tokens.first(id);
    const now = new Date();
    const fields = this.#fields(request, refreshToken, now, now);
    await this.#records.create(request, account.id, { id, created_at: now, ...fields });
    await this.#removeExpired(request, account.id);
    return { id, refreshToken, expiresAt: fields.expires_at };
  }

  /**
   * Uses up a refresh token and returns its successor. A token whose successor was never used returns it again, because
   * the response may have been lost. During a few seconds of grace after the last use, every former token returns the
   * newest one, because several tabs of a browser may refresh at the same time. Any other used token ends the session.
   * Throws Unauthorized for every invalid token.
   */
  async refresh(request: FastifyRequest, token: string): Promise<OpenSession & { readonly account: AccountUser }> {
    const id = this.#tokens.sessionOf(token);
    if (id === undefined) throw refused();
    const refreshToken = this.#tokens.successor(token);
    const row = await this.#records.find(request, id);
    if (row === undefined) throw refused();
    const account = userOf(row);
    const fields = this.#fields(request, refreshToken, new Date(), new Date(row.created_at));
    if (await this.#records.rotate(request.em, id, this.#tokens.hash(token), fields)) {
      await this.#removeExpired(request);
      return { id, refreshToken, expiresAt: fields.expires_at, account };
    }
    // Another request used the same token first, the token was used before, or the session has ended meanwhile.
    const state = await this.#records.state(request, id);
    if (state === undefined) throw refused();
    const newest = this.#currentToken(token, state);
    if (newest !== undefined) return { id, refreshToken: newest, expiresAt: state.expires_at, account };
    if (await this.end(request.em, row.id, id)) {
      const event = { ...securityEvent(request, 'auth.refresh_reused'), account: row.id };
      request.log.warn(event, 'a used refresh token came back: its session has ended');
    }
    throw refused();
  }

  /**
   * Ends the session of a refresh token, also of a used one. Returns its account; undefined if the session has ended
   * before. Throws Unauthorized for a text that is none of our tokens.
   */
  async endBy(request: FastifyRequest, token: string): Promise<number | undefined> {
    const id = this.#tokens.sessionOf(token);
    if (id === undefined) throw refused();
    const account = (await this.#records.state(request, id))?.account.id;
    return account !== undefined && (await this.end(request.em, account, id)) ? account : undefined;
  }

  /** Returns the account of a refresh token that `refresh` would accept. Throws Unauthorized for any other. */
  async accountOf(request: FastifyRequest, token: string): Promise<number> {
    const id = this.#tokens.sessionOf(token);
    const row = id === undefined ? undefined : await this.#records.find(request, id);
    const state = row && (await this.#records.state(request, id!));
    const isUsable =
      state?.token_hash === this.#tokens.hash(token) || (state && this.#currentToken(token, state)) !== undefined;
    if (row === undefined || !isUsable) throw refused();
    return row.id;
  }

  /** When the session of a request began; undefined if it has ended. */
  async begun(request: FastifyRequest, id: string): Promise<Date | undefined> {
    return (await this.#records.state(request, id))?.created_at;
  }

  list(request: FastifyRequest, accountId: number): Promise<ListedSession[]> {
    return this.#records.list(request, accountId);
  }

  /** Ends one session. False if the account has no such session. */
  end(em: EntityManager, accountId: number, sessionId: string): Promise<boolean> {
    return this.#records.delete(em, accountId, sessionId);
  }

  /** Ends every session of an account, save one. */
  endAll(
    em: EntityManager,
    accountId: number,
    { except }: { readonly except?: string | undefined } = {},
  ): Promise<void> {
    return this.#records.deleteAll(em, accountId, except);
  }

  #fields(
    request: FastifyRequest,
    refreshToken: string,
    now: Date,
    begun: Date,
  ): Omit<SessionFields, 'id' | 'created_at'> {
    const { lifetimeSeconds, maxLifetimeSeconds } = this.#times;
    const idle = now.getTime() + lifetimeSeconds * 1000;
    const longest = begun.getTime() + maxLifetimeSeconds * 1000;
    return {
      token_hash: this.#tokens.hash(refreshToken),
      last_used_at: now,
      expires_at: new Date(Math.min(idle, longest)),
      // A Unix socket has no address.
      ip: ((request.ip as string | undefined) ?? '').slice(0, MAX_IP_LENGTH),
      user_agent: request.headers['user-agent']?.slice(0, MAX_USER_AGENT_LENGTH) ?? null,
    };
  }

  /** The newest token of a session, for a used one; undefined if the used one ends the session. */
  #currentToken(token: string, { token_hash, last_used_at }: SessionEntity): string | undefined {
    const successor = this.#tokens.successor(token);
    if (this.#tokens.hash(successor) === token_hash) return successor;
    const isInGrace = Date.now() - last_used_at.getTime() <= this.#times.graceSeconds * 1000;
    return isInGrace ? this.#tokens.newest(token, token_hash) : undefined;
  }

  /**
   * Removes expired sessions: all of the account's, and sometimes some of all accounts. If this fails, the login still
   * succeeds.
   */
  async #removeExpired(request: FastifyRequest, accountId?: number): Promise<void> {
    try {
      if (accountId !== undefined) await this.#records.deleteExpiredOf(request.em, accountId);
      const now = performance.now();
      if (now < this.#nextSweep) return;
      this.#nextSweep = now + SWEEP_INTERVAL_MS;
      await this.#records.deleteExpired(request, SWEEP_SIZE);
    } catch (error) {
      request.log.warn({ err: error }, 'sessions that have expired could not be removed');
    }
  }
}

function refused(): Unauthorized {
  return new Unauthorized('The refresh token is not valid; log in again', { event: 'auth.refresh_refused' });
}
