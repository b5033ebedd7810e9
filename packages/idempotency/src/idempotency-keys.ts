import { type EntityManager, type MikroORM, UniqueConstraintViolationException } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import {
  afterCommit,
  checkOptionNames,
  getCurrentUser,
  HttpError,
  type Idempotency,
  type IdempotencyMode,
  ImproperlyConfigured,
  inTransaction,
  InvalidUsage,
  keepTenant,
  type KeyedRequest,
  requireTransactions,
  type SentAnswer,
  wrongOption,
} from '@viewset/core';
import { IdempotencyRecord } from './idempotency-record.ts';
import { readKey } from './key-header.ts';
import { fingerprintOf, recordId, seal, unseal } from './sealed-answer.ts';

/** The options of `IdempotencyKeys`; every one has a default. */
export interface IdempotencyKeysOptions {
  /** The mode of routes whose view and action set none: `required`, `optional` or `off`. Default: `optional`. */
  readonly mode?: IdempotencyMode;
  /** How long an answer is kept, in seconds. Default: 86,400, which is a day. */
  readonly ttlSeconds?: number;
  /**
   * Returns the account that a key belongs to; undefined rejects the key with 400. Default: the `id` of the logged-in
   * user, so keys need a login.
   */
  readonly account?: (request: FastifyRequest) => string | undefined;
}

const DAY_SECONDS = 86_400;
const PRUNING_INTERVAL_MS = 60_000;

/** MongoDB's error code if another transaction has written the same record. */
const WRITE_CONFLICT = 112;

/**
 * Stores the answers of POST and PATCH by `Idempotency-Key`, in the transaction of the write: either both are stored or
 * neither. A repeated request gets the first answer and writes nothing. Pass it to the plugin's option `idempotency`.
 *
 * Throws ImproperlyConfigured if an option is wrong, and at start if the ORM lacks `IdempotencyRecord` or transactions.
 *
 * @example
 * await app.register(viewset, { orm, idempotency: new IdempotencyKeys({ ttlSeconds: 3600 }) });
 * // POST /api/orders, Idempotency-Key: "8e03978e-40d5-43dd-bc93-6894a57f9324"
 */
export class IdempotencyKeys implements Idempotency {
  readonly mode: IdempotencyMode;
  readonly #ttlMs: number;
  readonly #account: (request: FastifyRequest) => string | undefined;
  /**
   * The requests that this process runs, by record id. A repeat fails without using the database, which may have only
   * one connection.
   */
  readonly #running = new Set<string>();
  #prunedAtMs = 0;

  constructor(options: IdempotencyKeysOptions = {}) {
    checkOptionNames('IdempotencyKeys', options, ['mode', 'ttlSeconds', 'account']);
    const { mode = 'optional', ttlSeconds = DAY_SECONDS, account = userOf } = options;
    if (!['required', 'optional', 'off'].includes(mode)) {
      throw wrongOption('IdempotencyKeys', 'mode', 'one of required, optional, off', mode);
    }
    if (!Number.isSafeInteger(ttlSeconds) || ttlSeconds <= 0) {
      throw wrongOption('IdempotencyKeys', 'ttlSeconds', 'a whole number above 0', ttlSeconds);
    }
    if (typeof account !== 'function') throw wrongOption('IdempotencyKeys', 'account', 'a function', account);
    this.mode = mode;
    this.#ttlMs = ttlSeconds * 1000;
    this.#account = account;
  }

  check(orm: MikroORM): void {
    if (![...orm.getMetadata()].some(({ class: entity }) => entity === IdempotencyRecord.meta.class)) {
      throw new ImproperlyConfigured('IdempotencyKeys: add IdempotencyRecord to the entities of the ORM');
    }
    requireTransactions(orm, 'Idempotency-Key');
  }

  keyOf(request: FastifyRequest, isRequired: boolean): string | undefined {
    const key = readKey(request);
    if (key === undefined && isRequired) {
      throw new InvalidUsage('Idempotency-Key is required: a text of your choice, such as a UUID, new for each write');
    }
    if (key !== undefined && this.#accountOf(request) === undefined) {
      throw new InvalidUsage('Idempotency-Key belongs to an account, and nobody is logged in');
    }
    return key;
  }

