import type { EntityManager } from '@mikro-orm/core';
import { type Projection, QuerySet, type ReadShape, readShape, RecordFinder } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { AccountModel } from '../accounts/account-contract.ts';
import {
  type AccountRow,
  type AccountUser,
  furtherRoles,
  type RoleRow,
  type ShownFields,
  userFields,
  userOf,
} from '../accounts/accounts.ts';
import type { UserSource } from '../accounts/cached-users.ts';
import type { SessionEntity, SessionFields, SessionModel } from './session-contract.ts';

/** A session together with its account and the account's role, as one row; times as ISO texts. */
interface LiveRow extends AccountRow {
  readonly expires_at: string;
  /** What the application shows of the account, and its further roles. */
  readonly account?: { readonly further_roles?: readonly RoleRow[] };
}

/** The same, with what a refresh needs to know. */
export interface SessionRow extends LiveRow {
  readonly created_at: string;
  readonly last_used_at: string;
}

/** A session as its account sees it. */
export interface ListedSession {
  readonly id: string;
  readonly created_at: string;
  readonly last_used_at: string;
  readonly ip: string;
  readonly user_agent: string | null;
}

/** So many sessions of one account are listed, the last used ones. */
const MAX_LISTED = 1000;

/**
 * Every query that authentication makes of sessions. The primary answers them: a replica may not know of a login or a logout
 * yet.
 */
export class SessionRecords implements UserSource {
  readonly #model: SessionModel;
  readonly #ofActiveAccounts: QuerySet<SessionEntity>;
  readonly #row: Projection<SessionRow>;
  readonly #finder: RecordFinder<SessionEntity, SessionRow>;
  /** For a question that every request asks. */
  readonly #users: RecordFinder<SessionEntity, LiveRow>;
  readonly #listed: Projection<ListedSession>;

  /**
   * @param em the ORM's global entity manager
   * @param shown what users show of their accounts, besides what every AccountUser does
   */
  constructor(model: SessionModel, account: AccountModel, em: EntityManager, shown?: ShownFields) {
    this.#model = model;
    const further = furtherRoles(account);
    const own = shown as ReadShape<object, object> | undefined;
    const nested = own === undefined || further === undefined ? (own ?? further) : own.extend(further);
    const ofAccount = { ...userFields(account, 'account.'), ...(nested && { account: nested }) };
    const bind = <Row extends LiveRow>(times: readonly (keyof Row & keyof SessionFields)[]): Projection<Row> => {
      const shape = readShape(model.session, times as never, ofAccount as never) as ReadShape<SessionEntity, Row>;
      return shape.bind(model.meta, em.getPlatform());
    };
    const listed = readShape(model.session, ['id', 'created_at', 'last_used_at', 'ip', 'user_agent']);
    const active = { [`account__${account.names.is_active}`]: true };
    this.#row = bind<SessionRow>(['created_at', 'last_used_at', 'expires_at']);
    this.#listed = listed.bind(model.meta, em.getPlatform());
    this.#ofActiveAccounts = QuerySet.of(em, model.session).filter(active);
    this.#finder = new RecordFinder(this.#ofActiveAccounts, this.#row);
    this.#users = new RecordFinder(this.#ofActiveAccounts, bind<LiveRow>(['expires_at']));
  }

  /** Finds the user of a live session in one query; null if the session has ended, or its account is disabled. */
  async user(request: FastifyRequest, id: unknown): Promise<AccountUser | null> {
    const row = live(await this.#users.find(new PrimarySource(request), id));
    if (row === undefined) return null;
    const { further_roles, ...shown } = row.account ?? {};
    return userOf(further_roles === undefined ? row : { ...row, further_roles }, shown);
  }

  /** The session and its account; undefined if it has ended, or its account is disabled. */
  async find(request: FastifyRequest, id: unknown): Promise<SessionRow | undefined> {
    return live(await this.#finder.find(new PrimarySource(request), id));
  }

  /** The same, if this is the hash of its token. Nothing reads the hash itself, so that an entity may hide it. */
  async findByToken(request: FastifyRequest, id: string, token_hash: string): Promise<SessionRow | undefined> {
    const records = this.#ofActiveAccounts.using(new PrimarySource(request)).filter({ id, token_hash });
    return live((await records.slice(0, 1).rows(this.#row))[0]);
  }

  async list(request: FastifyRequest, account: number): Promise<ListedSession[]> {
    return QuerySet.of(new PrimarySource(request), this.#model.session)
      .filter({ account, expires_at__gt: new Date() })
      .orderBy('-last_used_at')
      .slice(0, MAX_LISTED)
      .rows(this.#listed);
  }

  async create(em: EntityManager, account: number, fields: SessionFields): Promise<void> {
    await em.persist(em.create(this.#model.session, { ...fields, account } as never)).flush();
  }

  /** Changes the session unless another request has used up the same token first; false then. */
  async rotate(
    em: EntityManager,
    id: string,
    usedHash: string,
    changes: Omit<SessionFields, 'id' | 'created_at'>,
  ): Promise<boolean> {
    return (await em.nativeUpdate(this.#model.session, { id, token_hash: usedHash }, changes)) > 0;
  }

  /** False if the account has no such session. */
  async delete(em: EntityManager, account: number, id: string): Promise<boolean> {
    return (await em.nativeDelete(this.#model.session, { id, account: { id: account } })) > 0;
  }

  async deleteAll(em: EntityManager, account: number, except: string | undefined): Promise<void> {
    const others = except === undefined ? {} : { id: { $ne: except } };
    await em.nativeDelete(this.#model.session, { account: { id: account }, ...others });
  }

  async deleteExpiredOf(em: EntityManager, account: number): Promise<void> {
    await em.nativeDelete(this.#model.session, { account: { id: account }, expires_at: { $lt: new Date() } });
  }

  /** Deletes at most so many sessions that have expired, of any account. */
  async deleteExpired(request: FastifyRequest, atMost: number): Promise<void> {
    const now = new Date();
    const expired = await QuerySet.of(request, this.#model.session)
      .filter({ expires_at__lt: now })
      .slice(0, atMost)
      .rows(this.#listed);
    if (expired.length === 0) return;
    const ids = expired.map(({ id }) => id);
    // One that was refreshed meanwhile stays.
    await request.em.nativeDelete(this.#model.session, { id: { $in: ids }, expires_at: { $lt: now } });
  }
}

function live<Row extends LiveRow>(row: Row | undefined): Row | undefined {
  return row !== undefined && Date.parse(row.expires_at) > Date.now() ? row : undefined;
}

class PrimarySource {
  readonly readsPrimary = true;
  readonly #request: FastifyRequest;

  constructor(request: FastifyRequest) {
    this.#request = request;
  }

  get em(): EntityManager {
    return this.#request.em;
  }

  get reader(): EntityManager {
    return this.#request.reader;
  }
}
