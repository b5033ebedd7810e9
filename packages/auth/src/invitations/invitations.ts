import { randomBytes } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/core';
import {
  inTransaction,
  QuerySet,
  requireUser,
  retryLost,
  securityEvent,
  TargetObjectAlreadyExist,
} from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { type AccountModel, knownAccount, accountFields } from '../accounts/account-contract.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { normalizeEmail } from '../accounts/email-address.ts';
import { EntityContract } from '../accounts/entity-contract.ts';
import type { AccountAccess } from '../accounts/remaining-access.ts';
import { MailTokens } from '../codes/mail-tokens.ts';
import type { CountedMails } from '../codes/request-mails.ts';
import { NO_PASSWORD, WITHOUT_PASSWORD } from '../passwords/password-hasher.ts';
import type { KeyRing } from '../secrets/key-ring.ts';
import type { Wiring } from '../wiring.ts';
import type { InvitedAccount, ResolvedInvitationOptions } from './invitation-options.ts';

const SECRET_BYTES = 32;
const HASH_LENGTH = 43;

/** The properties of the account that hold its invitation. */
interface InvitationFields {
  readonly invitation_hash: string | null;
  readonly invited_until: Date | null;
}

/** An account with its invitation. */
export interface PendingAccount extends InvitedAccount, InvitationFields {
  readonly id: number;
  readonly isActive: boolean;
}

/** A new invitation, whose mail is not sent yet. */
export interface NewInvitation {
  readonly secret: string;
  readonly fields: InvitationFields;
}

export interface InvitationParts {
  readonly model: AccountModel;
  readonly accounts: Accounts;
  readonly access: AccountAccess;
  readonly mails: CountedMails;
  readonly keys: KeyRing;
  readonly options: ResolvedInvitationOptions;
}

/**
 * Accounts that were made for somebody: without a password and not active, until their owner accepts. The account has
 * the hash of the mailed secret and its address, so a new address voids the link. Nothing else that gives access to the
 * account outlasts a new invitation, a new address or the acceptance.
 */
export class Invitations {
  readonly #parts: InvitationParts;
  readonly #tokens: MailTokens;

  constructor(parts: InvitationParts) {
    this.#parts = parts;
    this.#tokens = new MailTokens(parts.keys.for('tokens'), 'invitation');
  }

  /** Makes an invitation for an address. */
  issue(email: string): NewInvitation {
    const { keys, options } = this.#parts;
    const address = normalizeEmail(email);
    const secret = randomBytes(SECRET_BYTES).toString('base64url');
    const invited_until = new Date(Date.now() + options.lifetimeMs);
    return { secret, fields: { invitation_hash: keys.hash(boundText(address, secret)), invited_until } };
  }

  /** The fields of a new account that is invited: it has no password and cannot log in. */
  newAccount({ fields }: NewInvitation): object {
    const { model } = this.#parts;
    return { ...accountFields(model, { password: WITHOUT_PASSWORD, is_active: false }), ...fields };
  }

  /** The role of new accounts; null if it does not exist. */
  defaultRole(request: FastifyRequest): Promise<object | null> {
    return this.#parts.accounts.newRole(request);
  }

