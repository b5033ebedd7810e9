import { type EntityManager, UniqueConstraintViolationException } from '@mikro-orm/core';
import { inTransaction, QuerySet, retryLost, TargetObjectAlreadyExist } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { Accounts } from '../accounts/accounts.ts';
import type { PasskeyEntity, PasskeyFields, PasskeyModel } from './passkey-contract.ts';

/** The most passkeys of one account. */
const MAX_PASSKEYS = 50;

/** A new passkey to store. */
export interface NewPasskey extends Omit<PasskeyFields, 'created_at' | 'last_used_at'> {
  readonly transports: readonly string[] | null;
}

/** All queries about passkeys. */
export class PasskeyRecords {
  readonly #model: PasskeyModel;
  readonly #accounts: Accounts;

  constructor(model: PasskeyModel, accounts: Accounts) {
    this.#model = model;
    this.#accounts = accounts;
  }

  byCredential(em: EntityManager, credential_id: string): Promise<PasskeyEntity | undefined> {
    return this.#all(em).filter({ credential_id }).entity();
  }

  /** The passkeys of an account, the newest first. */
  list(em: EntityManager, account: number): Promise<PasskeyEntity[]> {
    return this.#all(em).filter({ account__id: account }).orderBy('-created_at').entities();
  }

  /**
   * Adds a passkey to the logged-in user's account. Throws TargetObjectAlreadyExist if the authenticator has been added
   * before, or the account has as many as it may.
   */
  async create(request: FastifyRequest, fields: NewPasskey): Promise<PasskeyEntity> {
    try {
      return await inTransaction(request, async () => {
        const { em } = request;
        // Locked, so that of simultaneous requests none counts before another one has stored its passkey.
        const { id: account } = await this.#accounts.lock(request);
        if ((await this.list(em, account)).length >= MAX_PASSKEYS) throw tooMany();
        const data = { ...fields, account, created_at: new Date(), last_used_at: null };
        const passkey = em.create(this.#model.entity, data as never);
        await em.persist(passkey).flush();
        return passkey;
      });
    } catch (error) {
      if (!(error instanceof UniqueConstraintViolationException)) throw error;
      throw new TargetObjectAlreadyExist('The passkey has been added already', { cause: error });
    }
  }

  /**
   * Stores a use. Returns false if the counter has not increased since the last use, or the passkey was deleted. Of
   * several answers with one counter, only one succeeds. Authenticators without a counter always send 0.
   */
  async use(em: EntityManager, id: string, counter: number): Promise<boolean> {
    const isLater = counter === 0 ? 0 : { $lt: counter };
    const changes = { counter, last_used_at: new Date() };
    const earlier = { id, counter: isLater };
    return (await retryLost(em, () => em.nativeUpdate(this.#model.entity, earlier, changes))) > 0;
  }

  /** False if the account has no such passkey. */
  async delete(em: EntityManager, account: number, id: string): Promise<boolean> {
    return (await em.nativeDelete(this.#model.entity, { id, account: { id: account } })) > 0;
  }

  #all(em: EntityManager): QuerySet<PasskeyEntity> {
    return QuerySet.of(em, this.#model.entity);
  }
}

function tooMany(): TargetObjectAlreadyExist {
  return new TargetObjectAlreadyExist(`An account can have ${MAX_PASSKEYS} passkeys; delete one first`);
}
