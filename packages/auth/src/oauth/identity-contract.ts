import type { EntityMetadata, EntityName, MikroORM } from '@mikro-orm/core';
import type { AccountModel } from '../accounts/account-contract.ts';
import { EntityContract } from '../accounts/entity-contract.ts';

/**
 * The properties of the entity that links accounts to logins with other services, under these names. It may have more
 * properties, if a record can be created without them (nullable, `default` or `onCreate`).
 *
 * | property | |
 * |---|---|
 * | `account` | reference to the account, with `deleteRule('cascade')` |
 * | `provider` | at least 50 characters; the name of the service |
 * | `subject` | at least 255 characters; the service's id of the person, unique together with `provider` |
 */
export interface IdentityFields {
  provider: string;
  subject: string;
}

/** Any entity with at least these fields. */
export type IdentitySchema =
  | { readonly '~entity': IdentityFields }
  | (abstract new (...args: never[]) => IdentityFields);

export interface IdentityEntity extends IdentityFields {
  account: { id: number };
}

/** The entity of identities, after the check of the contract. */
export interface IdentityModel {
  readonly entity: EntityName<IdentityEntity>;
  readonly meta: EntityMetadata<IdentityEntity>;
}

export const MAX_PROVIDER_LENGTH = 50;
export const MAX_SUBJECT_LENGTH = 255;

/** Throws ImproperlyConfigured, naming the property, if an entity does not satisfy the contract. */
export function checkIdentity(orm: MikroORM, schema: IdentitySchema, { meta: account }: AccountModel): IdentityModel {
  const entity = schema as EntityName<IdentityEntity>;
  const contract = new EntityContract(orm, 'oauth.identity', entity, ['account', 'provider', 'subject']);
  contract.requireOwner('account', account);
  contract.requireRoom('provider', MAX_PROVIDER_LENGTH, 'a name');
  contract.requireRoom('subject', MAX_SUBJECT_LENGTH, 'an id');
  contract.requireUniqueTogether('provider', 'subject');
  return { entity, meta: contract.meta };
}
