import type { EntityMetadata, EntityName, MikroORM } from '@mikro-orm/core';
import type { AccountModel } from '../accounts/account-contract.ts';
import { EntityContract } from '../accounts/entity-contract.ts';

/**
 * The properties that the entity of second factors needs, under these names. It may have more properties, if a record
 * can be created without them (nullable, `default` or `onCreate`).
 *
 * | property | |
 * |---|---|
 * | `account` | unique reference to the account, with `deleteRule('cascade')` |
 * | `secret` | at least 100 characters; the encrypted secret |
 * | `last_step` | nullable integer; the time step of the last code that was used |
 * | `recovery_codes` | at least 500 characters; keyed hashes of the codes that are left |
 * | `confirmed_at` | nullable datetime; null: two factors are not on yet |
 */
export interface TwoFactorFields {
  secret: string;
  recovery_codes: string;
  last_step?: number | null | undefined;
  confirmed_at?: Date | null | undefined;
}

/** Any entity with at least these fields. */
export type TwoFactorSchema =
  | { readonly '~entity': TwoFactorFields }
  | (abstract new (...args: never[]) => TwoFactorFields);

export interface TwoFactorEntity extends TwoFactorFields {
  account: { id: number };
}

/** The entity of second factors, after the check of the contract. */
export interface TwoFactorModel {
  readonly entity: EntityName<TwoFactorEntity>;
  readonly meta: EntityMetadata<TwoFactorEntity>;
}

const PROPERTIES = ['account', 'secret', 'last_step', 'recovery_codes', 'confirmed_at'] as const;

/** Throws ImproperlyConfigured, naming the property, if an entity does not satisfy the contract. */
export function checkTwoFactor(
  orm: MikroORM,
  schema: TwoFactorSchema,
  { meta: account }: AccountModel,
): TwoFactorModel {
  const entity = schema as EntityName<TwoFactorEntity>;
  const contract = new EntityContract(orm, 'twoFactor', entity, PROPERTIES);
  contract.requireOwner('account', account);
  contract.requireUnique('account');
  contract.requireRoom('secret', 100, 'an encrypted secret');
  contract.requireRoom('recovery_codes', 500, 'the hashes of ten codes');
  contract.requireNullable('last_step', 'confirmed_at');
  return { entity, meta: contract.meta };
}
