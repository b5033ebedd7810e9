import type { EntityMetadata, EntityName, MikroORM } from '@mikro-orm/core';
import type { AccountModel } from '../accounts/account-contract.ts';
import { EntityContract } from '../accounts/entity-contract.ts';

/**
 * The properties that the entity of API keys needs, under these names. It may have more properties, if a key can be
 * created without them (nullable, `default` or `onCreate`).
 *
 * | property | |
 * |---|---|
 * | `id` | text of at least 16 characters, primary key; the visible part of the key |
 * | `account` | reference to the account, with `deleteRule('cascade')` |
 * | `name` | text of at least 100 characters |
 * | `hash` | text of at least 43 characters; the SHA-256 of the secret part |
 * | `scopes` | nullable JSON; a list of permissions |
 * | `expires_at` | nullable datetime |
 * | `last_used_at` | nullable datetime |
 * | `created_at` | datetime |
 */
export interface ApiKeyFields {
  id: string;
  name: string;
  hash: string;
  created_at: Date;
  expires_at?: Date | null | undefined;
  last_used_at?: Date | null | undefined;
}

/** Any entity with at least these fields. */
export type ApiKeySchema = { readonly '~entity': ApiKeyFields } | (abstract new (...args: never[]) => ApiKeyFields);

export interface ApiKeyEntity extends ApiKeyFields {
  scopes?: unknown;
  account: { id: number; is_active: boolean };
}

/** The entity of API keys, after the check of the contract. */
export interface ApiKeyModel {
  readonly entity: EntityName<ApiKeyEntity>;
  readonly meta: EntityMetadata<ApiKeyEntity>;
}

/** The number of characters in an `id`. */
export const API_KEY_ID_LENGTH = 16;
export const MAX_API_KEY_NAME_LENGTH = 100;

const PROPERTIES = ['id', 'account', 'name', 'hash', 'scopes', 'expires_at', 'last_used_at', 'created_at'] as const;
const HASH_LENGTH = 43;

/** Throws ImproperlyConfigured, naming the property, if an entity does not satisfy the contract. */
export function checkApiKey(orm: MikroORM, schema: ApiKeySchema, { meta: account }: AccountModel): ApiKeyModel {
  const entity = schema as EntityName<ApiKeyEntity>;
  const contract = new EntityContract(orm, 'apiKeys', entity, PROPERTIES);
  contract.requireKey('id');
  contract.requireText('id');
  contract.requireRoom('id', API_KEY_ID_LENGTH, 'an id');
  contract.requireOwner('account', account);
  contract.requireRoom('name', MAX_API_KEY_NAME_LENGTH, 'a name');
  contract.requireRoom('hash', HASH_LENGTH, 'a hash');
  contract.requireJson('scopes');
  contract.requireNullable('scopes', 'expires_at', 'last_used_at');
  return { entity, meta: contract.meta };
}
