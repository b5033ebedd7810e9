import { UniqueConstraintViolationException } from '@mikro-orm/core';
import { InvalidUsage, inTransaction, QuerySet, TargetObjectAlreadyExist } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { AccountEntity } from '../accounts/account-contract.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { isEmail, normalizeEmail } from '../accounts/email-address.ts';
import type { LoginWays } from '../accounts/login-ways.ts';
import { PrimarySource } from '../accounts/primary-source.ts';
import { refuseDisabled } from '../login/login-failures.ts';
import type { IdentityEntity, IdentityModel } from './identity-contract.ts';
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
  readonly #loginWays: LoginWays;
  readonly #registers: boolean;

  constructor(model: IdentityModel, accounts: Accounts, loginWays: LoginWays, registers: boolean) {
    this.#model = model;
    this.#accounts = accounts;
    this.#loginWays = loginWays;
    this.#registers = registers;
  }

  /**
   * Returns the account linked to a profile. Otherwise links the account of the profile's verified address, creating it
   * if necessary. Undefined without a verified address, or if there is no account and none may be created. Throws
   * Unauthorized, and links nothing, if the account of the address is not active, such as one that is only invited.
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

  /**
   * Links a service's login to an account. Returns true also if it is linked already, and false if the account is not
   * active any more. Throws TargetObjectAlreadyExist if another account has it.
   */
  async link(
    request: FastifyRequest,
    account: AccountEntity,
    provider: string,
    { subject }: OAuthProfile,
  ): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      const known = await this.#identity(request, provider, subject);
      if (known?.account.id === account.id) return true;
      if (known !== undefined) throw isOfAnother();
      try {
        return await this.#store(request, { id: account.id }, provider, subject);
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || !isLostRace(error)) throw error;
      }
    }
  }

  /** The services that are linked to an account, by name. */
  async providersOf(request: FastifyRequest, account: number): Promise<string[]> {
    const identities = await QuerySet.of(new PrimarySource(request), this.#model.entity)
      .filter({ account__id: account })
      .orderBy('provider')
      .entities();
    return [...new Set(identities.map(({ provider }) => provider))];
  }

  /**
   * Unlinks a service from the account of the logged-in user. False if it is not linked. Throws TargetObjectAlreadyExist
   * if the account could not log in without it.
   */
  unlink(request: FastifyRequest, provider: string): Promise<boolean> {
    return this.#loginWays.remove(request, async (em, account) => {
      return (await em.nativeDelete(this.#model.entity, { account: { id: account }, provider })) > 0;
    });
  }

  async #identity(request: FastifyRequest, provider: string, subject: string): Promise<IdentityEntity | undefined> {
    // A login, although the service leads to it by a GET: a replica may not know of the account yet.
    const source = { em: request.em.fork(), readsPrimary: true };
    return QuerySet.of(source, this.#model.entity).filter({ provider, subject }).entity();
  }

  /** Stores an identity of an account that is active at this moment. False, and nothing is stored, if it is not. */
  #store(
    request: FastifyRequest,
    account: { readonly id: number; readonly email?: string },
    provider: string,
    subject: string,
  ): Promise<boolean> {
    return inTransaction(request, async () => {
      const { em } = request;
      if (!(await this.#accounts.lockActive(em, account))) return false;
      await em.persist(em.create(this.#model.entity, { account: account.id, provider, subject } as never)).flush();
      return true;
    });
  }

  async #known(request: FastifyRequest, provider: string, subject: string): Promise<AccountEntity | undefined> {
    const identity = await this.#identity(request, provider, subject);
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
    const isLinked = await this.#store(request, { id: account.id, email }, provider, subject);
    if (!isLinked) throw refuseDisabled(request, account);
    return { account, how: existing === undefined ? 'registered' : 'linked' };
  }

  /** The account has no password; the owner can set one with the forgotten-password route. */
  #register(request: FastifyRequest, email: string, name: string | undefined): Promise<AccountEntity> {
    const shown = (name ?? '').replaceAll('\0', '').trim() || email.slice(0, email.indexOf('@'));
    return this.#accounts.create(request, {
      email,
      password: undefined,
      name: Array.from(shown).slice(0, MAX_NAME_LENGTH).join(''),
    });
  }
}

function isOfAnother(): TargetObjectAlreadyExist {
  return new TargetObjectAlreadyExist('This login of the service belongs to another account', {
    event: 'auth.oauth_failed',
  });
}

/** True if another request has made the account or the identity first. */
function isLostRace(error: unknown): boolean {
  return error instanceof UniqueConstraintViolationException || error instanceof InvalidUsage;
}
