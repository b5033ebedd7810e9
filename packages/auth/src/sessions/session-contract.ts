import type { EntityMetadata, EntityName, MikroORM } from '@mikro-orm/core';
import type { AccountEntity, AccountModel } from '../accounts/account-contract.ts';
import { EntityContract } from '../accounts/entity-contract.ts';

/**
 * The properties that the entity of sessions needs, under these names. It may have more properties, if a session can be
 * created without them (nullable, `default` or `onCreate`). An index on `expires_at` speeds up the removal of old
 * sessions.
 *
 * | property | |
 * |---|---|
 * | `id` | text of at least 36 characters or uuid, primary key |
 * | `account` | reference to the account, with `deleteRule('cascade')` |
 * | `token_hash` | at least 43 characters; the SHA-256 of the refresh token that is good now |
 * | `created_at`, `last_used_at`, `expires_at` | datetimes, better with milliseconds |
 * | `ip` | at least 45 characters |
 * | `user_agent` | nullable, at least 255 characters |
 */
export interface SessionFields {
  id: string;
  token_hash: string;
  created_at: Date;
  /** The time of the login or of the last refresh. */
  last_used_at: Date;
  expires_at: Date;
  ip: string;
  user_agent?: string | null | undefined;
}

/** Any entity with at least these fields. */
export type SessionSchema = { readonly '~entity': SessionFields } | (abstract new (...args: never[]) => SessionFields);

/** A session with its account. */
export interface SessionEntity extends SessionFields {
  account: AccountEntity;
}

/** The session entity, after the check of the contract. */
export interface SessionModel {
  readonly entity: EntityName<SessionEntity>;
  readonly meta: EntityMetadata<SessionEntity>;
}

const PROPERTIES = [
  'id',
  'account',
  'token_hash',
  'created_at',
  'last_used_at',
  'expires_at',
  'ip',
  'user_agent',
] as const;
const UUID_LENGTH = 36;
const HASH_LENGTH = 43;
/** The length of an IPv6 address that ends in an IPv4 one. A trusted proxy may pass on any text. */
export const MAX_IP_LENGTH = 45;
/** The longest stored part of a browser's user agent. */
export const MAX_USER_AGENT_LENGTH = 255;

/** Throws ImproperlyConfigured, naming the property, if an entity does not satisfy the contract. */
export function checkSession(orm: MikroORM, schema: SessionSchema, { meta: account }: AccountModel): SessionModel {
  const entity = schema as EntityName<SessionEntity>;
  const contract = new EntityContract(orm, 'sessions', entity, PROPERTIES);
  contract.requireKey('id');
  contract.requireRoom('id', UUID_LENGTH, 'a UUID');
  contract.requireRoom('token_hash', HASH_LENGTH, 'a hash');
  contract.requireRoom('ip', MAX_IP_LENGTH, 'an address');
  contract.requireRoom('user_agent', MAX_USER_AGENT_LENGTH, 'the name of a browser');
  contract.requireOwner('account', account);
  return { entity, meta: contract.meta };
}
