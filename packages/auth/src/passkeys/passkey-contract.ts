import type { EntityMetadata, EntityName, MikroORM } from '@mikro-orm/core';
import type { AccountModel } from '../accounts/account-contract.ts';
import { EntityContract } from '../accounts/entity-contract.ts';

/**
 * The properties that the entity of passkeys needs, under these names. It may have more properties, if a passkey can be
 * created without them (nullable, `default` or `onCreate`).
 *
 * | property | |
 * |---|---|
 * | `id` | text of at least 36 characters or uuid, primary key |
 * | `account` | reference to the account, with `deleteRule('cascade')` |
 * | `name` | text of at least 100 characters |
 * | `credential_id` | unique text of at least 1364 characters |
 * | `public_key` | text of at least 1024 characters |
 * | `counter` | `p.bigint('number')`; the number of times that the authenticator says it was used |
 * | `transports` | nullable JSON; how browsers reach the authenticator |
 * | `created_at` | datetime |
 * | `last_used_at` | nullable datetime |
 */
export interface PasskeyFields {
  id: string;
  name: string;
  credential_id: string;
  public_key: string;
  counter: number;
  created_at: Date;
  last_used_at?: Date | null | undefined;
}

/** Any entity with at least these fields. */
export type PasskeySchema = { readonly '~entity': PasskeyFields } | (abstract new (...args: never[]) => PasskeyFields);

export interface PasskeyEntity extends PasskeyFields {
  transports?: unknown;
  account: { id: number };
}

/** The entity of passkeys, after the check of the contract. */
export interface PasskeyModel {
  readonly entity: EntityName<PasskeyEntity>;
  readonly meta: EntityMetadata<PasskeyEntity>;
}

const PROPERTIES = [
  'id',
  'account',
  'name',
  'credential_id',
  'public_key',
  'counter',
  'transports',
  'created_at',
  'last_used_at',
] as const;
const UUID_LENGTH = 36;
export const MAX_PASSKEY_NAME_LENGTH = 100;
/** The base64url length of 1023 bytes, the specification's maximum. */
export const MAX_CREDENTIAL_ID_LENGTH = 1364;
/** An RSA key of 4096 bits takes about 720 characters in base64url. */
export const MAX_PUBLIC_KEY_LENGTH = 1024;

/** Throws ImproperlyConfigured, naming the property, if an entity does not satisfy the contract. */
export function checkPasskey(orm: MikroORM, schema: PasskeySchema, { meta: account }: AccountModel): PasskeyModel {
  const entity = schema as EntityName<PasskeyEntity>;
  const contract = new EntityContract(orm, 'passkeys', entity, PROPERTIES);
  contract.requireKey('id');
  contract.requireText('id');
  contract.requireRoom('id', UUID_LENGTH, 'a UUID');
  contract.requireOwner('account', account);
  contract.requireRoom('name', MAX_PASSKEY_NAME_LENGTH, 'a name');
  contract.requireUnique('credential_id');
  contract.requireRoom('credential_id', MAX_CREDENTIAL_ID_LENGTH, 'an id');
  contract.requireRoom('public_key', MAX_PUBLIC_KEY_LENGTH, 'a key');
  contract.requireBigInteger('counter');
  contract.requireJson('transports');
  contract.requireNullable('transports', 'last_used_at');
  return { entity, meta: contract.meta };
}