  /**
   * Sends the mail. Throws TooManyRequests if the address got as many mails as it may, and ServiceUnavailable if the
   * mail could not be sent.
   *
   * @param isLimited true: TooManyRequests also if the user has sent as many as allowed
   */
  async send(
    request: FastifyRequest,
    account: InvitedAccount,
    { secret, fields }: NewInvitation,
    isLimited: boolean,
  ): Promise<void> {
    const { mails, options } = this.#parts;
    const { email, name } = account;
    const text = () => {
      const link = options.linkOf(this.#tokens.seal({ email, secret }));
      return options.email(link, { email, name }, fields.invited_until!);
    };
    const sender = isLimited ? { id: requireUser(request).id, maxPerDay: options.maxPerDay } : undefined;
    await mails.send(request, email, text, sender);
  }

  /** Deletes a new account whose mail was not sent, unless it has changed. */
  async discard(em: EntityManager, id: number, { fields }: NewInvitation): Promise<void> {
    const { account } = this.#parts.model;
    await retryLost(em, () => em.nativeDelete(account, this.#pending({ id, ...fields })));
  }

  /**
   * Replaces the invitation of an account that was never used, and sends the mail. If the mail is not sent, the earlier
   * invitation stays. Removes everything else that gives access to the account. Throws TargetObjectAlreadyExist if the
   * account is in use.
   */
  async sendAgain(request: FastifyRequest, entity: object, isLimited: boolean): Promise<InvitationFields> {
    const account = this.read(entity);
    const next = this.issue(account.email);
    const known = { id: account.id, email: account.email, invitation_hash: account.invitation_hash };
    if (!(await this.#replace(request, known, next.fields))) throw isInUse();
    try {
      await this.send(request, account, next, isLimited);
    } catch (error) {
      const { invitation_hash, invited_until } = account;
      await this.#update(request.em, { id: account.id, ...next.fields }, { invitation_hash, invited_until });
      throw error;
    }
    return next.fields;
  }

  /** Voids the link of an account. Throws TargetObjectAlreadyExist if the account is in use. */
  async revoke(request: FastifyRequest, entity: object): Promise<void> {
    const { id } = this.read(entity);
    if (!(await this.#update(request.em, { id }, { invitation_hash: null, invited_until: null }))) throw isInUse();
  }

  /** Returns the account that a token invites. Undefined if the link is wrong, has expired, was used or revoked. */
  async find(request: FastifyRequest, token: string): Promise<PendingAccount | undefined> {
    const { model, keys } = this.#parts;
    const { email, secret } = this.#tokens.open(token) ?? {};
    if (email === undefined || secret === undefined) return undefined;
    const found = await QuerySet.of(request.em, model.account).filter(accountFields(model, { email })).entity();
    const account = found && this.read(found);
    const { invitation_hash: hash = null, invited_until: until = null } = account ?? {};
    const isValid = hash !== null && keys.made(hash, boundText(email, secret)) && until !== null && until > new Date();
    return isValid ? account : undefined;
  }

  /**
   * Activates an account with the hash of the password that its owner has chosen, and removes everything else that gives
   * access to it. Returns false if the invitation was used, revoked or replaced meanwhile. Of several simultaneous calls,
   * only one succeeds.
   */
  accept(request: FastifyRequest, { id, email, invitation_hash }: PendingAccount, hash: string): Promise<boolean> {
    const { model } = this.#parts;
    const data = accountFields(model, { password: hash, is_active: true });
    const known = { id, email, invitation_hash };
    return this.#replace(request, known, { ...data, invitation_hash: null, invited_until: null });
  }

  /**
   * Runs a write of an account. If nobody has used the account and the write gives it another address, it removes
   * everything that gives access to the account: the new address may be that of somebody else.
   */
  async whileUnused<Changed extends object>(
    { em }: FastifyRequest,
    entity: object,
    write: () => Promise<Changed>,
  ): Promise<Changed> {
    const { model, access } = this.#parts;
    // A view may have other entities than the accounts of the plugin.
    if (!(entity instanceof model.meta.class)) return write();
    const { id, email, isActive } = this.read(entity);
    const isUnused = !isActive && (await em.count(model.account, this.#pending({ id }))) > 0;
    const changed = await write();
    if (isUnused && this.read(changed).email !== email) await access.removeAll(em, id);
    return changed;
  }

  /** Voids the invitation of an account that an administrator has enabled. */
  async voidIfActive(em: EntityManager, entity: object): Promise<void> {
    if (!this.read(entity).isActive) return;
    em.assign(entity, { invitation_hash: null, invited_until: null } as never);
    await em.flush();
  }

  read(entity: object): PendingAccount {
    const { id, email, name, is_active: isActive } = knownAccount(this.#parts.model, entity);
    const { invitation_hash, invited_until } = entity as InvitationFields;
    return { id, email, name, isActive, invitation_hash, invited_until };
  }

  /** Restricts a write to accounts that nobody has used yet. */
  #pending({ id, email, ...invitation }: Partial<PendingAccount>): never {
    const { model } = this.#parts;
    const known = { ...(id !== undefined && { id }), ...(email !== undefined && { email }) };
    const unused = { password: NO_PASSWORD, is_active: false, last_login: null };
    return { ...accountFields(model, { ...known, ...unused }), ...invitation } as never;
  }

  /** Updates an unused account, and removes everything that gives access to it, in one transaction. */
  #replace(request: FastifyRequest, known: Partial<PendingAccount> & { id: number }, data: object): Promise<boolean> {
    return inTransaction(request, async () => {
      if (!(await this.#update(request.em, known, data))) return false;
      await this.#parts.access.removeAll(request.em, known.id);
      return true;
    });
  }

  async #update(em: EntityManager, known: Partial<PendingAccount>, data: object): Promise<boolean> {
    const { account } = this.#parts.model;
    return (await retryLost(em, () => em.nativeUpdate(account, this.#pending(known), data as never))) > 0;
  }
}

function boundText(email: string, secret: string): string {
  return `invitation of ${email}\n${secret}`;
}

function isInUse(): TargetObjectAlreadyExist {
  return new TargetObjectAlreadyExist('The account is in use already, or was changed meanwhile');
}

/** The invitations of applications, by what their requests find as `app.auth`. */
const byInstance = new WeakMap<object, Invitations>();

/** Makes the invitations of an application; undefined if they are off. */
export function invitationsOf(
  { orm, model, accounts, options: { invitations: options, keyFor } }: Wiring,
  { mails, access }: Pick<InvitationParts, 'mails' | 'access'>,
  instance: object,
): Invitations | undefined {
  if (options === undefined) return undefined;
  const contract = new EntityContract(orm, 'account', model.account, ['invitation_hash', 'invited_until']);
  contract.requireNullable('invitation_hash', 'invited_until');
  contract.requireRoom('invitation_hash', HASH_LENGTH, 'the hash of an invitation');
  const made = new Invitations({ mails, access, model, accounts, options, keys: keyFor('invitations') });
  byInstance.set(instance, made);
  return made;
}

/** Returns the invitations of an application, by its `app.auth`; undefined if they are off. */
export function invitationsIn(instance: object): Invitations | undefined {
  return byInstance.get(instance);
}

/** The fields of a security event about another account. */
export function eventOf(request: FastifyRequest, event: string, target: number): object {
  return { ...securityEvent(request, event), target };
}
