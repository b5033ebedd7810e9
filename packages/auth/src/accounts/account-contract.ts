import {
  type EntityMetadata,
  type EntityName,
  type EntityProperty,
  type MikroORM,
  ReferenceKind,
} from '@mikro-orm/core';
import { checkOptionNames, wrongOption } from '@viewset/core';
import { EntityContract, isJson, type Properties } from './entity-contract.ts';

/**
 * The properties that the account entity needs, under these names or the names in the option `fields`. It may have more
 * properties, if an account can be created without them (nullable, `default` or `onCreate`) or they are in
 * `registrationFields`.
 *
 * | property | |
 * |---|---|
 * | `id` | integer, primary key |
 * | `email` | unique; stored trimmed and in lower case |
 * | `password` | at least 60 characters, 120 with `argon2`; stored as a hash |
 * | `name` | |
 * | `is_active` | boolean; false: the account cannot log in, and its tokens are void |
 * | `last_login` | datetime, nullable; the last successful login |
 * | `role` | nullable reference to an entity with a `name` |
 * | `roles` | optional, under this name: further roles, many-to-many with the entity of `role` |
 *
 * The role entity may have `permissions`, a JSON column with a list of names.
 */
export interface AccountFields {
  id: number;
  email: string;
  password: string;
  name: string;
  is_active: boolean;
  last_login?: Date | null | undefined;
}

/** Any entity with at least these fields, from `defineEntity`, an EntitySchema or a class. */
export type AccountSchema = { readonly '~entity': AccountFields } | (abstract new (...args: never[]) => AccountFields);

/** The properties that may have other names: `{ name: 'username', is_active: 'isActive' }`. */
export type AccountNames<Entity = never> = {
  readonly [Field in Exclude<AccountProperty, 'id'>]?: [Entity] extends [never] ? string : keyof Entity & string;
};

/** Any entity with an integer `id`. The option `fields` names its other properties. */
export type NamedAccountSchema =
  | { readonly '~entity': { id: number } }
  | (abstract new (...args: never[]) => { id: number });

/** An account with its role loaded. */
export interface AccountEntity extends AccountFields {
  role?: RoleFields | null;
}

export interface RoleFields {
  id: number;
  name: string;
}

/** The account entity and its roles, after the check of the contract. */
export interface AccountModel {
  readonly account: EntityName<AccountEntity>;
  readonly role: EntityName<RoleFields>;
  readonly meta: EntityMetadata<AccountEntity>;
  /** True if accounts have further roles. */
  readonly hasRoles: boolean;
  /** True if roles carry permissions. */
  readonly hasPermissions: boolean;
  /** The entity's name for each property. */
  readonly names: Readonly<Record<AccountProperty, string>>;
}

const PROPERTIES = ['id', 'email', 'password', 'name', 'is_active', 'last_login', 'role'] as const;
type AccountProperty = (typeof PROPERTIES)[number];

/** Throws ImproperlyConfigured, naming the property, if an entity does not satisfy the contract. */
export function checkAccount(
  orm: MikroORM,
  entity: AccountSchema | NamedAccountSchema,
  fields: AccountNames | undefined,
  hashes: { readonly kind: string; readonly length: number },
): AccountModel {
  const account = entity as EntityName<AccountEntity>;
  const names = namesOf(fields);
  const contract = new EntityContract(orm, 'account', account, Object.values(names));
  contract.requireKey('id');
  contract.requireUnique(names.email);
  contract.requireRoom(names.password, hashes.length, hashes.kind);
  const role = contract.requireReference(names.role, ['id', 'name']);
  const { meta } = contract;
  const properties = meta.properties as Properties;
  return {
    account,
    role: declaredEntity(properties[names.role]!) ?? (role.class as EntityName<RoleFields>),
    meta,
    names,
    hasRoles: hasRoles(contract, role),
    hasPermissions: hasPermissions(contract, role),
  };
}

/** Returns a reference's entity as it was declared, for read shapes. */
function declaredEntity(property: EntityProperty): EntityName<RoleFields> | undefined {
  const { entity } = property as { entity?: unknown };
  const named: unknown = typeof entity === 'function' ? (entity as () => unknown)() : undefined;
  return typeof named === 'string' ? undefined : (named as EntityName<RoleFields> | undefined);
}

function hasRoles(contract: EntityContract<AccountEntity>, role: EntityMetadata): boolean {
  const { className, properties } = contract.meta;
  const roles = (properties as Properties)['roles'];
  if (roles === undefined) return false;
  if (roles.kind === ReferenceKind.MANY_TO_MANY && roles.targetMeta === role) return true;
  throw contract.wrong(`may have "roles" only as many-to-many with ${role.className}; ${className}.roles is not`);
}

function hasPermissions(contract: EntityContract<AccountEntity>, { className, properties }: EntityMetadata): boolean {
  const permissions = (properties as Properties)['permissions'];
  if (permissions === undefined) return false;
  if (isJson(permissions)) return true;
  throw contract.wrong(
    `must have roles whose "permissions", if any, is a JSON column; ${className}.permissions is none`,
  );
}

/** Returns the account with the contract's names. An entity that already has them is returned unchanged. */
export function knownAccount({ names }: AccountModel, entity: object): AccountEntity {
  if (PROPERTIES.every((property) => names[property] === property)) return entity as AccountEntity;
  const values = entity as Readonly<Record<string, unknown>>;
  return Object.fromEntries(PROPERTIES.map((property) => [property, values[names[property]]])) as never;
}

/** Renames values of an account to the entity's names. */
export function accountFields({ names }: AccountModel, values: Partial<AccountEntity>): object {
  const given = Object.entries(values) as [AccountProperty, unknown][];
  return Object.fromEntries(given.map(([property, value]) => [names[property], value]));
}

function namesOf(fields: AccountNames = {}): AccountModel['names'] {
  checkOptionNames('auth: option "fields"', fields, PROPERTIES.slice(1));
  for (const [property, name] of Object.entries<unknown>(fields)) {
    if (typeof name !== 'string') throw wrongOption('auth', `fields.${property}`, 'the name of a property', name);
  }
  const properties = PROPERTIES.map((property) => [property, fields[property as keyof AccountNames] ?? property]);
  return Object.fromEntries(properties) as AccountModel['names'];
}
