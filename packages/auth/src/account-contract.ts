import type { EntityMetadata, EntityName, MikroORM } from '@mikro-orm/core';
import { EntityContract } from './entity-contract.ts';

/**
 * The properties that an entity needs to serve as the account, under these names. The entity may have any others, as long
 * as an account can be made without them (nullable, `default` or `onCreate`).
 *
 * | property | |
 * |---|---|
 * | `id` | integer, primary key |
 * | `email` | unique; stored trimmed and in lower case |
 * | `password` | at least 60 characters; stored as a bcrypt hash |
 * | `name` | |
 * | `is_active` | boolean; false: the account cannot log in, and its tokens are void |
 * | `last_login` | datetime, nullable; the last successful login |
 * | `role` | nullable reference to an entity with a `name` |
 */
export interface AccountFields {
  id: number;
  email: string;
  password: string;
  name: string;
  is_active: boolean;
  last_login?: Date | null | undefined;
}

/** Any entity that has at least these fields, as the ORM takes it: of `defineEntity`, an EntitySchema or a class. */
export type AccountSchema = { readonly '~entity': AccountFields } | (abstract new (...args: never[]) => AccountFields);

/** An account with its role loaded. */
export interface AccountEntity extends AccountFields {
  role?: RoleFields | null;
}

export interface RoleFields {
  id: number;
  name: string;
}

/** The account entity and its roles, known to satisfy the contract. */
export interface AccountModel {
  readonly account: EntityName<AccountEntity>;
  readonly role: EntityName<RoleFields>;
  readonly meta: EntityMetadata<AccountEntity>;
}

const PROPERTIES = ['id', 'email', 'password', 'name', 'is_active', 'last_login', 'role'] as const;
const BCRYPT_HASH_LENGTH = 60;

/** Throws ImproperlyConfigured, naming the property, for an entity that does not satisfy the contract. */
export function checkAccount(orm: MikroORM, entity: AccountSchema): AccountModel {
  const account = entity as EntityName<AccountEntity>;
  const contract = new EntityContract(orm, 'account', account, PROPERTIES);
  contract.requireKey('id');
  contract.requireUnique('email');
  contract.requireRoom('password', BCRYPT_HASH_LENGTH, 'a bcrypt hash');
  const role = contract.requireReference('role', ['id', 'name']).class as EntityName<RoleFields>;
  return { account, role, meta: contract.meta };
}
