import { type EntityManager, UniqueConstraintViolationException } from '@mikro-orm/core';
import { inTransaction, QuerySet, retryLost, TargetObjectAlreadyExist } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { RecoveryCodes } from './recovery-codes.ts';
import type { SecretBox } from '../secrets/secret-box.ts';
import { isTotpCode, makeTotpSecret, totpStepOf } from './totp.ts';
import type { TwoFactorEntity, TwoFactorModel } from './two-factor-contract.ts';

/** The kind of second factor that was used. */
export type UsedFactor = 'totp' | 'recovery_code';

/** Ten recovery codes can be used at once. */
const MAX_ATTEMPTS = 10;

/** The update that uses a right code up, unless another request has done so. */
interface CodeUse {
  readonly factor: UsedFactor;
  readonly condition: object;
  readonly changes: Partial<TwoFactorEntity>;
}

/**
 * All queries about second factors. Conditional updates use up codes: of several requests with one code, one succeeds.
 */
export class TwoFactors {
  readonly #model: TwoFactorModel;
  readonly #box: SecretBox;
  readonly #recoveryCodes: RecoveryCodes;

  constructor(model: TwoFactorModel, box: SecretBox, recoveryCodes: RecoveryCodes) {
    this.#model = model;
    this.#box = box;
    this.#recoveryCodes = recoveryCodes;
  }

  async isOn(em: EntityManager, account: number): Promise<boolean> {
    return (await this.#confirmed(em, account)) !== undefined;
  }

  /**
   * Gives the account a new secret, which counts once it is confirmed. Throws TargetObjectAlreadyExist if two factors are on, or another
   * request began at the same time.
   */
  async begin(request: FastifyRequest, account: number): Promise<string> {
    const secret = makeTotpSecret();
    const { entity } = this.#model;
    try {
      await inTransaction(request, async () => {
        const { em } = request;
        await em.nativeDelete(entity, { account: { id: account }, confirmed_at: null });
        const fields = { account, secret: this.#box.seal(secret, subjectOf(account)), recovery_codes: '' };
        await em.persist(em.create(entity, { ...fields, last_step: null, confirmed_at: null } as never)).flush();
      });
    } catch (error) {
      if (!(error instanceof UniqueConstraintViolationException)) throw error;
      throw new TargetObjectAlreadyExist('Two factors are on already', { cause: error });
    }
    return secret;
  }

  /** True if the account has a secret that is not confirmed yet. */
  async isPending(em: EntityManager, account: number): Promise<boolean> {
    const factor = await this.#find(em, account);
    return factor !== undefined && !factor.confirmed_at;
  }

  /**
   * Enables two factors, and returns the recovery codes. Undefined if the code is wrong, or there is nothing to
   * confirm.
   */
  async confirm(em: EntityManager, account: number, code: string): Promise<readonly string[] | undefined> {
    const pending = await this.#find(em, account);
    if (pending === undefined || pending.confirmed_at) return undefined;
    const step = this.#stepOf(pending, account, code);
    if (step === undefined) return undefined;
    const codes = this.#recoveryCodes.make();
    const isConfirmed = await this.#update(
      em,
      account,
      { confirmed_at: null, secret: pending.secret },
      {
        confirmed_at: new Date(),
        last_step: step,
        recovery_codes: this.#recoveryCodes.stored(account, codes),
      },
    );
    return isConfirmed ? codes : undefined;
  }

  /**
   * Uses up one of the account's codes. Undefined if it is wrong or already used.
   *
   * @param admit called before a right code is used up; throws if too many wrong codes came before it
   */
  async use(
    em: EntityManager,
    account: number,
    code: string,
    admit: () => Promise<unknown>,
  ): Promise<UsedFactor | undefined> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const factor = await this.#confirmed(em, account);
      const use =
        factor && (isTotpCode(code) ? this.#totp(factor, account, code) : this.#recoveryCode(factor, account, code));
      if (use === undefined) return undefined;
      await admit();
      if (await this.#update(em, account, use.condition, use.changes)) return use.factor;
      // Another request has used this code, or another one: then this one is still right.
    }
    return undefined;
  }

  async remove(em: EntityManager, account: number): Promise<void> {
    await retryLost(em, () => em.nativeDelete(this.#model.entity, { account: { id: account } }));
  }

  #totp(factor: TwoFactorEntity, account: number, code: string): CodeUse | undefined {
    const step = this.#stepOf(factor, account, code);
    if (step === undefined) return undefined;
    const isLater = { $or: [{ last_step: null }, { last_step: { $lt: step } }] };
    return {
      factor: 'totp',
      condition: { secret: factor.secret, ...isLater },
      changes: { last_step: step, ...this.#resealed(factor, account) },
    };
  }

  /** The secret encrypted with the current key, if another key has encrypted it: its key may be removed some day. */
  #resealed({ secret: sealed }: TwoFactorEntity, account: number): Partial<TwoFactorEntity> {
    const secret = this.#box.open(sealed, subjectOf(account));
    if (secret === undefined || this.#box.isCurrent(sealed, subjectOf(account))) return {};
    return { secret: this.#box.seal(secret, subjectOf(account)) };
  }

  #recoveryCode({ recovery_codes }: TwoFactorEntity, account: number, code: string): CodeUse | undefined {
    const left = this.#recoveryCodes.without(recovery_codes, account, code);
    if (left === undefined) return undefined;
    return { factor: 'recovery_code', condition: { recovery_codes }, changes: { recovery_codes: left } };
  }

  #stepOf({ secret: sealed, last_step }: TwoFactorEntity, account: number, code: string): number | undefined {
    const secret = this.#box.open(sealed, subjectOf(account));
    return secret === undefined || !isTotpCode(code)
      ? undefined
      : totpStepOf(secret, code, Date.now(), last_step ?? null);
  }

  async #confirmed(em: EntityManager, account: number): Promise<TwoFactorEntity | undefined> {
    const factor = await this.#find(em, account);
    return factor?.confirmed_at ? factor : undefined;
  }

  #find(em: EntityManager, account: number): Promise<TwoFactorEntity | undefined> {
    // From the primary: a login must not pass by a factor of which a replica does not know yet.
    const source = { em: em.fork(), readsPrimary: true };
    return QuerySet.of(source, this.#model.entity).filter({ account__id: account }).entity();
  }

  async #update(
    em: EntityManager,
    account: number,
    where: object,
    changes: Partial<TwoFactorEntity>,
  ): Promise<boolean> {
    const condition = { account: { id: account }, ...where };
    return (await retryLost(em, () => em.nativeUpdate(this.#model.entity, condition, changes))) > 0;
  }
}

function subjectOf(account: number): string {
  return `account ${account}`;
}
