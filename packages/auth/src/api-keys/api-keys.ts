import { hash as hashText, randomBytes } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/core';
import { inTransaction, QuerySet, type RecordFinder, retryLost, TargetObjectAlreadyExist } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { type Accounts, AccountUser } from '../accounts/accounts.ts';
import { type OwnedRow, OwnedRecords, ownerOf } from '../accounts/owned-records.ts';
import { PrimarySource } from '../accounts/primary-source.ts';
import { API_KEY_ID_LENGTH, type ApiKeyEntity, type ApiKeyModel, checkApiKey } from './api-key-contract.ts';
import type { Wiring } from '../wiring.ts';
import { isSameText } from '../secrets/keyed-hash.ts';

/** `last_used_at` is written at most once in this time. */
const USE_GRAIN_MS = 60_000;
const SECRET_BYTES = 32;
const ID = new RegExp(`^[0-9a-f]{${API_KEY_ID_LENGTH}}$`);

/** The API key of a request. */
export interface UsedApiKey {
  readonly id: string;
  /** The permissions that limit the key; null: all of its account. */
  readonly scopes: readonly string[] | null;
}

/**
 * The user of a request that was sent with an API key. With scopes, `permissions` are those that both the account and
 * the key have, and the user has no roles.
 */
export class ApiKeyUser extends AccountUser {
  readonly api_key: UsedApiKey;

  /** Keeps all other fields of the user, including the application's read shape. */
  constructor(user: AccountUser, key: UsedApiKey) {
    super(user);
    const { scopes } = key;
    const permissions = user.permissions?.filter((name) => scopes?.includes(name)) ?? [];
    Object.assign(this, user, scopes !== null && { role: null, roles: [], permissions });
    this.api_key = key;
  }
}

/** An API key as a request sends it. */
export class ApiKeyPayload {
  readonly [claim: string]: unknown;
  readonly id: string;
  readonly hash: string;

  constructor(id: string, secret: string) {
    this.id = id;
    this.hash = hashOf(secret);
  }
}

/** An API key as its owner sees it. */
export interface ShownApiKey {
  readonly id: string;
  readonly prefix: string;
  readonly name: string;
  readonly scopes: readonly string[] | null;
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
  readonly created_at: string;
}

export interface NewApiKey {
  readonly name: string;
  readonly scopes: readonly string[] | null;
  readonly expiresAt: Date | null;
}

interface ApiKeyRow extends OwnedRow {
  readonly hash: string;
  readonly scopes: unknown;
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
}

interface ApiKeyParts {
  readonly model: ApiKeyModel;
  readonly accounts: Accounts;
  /** The ORM's global entity manager. */
  readonly em: EntityManager;
  readonly prefix: string;
  readonly maxPerAccount: number;
  readonly owned: OwnedRecords<ApiKeyEntity>;
}

/**
 * All queries about API keys. A key is `<prefix>_<id>_<secret>`. Its row is found by the id, and stores the SHA-256 of
 * the secret. The secret has 256 random bits, so no slower hash is needed.
 */
export class ApiKeys {
  readonly #model: ApiKeyModel;
  readonly #accounts: Accounts;
  readonly #em: EntityManager;
  readonly #prefix: string;
  readonly #maxPerAccount: number;
  readonly #pattern: RegExp;
  readonly #keys: RecordFinder<ApiKeyEntity, ApiKeyRow>;

  constructor({ model, accounts, em, prefix, maxPerAccount, owned }: ApiKeyParts) {
    this.#model = model;
    this.#accounts = accounts;
    this.#em = em;
    this.#prefix = prefix;
    this.#maxPerAccount = maxPerAccount;
    this.#pattern = new RegExp(`^${prefix}_([0-9a-f]{${API_KEY_ID_LENGTH}})_([\\w-]{43})$`);
    this.#keys = owned.finder(owned.projection<ApiKeyRow>(['hash', 'expires_at', 'last_used_at', 'scopes']));
  }

  /** Parses a bearer token as an API key; undefined if it is not one. */
  payload(token: string): ApiKeyPayload | undefined {
    const [, id, secret] = this.#pattern.exec(token) ?? [];
    return id === undefined || secret === undefined ? undefined : new ApiKeyPayload(id, secret);
  }