  async answer(keyed: KeyedRequest, run: () => Promise<SentAnswer>): Promise<SentAnswer> {
    const { request, key } = keyed;
    const { method, path } = request.routeOptions.config.viewset!;
    const id = recordId(inTenant(request, this.#accountOf(request)!), `${method} ${path}`, key);
    if (this.#running.has(id)) throw isRunning();
    this.#running.add(id);
    let isKept = true;
    try {
      return await inTransaction(
        request,
        async () => {
          const answer = await this.#answerOnce(id, keyed, run);
          isKept = answer.status < 400;
          return answer;
        },
        () => isKept,
      );
    } finally {
      this.#running.delete(id);
    }
  }

  /**
   * Deletes expired answers. Each process does this itself after a write with a key, at most once a minute. Call it
   * only if an application no longer gets writes.
   *
   * @example
   * const keys = new IdempotencyKeys();
   * await keys.prune(orm.em.fork());   // DELETE FROM idempotency_record WHERE expires_at < now
   */
  async prune(em: EntityManager): Promise<void> {
    await em.nativeDelete(IdempotencyRecord, { expiresAt: { $lt: new Date() } }, { filters: false });
  }

  /**
   * Returns the account of a request. Rejects promises and objects: they would become the same string for all accounts,
   * which would then share answers.
   */
  #accountOf(request: FastifyRequest): string | undefined {
    const account: unknown = this.#account(request) ?? undefined;
    if (account === undefined || typeof account === 'string') return account;
    if (typeof account === 'number' || typeof account === 'bigint') return String(account);
    throw wrongOption('IdempotencyKeys', 'account', 'a function that returns a string or undefined', account);
  }

  /** Answers a request inside its transaction. */
  async #answerOnce(
    id: string,
    { request, key, content }: KeyedRequest,
    run: () => Promise<SentAnswer>,
  ): Promise<SentAnswer> {
    const { em } = request;
    const fingerprint = fingerprintOf(key, content);
    if (!(await tryLock(em, id))) throw isRunning();
    const known = await em.findOne(IdempotencyRecord, { id }, { filters: false, disableIdentityMap: true });
    const now = Date.now();
    if (known?.answer && known.expiresAt.getTime() > now) {
      if (known.fingerprint !== fingerprint) throw isReused();
      const first = unseal(key, id, known.answer);
      return { ...first, headers: { ...first.headers, 'idempotent-replayed': 'true' } };
    }
    await claim(em, { id, fingerprint, answer: null, expiresAt: new Date(now + this.#ttlMs) }, known !== null);
    const answer = await run();
    if (answer.status >= 400) return answer;
    await em.nativeUpdate(IdempotencyRecord, { id }, { answer: seal(key, id, answer) }, { filters: false });
    await this.#pruneLater(request);
    return answer;
  }

  async #pruneLater(request: FastifyRequest): Promise<void> {
    const now = Date.now();
    if (now - this.#prunedAtMs < PRUNING_INTERVAL_MS) return;
    this.#prunedAtMs = now;
    await afterCommit(request, () => this.prune(request.em));
  }
}

/** Two tenants may have accounts of one id. */
function inTenant({ em }: FastifyRequest, account: string): string {
  const tenant = keepTenant(em);
  return tenant === null ? account : `${tenant} ${account}`;
}

function userOf(request: FastifyRequest): string | undefined {
  const user = getCurrentUser(request);
  return user === null ? undefined : String(user.id);
}

/**
 * Takes the lock of a key until the transaction ends; false if another transaction has it. On PostgreSQL, an insert
 * would wait for that transaction and hold a connection meanwhile. SQLite allows one writer at a time, and MongoDB
 * rejects a second write of a record at once.
 */
async function tryLock(em: EntityManager, id: string): Promise<boolean> {
  if (!em.getDriver().getDependencies().includes('pg')) return true;
  const number = BigInt.asIntN(64, BigInt(`0x${id.slice(0, 16)}`));
  const statement = `select pg_try_advisory_xact_lock(${number}) as locked`;
  const rows: unknown = await em.getConnection('write').execute(statement, [], 'all', em.getTransactionContext());
  return (rows as { readonly locked: boolean }[])[0]!.locked;
}

interface Claim {
  readonly id: string;
  readonly fingerprint: string;
  readonly answer: null;
  readonly expiresAt: Date;
}

/** Inserts the record of a key, or replaces an expired one. Only one transaction can succeed. */
async function claim(em: EntityManager, record: Claim, isReplacing: boolean): Promise<void> {
  try {
    // On MongoDB, this already conflicts with another transaction that replaces the record.
    if (isReplacing) await em.nativeDelete(IdempotencyRecord, { id: record.id }, { filters: false });
    await em.insert(IdempotencyRecord, record);
  } catch (error) {
    const isTaken = error instanceof UniqueConstraintViolationException;
    throw isTaken || (error as { readonly code?: unknown }).code === WRITE_CONFLICT ? isRunning() : error;
  }
}

function isRunning(): HttpError {
  return new HttpError(409, 'idempotency_key_in_use', 'The first request with this Idempotency-Key is still running', {
    headers: { 'retry-after': '1' },
  });
}

function isReused(): HttpError {
  return new HttpError(
    422,
    'idempotency_key_reused',
    'This Idempotency-Key was sent with another request; send a new key',
  );
}
