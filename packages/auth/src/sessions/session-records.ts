import type { EntityManager } from '@mikro-orm/core';
import { inTransaction, type Projection, QuerySet, readShape, type RecordFinder, retryLost } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { AccountModel } from '../accounts/account-contract.ts';
import type { AccountUser, ShownFields } from '../accounts/accounts.ts';
import type { UserSource } from '../accounts/cached-users.ts';
import { type OwnedRow, OwnedRecords, ownerOf } from '../accounts/owned-records.ts';
import { PrimarySource } from '../accounts/primary-source.ts';
import type { SessionEntity, SessionFields, SessionModel } from './session-contract.ts';

interface LiveRow extends OwnedRow {
  readonly expires_at: string;
}

/** A live session with the fields that a refresh needs. */
export interface SessionRow extends LiveRow {
  readonly created_at: string;
}

/** A session as its account sees it. */
export interface ListedSession {
  readonly id: string;
  readonly created_at: string;
  readonly last_used_at: string;
  readonly ip: string;
  readonly user_agent: string | null;
}

/** The most sessions of one account that are listed, the last used ones. */
const MAX_LISTED = 1000;

/** All queries about sessions. They use the primary, because a replica may not know a login or logout yet. */
export class SessionRecords implements UserSource {
  readonly #model: SessionModel;
  readonly #finder: RecordFinder<SessionEntity, SessionRow>;
  /** For the query that every request makes. */
  readonly #users: RecordFinder<SessionEntity, LiveRow>;
  readonly #listed: Projection<ListedSession>;

  /**
   * @param em the ORM's global entity manager
   * @param shown additional fields of users, beside those of AccountUser
   */
  constructor(model: SessionModel, account: AccountModel, em: EntityManager, shown?: ShownFields) {
    this.#model = model;
    const listed = readShape(model.entity, ['id', 'created_at', 'last_used_at', 'ip', 'user_agent']);
    this.#listed = listed.bind(model.meta, em.getPlatform());
    const owned = new OwnedRecords(model, account, em, shown);
    this.#finder = owned.finder(owned.projection<SessionRow>(['created_at', 'expires_at']));
    this.#users = owned.finder(owned.projection<LiveRow>(['expires_at']));
  }

  /** Finds the user of a live session in one query; null if the session has ended, or its account is disabled. */
  async user(request: FastifyRequest, id: unknown): Promise<AccountUser | null> {
    const row = live(await this.#users.find(new PrimarySource(request), id));
    return row === undefined ? null : ownerOf(row);
  }

  /** The session and its account; undefined if it has ended, or its account is disabled. */
  async find(request: FastifyRequest, id: unknown): Promise<SessionRow | undefined> {
    return live(await this.#finder.find(new PrimarySource(request), id));
  }

  /** The stored session with the hash of its token, whoever's it is; undefined if it has ended. */
  async state(request: FastifyRequest, id: string): Promise<SessionEntity | undefined> {
    // Another request may have changed a session that this one has read.
    const source = { em: request.em.fork(), readsPrimary: true };
    const session = await QuerySet.of(source, this.#model.entity).filter({ id }).entity();
    return session !== undefined && session.expires_at.getTime() > Date.now() ? session : undefined;
  }

  async list(request: FastifyRequest, account: number): Promise<ListedSession[]> {
    return QuerySet.of(new PrimarySource(request), this.#model.entity)
      .filter({ account, expires_at__gt: new Date() })
      .orderBy('-last_used_at')
      .slice(0, MAX_LISTED)
      .rows(this.#listed);
  }

  async create(request: FastifyRequest, account: number, fields: SessionFields): Promise<void> {
    await inTransaction(request, async () => {
      const { em } = request;
      await em.persist(em.create(this.#model.entity, { ...fields, account } as never)).flush();
    });
  }

  /** Changes the session unless another request has used up the same token first; false then. */
  async rotate(
    em: EntityManager,
    id: string,
    usedHash: string,
    changes: Omit<SessionFields, 'id' | 'created_at'>,
  ): Promise<boolean> {
    const unused = { id, token_hash: usedHash };
    return (await retryLost(em, () => em.nativeUpdate(this.#model.entity, unused, changes))) > 0;
  }

  /** False if the account has no such session. */
  async delete(em: EntityManager, account: number, id: string): Promise<boolean> {
    const known = { id, account: { id: account } };
    return (await retryLost(em, () => em.nativeDelete(this.#model.entity, known))) > 0;
  }

  async deleteAll(em: EntityManager, account: number, except: string | undefined): Promise<void> {
    const others = except === undefined ? {} : { id: { $ne: except } };
    await retryLost(em, () => em.nativeDelete(this.#model.entity, { account: { id: account }, ...others }));
  }

  async deleteExpiredOf(em: EntityManager, account: number): Promise<void> {
    const expired = { account: { id: account }, expires_at: { $lt: new Date() } };
    await retryLost(em, () => em.nativeDelete(this.#model.entity, expired));
  }

  /** Deletes up to `atMost` expired sessions of any account. */
  async deleteExpired(request: FastifyRequest, atMost: number): Promise<void> {
    const now = new Date();
    const expired = await QuerySet.of(request, this.#model.entity)
      .filter({ expires_at__lt: now })
      .slice(0, atMost)
      .rows(this.#listed);
    if (expired.length === 0) return;
    const ids = expired.map(({ id }) => id);
    // Keeps sessions that were refreshed meanwhile.
    const { em } = request;
    const still = { id: { $in: ids }, expires_at: { $lt: now } };
    await retryLost(em, () => em.nativeDelete(this.#model.entity, still));
  }
}

function live<Row extends LiveRow>(row: Row | undefined): Row | undefined {
  return row !== undefined && Date.parse(row.expires_at) > Date.now() ? row : undefined;
}