  /** Finds the user of a key in one query; null if it was revoked or has expired, or its account is not active. */
  async user(request: FastifyRequest, { id, hash }: ApiKeyPayload): Promise<ApiKeyUser | null> {
    const row = await this.#keys.find(new PrimarySource(request), id);
    if (row === undefined || !isSameText(hash, row.hash)) return null;
    if (row.expires_at !== null && Date.parse(row.expires_at) <= Date.now()) return null;
    await this.#noteUse(request, id, row);
    return new ApiKeyUser(ownerOf(row), { id, scopes: scopesIn(row.scopes) });
  }

  /**
   * Makes a key of the logged-in user's account. The text is not stored anywhere. Throws TargetObjectAlreadyExist if the
   * account has as many as it may, and Unauthorized if the account is not active any more.
   */
  async create(request: FastifyRequest, fields: NewApiKey): Promise<ShownApiKey & { key: string }> {
    const id = randomBytes(API_KEY_ID_LENGTH / 2).toString('hex');
    const secret = randomBytes(SECRET_BYTES).toString('base64url');
    const { name, scopes, expiresAt } = fields;
    const data = { id, name, scopes, expires_at: expiresAt, hash: hashOf(secret) };
    const created = await inTransaction(request, async () => {
      const { em } = request;
      // Locked, so that of simultaneous requests none counts before another one has stored its key.
      const { id: account } = await this.#accounts.lock(request);
      const others = QuerySet.of(em, this.#model.entity).filter({ account__id: account });
      if ((await others.count()) >= this.#maxPerAccount) throw tooMany(this.#maxPerAccount);
      const key = em.create(this.#model.entity, {
        ...data,
        account,
        last_used_at: null,
        created_at: new Date(),
      } as never);
      await em.persist(key).flush();
      return key;
    });
    return { ...this.#shown(created), key: `${this.#prefix}_${id}_${secret}` };
  }

  /** The keys of an account, the newest first. */
  async list(request: FastifyRequest, accountId: number): Promise<ShownApiKey[]> {
    const keys = await QuerySet.of(new PrimarySource(request), this.#model.entity)
      .filter({ account__id: accountId })
      .orderBy('-created_at')
      .entities();
    return keys.map((key) => this.#shown(key));
  }

  /** Revokes a key. False if the account has no such key. */
  async remove(request: FastifyRequest, accountId: number, id: string): Promise<boolean> {
    // The path may have a text that the database does not take, such as a NUL.
    if (!ID.test(id)) return false;
    const { em } = request;
    return (await retryLost(em, () => em.nativeDelete(this.#model.entity, { id, account: accountId }))) > 0;
  }

  #shown({ id, name, scopes, expires_at, last_used_at, created_at }: ApiKeyEntity): ShownApiKey {
    return {
      id,
      prefix: `${this.#prefix}_${id}`,
      name,
      scopes: scopesIn(scopes),
      expires_at: expires_at?.toISOString() ?? null,
      last_used_at: last_used_at?.toISOString() ?? null,
      created_at: created_at.toISOString(),
    };
  }

  /** A request succeeds without it too. */
  async #noteUse(request: FastifyRequest, id: string, { last_used_at }: ApiKeyRow): Promise<void> {
    const now = Date.now();
    if (last_used_at !== null && Date.parse(last_used_at) > now - USE_GRAIN_MS) return;
    const isDue = { $or: [{ last_used_at: null }, { last_used_at: { $lte: new Date(now - USE_GRAIN_MS) } }] };
    try {
      const em = this.#em.fork();
      const changes = { last_used_at: new Date(now) };
      await retryLost(em, () => em.nativeUpdate(this.#model.entity, { id, ...isDue }, changes));
    } catch (error) {
      request.log.warn({ err: error, api_key: id }, 'the use of an API key could not be noted');
    }
  }
}

/** Undefined: API keys are off. */
export function apiKeysOf({
  orm: { em },
  orm,
  model: account,
  accounts,
  options: { apiKeys, me },
}: Wiring): ApiKeys | undefined {
  if (apiKeys === undefined) return undefined;
  const model = checkApiKey(orm, apiKeys.entity, account);
  return new ApiKeys({ model, accounts, em, ...apiKeys, owned: new OwnedRecords(model, account, em, me?.read) });
}

function tooMany(most: number): TargetObjectAlreadyExist {
  return new TargetObjectAlreadyExist(`An account can have ${most} API keys; revoke one first`);
}

function hashOf(secret: string): string {
  return hashText('sha256', secret, 'base64url');
}

/** A key with unreadable scopes has no permissions. */
function scopesIn(scopes: unknown): readonly string[] | null {
  if (scopes === null || scopes === undefined) return null;
  return Array.isArray(scopes) ? scopes.filter((name) => typeof name === 'string') : [];
}
