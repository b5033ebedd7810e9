import { type EntityMetadata, type EntityName, type MikroORM, ReferenceKind } from '@mikro-orm/core';
import type { ImproperlyConfigured } from '@viewset/core';
import {
  entityOf,
  isJson,
  isReference,
  isUnique,
  type Properties,
  requireId,
  requireProperties,
  wrongEntity,
} from './entity-contract.ts';

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
 * | `roles` | optional: further roles, many-to-many with the entity of `role` |
 *
 * The entity of roles may have `permissions`, a JSON column with a list of names.
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
  /** True if accounts have further roles. */
  readonly hasRoles: boolean;
  /** True if roles carry permissions. */
  readonly hasPermissions: boolean;
}

const PROPERTIES = ['id', 'email', 'password', 'name', 'is_active', 'last_login', 'role'] as const;
const BCRYPT_HASH_LENGTH = 60;

/** Throws ImproperlyConfigured, naming the property, for an entity that does not satisfy the contract. */
export function checkAccount(orm: MikroORM, entity: AccountSchema): AccountModel {
  const account = entity as EntityName<AccountEntity>;
  const meta = entityOf(orm, 'account', account);
  const properties = meta.properties as Properties;
  requireProperties('account', meta, PROPERTIES);
  requireId('account', meta);
  if (!isUnique(meta, 'email')) throw wrong(`must have a unique property "email"; ${meta.className}.email is not`);
  const length = properties['password']?.length ?? BCRYPT_HASH_LENGTH;
  if (length < BCRYPT_HASH_LENGTH) {
    throw wrong(`must have room for a bcrypt hash, ${BCRYPT_HASH_LENGTH} characters, in "password"`);
  }
  const role = roleOf(meta);
  return {
    account,
    role: declaredRole(meta) ?? (role.class as EntityName<RoleFields>),
    meta,
    hasRoles: hasRoles(meta, role),
    hasPermissions: hasPermissions(role),
  };
}

/** Returns the entity of roles as the account names it: a read shape takes what was declared. */
function declaredRole({ properties }: EntityMetadata<AccountEntity>): EntityName<RoleFields> | undefined {
  const { entity } = properties.role as { entity?: unknown };
  const named: unknown = typeof entity === 'function' ? (entity as () => unknown)() : undefined;
  return typeof named === 'string' ? undefined : (named as EntityName<RoleFields> | undefined);
}

function hasRoles({ className, properties }: EntityMetadata<AccountEntity>, role: EntityMetadata): boolean {
  const roles = (properties as Properties)['roles'];
  if (roles === undefined) return false;
  if (roles.kind === ReferenceKind.MANY_TO_MANY && roles.targetMeta === role) return true;
  throw wrong(`must have "roles", if at all, as many-to-many with ${role.className}; ${className}.roles is not`);
}

function hasPermissions({ className, properties }: EntityMetadata): boolean {
  const permissions = (properties as Properties)['permissions'];
  if (permissions === undefined) return false;
  if (isJson(permissions)) return true;
  throw wrong(
    `must have roles whose "permissions" is a JSON column, if they have it; ${className}.permissions is none`,
  );
}

function roleOf({ className, properties }: EntityMetadata<AccountEntity>): EntityMetadata {
  const { targetMeta } = properties.role;
  if (!isReference(properties.role) || targetMeta === undefined) {
    throw wrong(`must have "role" as a reference to one entity; ${className}.role is none`);
  }
  const missing = ['id', 'name'].filter((name) => (targetMeta.properties as Properties)[name] === undefined);
  if (missing.length > 0) {
    throw wrong(
      `must refer by "role" to an entity with id and name; ${targetMeta.className} has no ${missing.join(', ')}`,
    );
  }
  return targetMeta;
}

function wrong(problem: string): ImproperlyConfigured {
  return wrongEntity('account', problem);
}
