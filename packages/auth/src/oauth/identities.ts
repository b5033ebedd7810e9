import { randomBytes } from 'node:crypto';
import { UniqueConstraintViolationException } from '@mikro-orm/core';
import { InvalidUsage, inTransaction, QuerySet } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { AccountEntity } from '../accounts/account-contract.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { isEmail, normalizeEmail } from '../accounts/email-address.ts';
import { PrimarySource } from '../accounts/primary-source.ts';
import type { IdentityModel } from './identity-contract.ts';
import type { OAuthProfile } from './oauth-profile.ts';

const MAX_NAME_LENGTH = 100;
/** Another request of the same user may create the account first, and then the identity. */
const MAX_ATTEMPTS = 3;

/** The account of a profile, and how it was found. */
export interface IdentifiedAccount {
  readonly account: AccountEntity;
  readonly how: 'known' | 'linked' | 'registered';
}

/** Finds and links the accounts of users who log in with other services. */
export class Identities {
  readonly #model: IdentityModel;
  readonly #accounts: Accounts;
  readonly #registers: boolean;

  constructor(model: IdentityModel, accounts: Accounts, registers: boolean) {
    this.#model = model;
    this.#accounts = accounts;
    this.#registers = registers;
  }

  /**
   * Returns the account linked to a profile. Otherwise links the account of the profile's verified address, creating it
   * if necessary. Undefined without a verified address, or if there is no account and none may be created.
   */
  async accountOf(
    request: FastifyRequest,
    provider: string,
    profile: OAuthProfile,
  ): Promise<IdentifiedAccount | undefined> {
    for (let attempt = 1; ; attempt++) {
      const known = await this.#known(request, provider, profile.subject);
      if (known !== undefined) return { account: known, how: 'known' };
      const email = normalizeEmail(profile.verifiedEmail ?? '');
      if (!isEmail(email)) return undefined;
      try {
        return await this.#link(request, provider, profile, email);
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || !isLostRace(error)) throw error;
      }
    }
  }

  async #known(request: FastifyRequest, provider: string, subject: string): Promise<AccountEntity | undefined> {
    // A login, although the service leads to it by a GET: a replica may not know of the account yet.
    const source = { em: request.em.fork(), readsPrimary: true };
    const identity = await QuerySet.of(source, this.#model.entity).filter({ provider, subject }).entity();
    return identity && this.#accounts.byId(new PrimarySource(request), identity.account.id);
  }

  async #link(
    request: FastifyRequest,
    provider: string,
    { subject, name }: OAuthProfile,
    email: string,
  ): Promise<IdentifiedAccount | undefined> {
    const existing = await this.#accounts.byEmail(new PrimarySource(request), email);
    if (existing === undefined && !this.#registers) return undefined;
    const account = existing ?? (await this.#register(request, email, name));
    await inTransaction(request, async () => {
      const { em } = request;
      const fields = { account: account.id, provider, subject };
      await em.persist(em.create(this.#model.entity, fields as never)).flush();
    });
    return { account, how: existing === undefined ? 'registered' : 'linked' };
  }

  /** The password is random and unknown; the owner can set another one with the forgotten-password route. */
  #register(request: FastifyRequest, email: string, name: string | undefined): Promise<AccountEntity> {
    const password = randomBytes(32).toString('base64url');
    const shown = (name ?? '').replaceAll('\0', '').trim() || email.slice(0, email.indexOf('@'));
    return this.#accounts.create(request, {
      email,
      password,
      name: Array.from(shown).slice(0, MAX_NAME_LENGTH).join(''),
    });
  }
}

/** True if another request has made the account or the identity first. */
function isLostRace(error: unknown): boolean {
  return error instanceof UniqueConstraintViolationException || error instanceof InvalidUsage;
}
