import {
  type EntityMetadata,
  type EntityName,
  type EntityProperty,
  type MikroORM,
  ReferenceKind,
} from '@mikro-orm/core';
import { checkOptionNames, ImproperlyConfigured, wrongOption } from '@viewset/core';

/**
 * The properties that an entity needs to serve as the account, under these names or those of the option `fields`. The entity may
 * have any others, as long as an account can be made without them (nullable, `default` or `onCreate`), or `registrationFields` has them.
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

/** The properties that may have names of your own: `{ name: 'username', is_active: 'isActive' }`. */
export type AccountNames<Entity = never> = {
  readonly [Field in Exclude<AccountProperty, 'id'>]?: [Entity] extends [never] ? string : keyof Entity & string;
};

/** Any entity with an integer `id`, whose other properties the option `fields` names. */
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

/** The account entity and its roles, known to satisfy the contract. */
export interface AccountModel {
  readonly account: EntityName<AccountEntity>;
  readonly role: EntityName<RoleFields>;
  readonly meta: EntityMetadata<AccountEntity>;
  /** The name that the entity has for each property. */
  readonly names: Readonly<Record<AccountProperty, string>>;
}

const PROPERTIES = ['id', 'email', 'password', 'name', 'is_active', 'last_login', 'role'] as const;
type AccountProperty = (typeof PROPERTIES)[number];

type Properties = Readonly<Record<string, EntityProperty | undefined>>;

/** Throws ImproperlyConfigured, naming the property, for an entity that does not satisfy the contract. */
export function checkAccount(
  orm: MikroORM,
  entity: AccountSchema | NamedAccountSchema,
  fields: AccountNames | undefined,
  hashes: { readonly kind: string; readonly length: number },
): AccountModel {
  const account = entity as EntityName<AccountEntity>;
  const meta = orm.getMetadata().find(account);
  if (meta === undefined || !orm.getMetadata().has(meta.class)) {
    throw wrong('must be an entity that the ORM knows (its option "entities")');
  }
  const names = namesOf(fields);
  const properties = meta.properties as Properties;
  const needed = PROPERTIES.map((property) => names[property]);
  const missing = needed.filter((name) => properties[name] === undefined);
  if (missing.length > 0) {
    throw wrong(`must have the properties ${needed.join(', ')}; ${meta.className} has no ${missing.join(', ')}`);
  }
  if (meta.primaryKeys.join(',') !== 'id') {
    throw wrong(`must have "id" as its primary key, and no other (${meta.className})`);
  }
  const { email, password } = names;
  if (!isUnique(meta, email)) throw wrong(`must have a unique property "${email}"; ${meta.className}.${email} is not`);
  const length = properties[password]?.length ?? hashes.length;
  if (length < hashes.length) {
    throw wrong(`must have room for ${hashes.kind}, ${hashes.length} characters, in "${password}"`);
  }
  return { account, role: roleOf(meta, names.role), meta, names };
}

/** Returns the account with the names of the contract. An entity that has them is returned as it is. */
export function knownAccount({ names }: AccountModel, entity: object): AccountEntity {
  if (PROPERTIES.every((property) => names[property] === property)) return entity as AccountEntity;
  const values = entity as Readonly<Record<string, unknown>>;
  return Object.fromEntries(PROPERTIES.map((property) => [property, values[names[property]]])) as never;
}

/** Returns values of an account with the names of the entity. */
export function ownFields({ names }: AccountModel, values: Partial<AccountEntity>): object {
  const given = Object.entries(values) as [AccountProperty, unknown][];
  return Object.fromEntries(given.map(([property, value]) => [names[property], value]));
}

function namesOf(fields: AccountNames = {}): AccountModel['names'] {
  checkOptionNames('auth: option "fields"', fields, PROPERTIES.slice(1));
  for (const [property, name] of Object.entries<unknown>(fields)) {
    if (typeof name !== 'string') throw wrongOption('auth', `fields.${property}`, 'the name of a property', name);
  }
  const own = PROPERTIES.map((property) => [property, fields[property as keyof AccountNames] ?? property]);
  return Object.fromEntries(own) as AccountModel['names'];
}

function roleOf({ className, properties }: EntityMetadata<AccountEntity>, name: string): EntityName<RoleFields> {
  const { kind, targetMeta } = (properties as Properties)[name]!;
  const isReference = kind === ReferenceKind.MANY_TO_ONE || kind === ReferenceKind.ONE_TO_ONE;
  if (!isReference || targetMeta === undefined) {
    throw wrong(`must have "${name}" as a reference to one entity; ${className}.${name} is none`);
  }
  const missing = ['id', 'name'].filter((each) => (targetMeta.properties as Properties)[each] === undefined);
  if (missing.length > 0) {
    throw wrong(
      `must refer by "${name}" to an entity with id and name; ${targetMeta.className} has no ${missing.join(', ')}`,
    );
  }
  return targetMeta.class as EntityName<RoleFields>;
}

function isUnique(meta: EntityMetadata<AccountEntity>, name: string): boolean {
  const properties = meta.properties as Properties;
  const named = meta.uniques.some((unique) => [unique.properties].flat().join(',') === name);
  return named || properties[name]?.unique === true;
}

function wrong(problem: string): ImproperlyConfigured {
  return new ImproperlyConfigured(`auth: option "account" ${problem}`);
}
