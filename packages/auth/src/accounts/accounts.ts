import { type EntityManager, type EntityName, ForeignKeyConstraintViolationException } from '@mikro-orm/core';
import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import {
  InvalidUsage,
  inTransaction,
  many,
  type Projection,
  QuerySet,
  type ReadShape,
  readShape,
  RecordFinder,
  requireUser,
  retryLost,
  TargetObjectAlreadyExist,
  Unauthorized,
} from '@viewset/core';
import type { TokenAccount } from '../tokens/access-tokens.ts';
import {
  type AccountEntity,
  type AccountModel,
  knownAccount,
  accountFields,
  type RoleFields,
} from './account-contract.ts';
import type { AccountInput } from './account-input.ts';
import type { AfterRegistration } from './after-registration.ts';
import { markHashed } from './account-subscriber.ts';
import { isTakenValue } from './taken-value.ts';
import { NO_PASSWORD, type PasswordHasher } from '../passwords/password-hasher.ts';

/**
 * The logged-in user in `request.user`: the account and its role, without the password and outside of any unit of work. It is read again
 * for each request; with `userCacheSeconds` it is frozen and reused for that time. If a query or a new record needs the account, use
 * `user.id`.
 *
 * Declare the type once in the application. With your own `retrieveUser`, declare the type that it returns.
 *
 * @example
 * declare module '@viewset/core' {
 *   interface ViewsetTypes { user: AccountUser }
 * }
 */
export class AccountUser {
  readonly id: number;
  readonly email: string;
  readonly name: string;
  /** Always true, because disabled accounts are not authenticated. */
  readonly is_active: boolean;
  readonly role: Readonly<RoleFields> | null;
  /** All roles, `role` first; only if the account has `roles`. */
  readonly roles?: readonly Readonly<RoleFields>[];
  /** The names of the permissions of all roles, without duplicates; only if roles have `permissions`. */
  readonly permissions?: readonly string[];

  constructor({ id, email, name, is_active, role, roles, permissions }: AccountUser) {
    this.id = id;
    this.email = email;
    this.name = name;
    this.is_active = is_active;
    this.role = role;
    if (roles !== undefined) this.roles = roles;
    if (permissions !== undefined) this.permissions = permissions;
  }
}

/** The user of an application that also has the fields of a read shape. Fields of AccountUser take precedence. */
export type UserOf<Shape extends { readonly output?: object }> = AccountUser &
  Omit<NonNullable<Shape['output']>, keyof AccountUser>;

/** A read shape of the account. */
export type ShownFields = Pick<ReadShape<object, object>, 'schema' | 'bind'>;

/** The role of new accounts. */
export interface DefaultRole {
  readonly name: string;
  /** True if the application names it. */
  readonly isGiven: boolean;
}

/** The fields that a registration gives an account. */
export interface NewAccount {
  readonly email: string;
  /** Undefined: nobody can log in by a password until the owner sets one. */
  readonly password: string | undefined;
  readonly name: string;
  /** The application's own fields of the body. */
  readonly extra?: object;
}

/** The expected state of an account whose password changes. */
interface KnownPassword {
  readonly id: number;
  readonly email: string;
  /** The hash that it has. */
  readonly password?: string;
}

/** An account that logs in, with its password hash if the login used a password. */
export interface LoginAccount extends TokenAccount {
  readonly password?: string | undefined;
}

/** An account and its role, as one row, with its further roles. */
export interface AccountRow extends Pick<AccountUser, 'id' | 'email' | 'name' | 'is_active'> {
  readonly role_id: number | null;
  readonly role_name: string | null;
  readonly role_permissions?: unknown;
  readonly further_roles?: readonly RoleRow[];
}

export interface RoleRow extends RoleFields {
  readonly permissions?: unknown;
}

/** @param shown additional fields that the application shows for its users */
export function userOf(row: AccountRow, shown?: object): AccountUser {
  const { id, email, name, is_active, role_id, role_name, role_permissions, further_roles } = row;
  const role = role_id === null || role_name === null ? null : { id: role_id, name: role_name };
  const further = (further_roles ?? []).filter((each) => each.id !== role_id);
  const lists = [role_permissions, ...further.map(({ permissions }) => permissions)];
  const roles = [...(role === null ? [] : [role]), ...further.map((each) => ({ id: each.id, name: each.name }))];
  const fields = {
    id,
    email,
    name,
    is_active,
    role,
    ...(further_roles && { roles }),
    ...('role_permissions' in row && { permissions: [...new Set(lists.flatMap(namesIn))] }),
  };
  return Object.assign(new AccountUser(fields), shown, fields);
}

/** A JSON column may hold anything. */
function namesIn(permissions: unknown): string[] {
  return Array.isArray(permissions) ? permissions.filter((name) => typeof name === 'string') : [];
}

/**
 * The paths of an AccountRow's fields, for read shapes. Use the `prefix` `account.` for records that refer to an
 * account.
 */
export function userFields({ names, hasPermissions }: AccountModel, prefix = ''): Readonly<Record<string, string>> {
  const role = prefix + names.role;
  return {
    id: `${prefix}id`,
    email: prefix + names.email,
    name: prefix + names.name,
    is_active: prefix + names.is_active,
    role_id: `${role}.id`,
    role_name: `${role}.name`,
    ...(hasPermissions && { role_permissions: `${role}.permissions` }),
  };
}

/** The read shape of the further roles of an account, as `further_roles`; undefined if accounts have none. */
export function furtherRoles({ account, role, hasRoles, hasPermissions }: AccountModel): AnyShape | undefined {
  if (!hasRoles) return undefined;
  const names = ['id', 'name', ...(hasPermissions ? ['permissions'] : [])];
  const shape: AnyShape = readShape(role as EntityName<object>, names as never[]);
  const further = { further_roles: many(shape, { from: 'roles' as never }) };
  return readShape(account as EntityName<object>, [], further as never);
}

type AnyShape = ReadShape<object, object>;

/** Read shapes of the account. */
export interface AccountShapes {
  /** Additional fields of users, beside those of AccountUser. */
  readonly users?: ShownFields | undefined;
  /** The fields of `/me`. */
  readonly me?: ShownFields | undefined;
  /** Runs in the transaction of a new account. */
  readonly afterRegistration?: AfterRegistration | undefined;
}

/** Something to read with: an entity manager, or what else a query set takes. */
type Source = Parameters<typeof QuerySet.of>[0];

const MAX_INT4 = 2 ** 31 - 1;
/** Every query that authentication makes of accounts. */
export class Accounts {
  readonly #model: AccountModel;
  readonly #afterRegistration: AfterRegistration | undefined;
  readonly #defaultRole: DefaultRole;
  #hasWarnedOfRole = false;
  readonly #hasher: PasswordHasher;
  readonly #maxId: number;
  readonly #active: RecordFinder<AccountEntity, AccountUser>;
  readonly #ids: Projection<{ readonly id: number }>;
  /** Undefined if the option `me` is off. */
  readonly #shown: RecordFinder<AccountEntity, object> | undefined;

  /** @param em the ORM's global entity manager */
  constructor(
    model: AccountModel,
    defaultRole: DefaultRole,
    hasher: PasswordHasher,
    em: EntityManager,
    { users, me, afterRegistration }: AccountShapes = {},
  ) {
    this.#model = model;
    this.#afterRegistration = afterRegistration;
    this.#hasher = hasher;
    this.#defaultRole = defaultRole;
    const { meta } = model;
    this.#maxId = /big/i.test(meta.properties.id.columnTypes[0] ?? '') ? Number.MAX_SAFE_INTEGER : MAX_INT4;
    const platform = em.getPlatform();
    this.#ids = readShape(model.account, ['id']).bind(meta, platform);
    const alone: AnyShape = readShape(model.account as EntityName<object>, [], userFields(model) as never);
    const further = furtherRoles(model);
    const row = (further === undefined ? alone : alone.extend(further)) as ReadShape<object, AccountRow>;
    const active = this.#all(em).filter(this.#named({ is_active: true }));
    this.#active = new RecordFinder(active, userProjection(row.bind(meta, platform), users?.bind(meta, platform)));
    this.#shown = me && new RecordFinder<AccountEntity, object>(active, me.bind(meta, platform));
  }

  /** Finds the account of a token in one query; null if it does not exist or is disabled. */
  async user(request: FastifyRequest, id: unknown): Promise<AccountUser | null> {
    return this.#isId(id) ? ((await this.#active.find(request, id)) ?? null) : null;
  }

  /** @param email normalized */
  byEmail(source: Source, email: string): Promise<AccountEntity | undefined> {
    return this.#one(this.#all(source).filter(this.#named({ email })));
  }

  /** Finds an account with its role loaded, also one that is disabled. */
  async byId(source: Source, id: number): Promise<AccountEntity | undefined> {
    return this.#isId(id) ? this.#one(this.#all(source).filter({ id })) : undefined;
  }

  /** Finds the id of a normalized address's active account. The query costs the same if there is none. */
  async activeId(em: EntityManager, email: string): Promise<number | undefined> {
    const found = await this.#all(em)
      .filter(this.#named({ email, is_active: true }))
      .first(this.#ids);
    return found?.id;
  }

  /**
   * Finds the logged-in user's account. Throws Unauthorized without a login, or if the account was deleted or disabled.
   */
  async ofRequest(request: FastifyRequest): Promise<AccountEntity> {
    const { id } = requireUser(request);
    const active = this.#all(request.em).filter(this.#named({ is_active: true }));
    const account = this.#isId(id) ? await this.#one(active.filter({ id })) : undefined;
    if (account === undefined) throw new Unauthorized();
    return account;
  }

  /** Finds an account without its role, by one query also if there is none. */
  async withoutRole(em: EntityManager, email: string): Promise<Omit<AccountEntity, 'role'> | undefined> {
    const account = await this.#all(em).filter(this.#named({ email })).entity();
    return account && knownAccount(this.#model, account);
  }

  /** Throws InvalidUsage if the address has an account. */
  async requireUnregistered(em: EntityManager, email: string): Promise<void> {
    if (await this.#all(em).filter(this.#named({ email })).exists()) throw taken('email');
  }

  /** Sets only `last_login`. Returns false if the account was deleted or disabled, or its password has changed. */
  recordLogin(em: EntityManager, { id, password }: LoginAccount): Promise<boolean> {
    const known = password === undefined ? { id } : { id, password };
    return this.#update(em, { ...known, is_active: true }, { last_login: new Date() });
  }

  /** Stores another hash of the same password, unless the password has been changed meanwhile. */
  async replaceHash(em: EntityManager, { id, password }: AccountEntity, hash: string): Promise<void> {
    await this.#update(em, { id, password }, { password: hash });
  }

  /**
   * Stores the hash of a new password. Returns false if the account has changed or was disabled. Of several
   * simultaneous changes of one password, only one succeeds.
   */
  changePassword(em: EntityManager, known: KnownPassword, hash: string): Promise<boolean> {
    return this.#update(em, { ...known, is_active: true }, { password: hash });
  }

  /**
   * Changes the account's address, unless it has changed meanwhile. Throws InvalidUsage if another account has the
   * address, and Unauthorized if the account was deleted or disabled.
   */
  async changeEmail(em: EntityManager, { id, email }: AccountEntity, address: string): Promise<void> {
    try {
      if (await this.#update(em, { id, email, is_active: true }, { email: address })) return;
    } catch (error) {
      throw this.#isTaken(error) ? taken('new_email', error) : error;
    }
    throw new Unauthorized();
  }

  /** Returns the `/me` fields of the logged-in user's account. Throws Unauthorized if it was deleted or disabled. */
  async shown(request: FastifyRequest): Promise<object> {
    const { id } = requireUser(request);
    const record = this.#isId(id) ? await this.#shown?.find(request, id) : undefined;
    if (record === undefined) throw new Unauthorized();
    return record;
  }

  /**
   * Stores the changes that users make to their own account. Throws TargetObjectAlreadyExist for a value that another
   * account has.
   */
  async change(request: FastifyRequest, input: AccountInput, data: object): Promise<void> {
    try {
      await inTransaction(request, async () => {
        const account = await this.#locked(request);
        const { em } = request;
        em.assign(account, (await input.resolve(em, data)) as never);
        await em.flush();
      });
    } catch (error) {
      throw input.conflictOf(error, data);
    }
  }

  /**
   * Deletes the logged-in user's account. Throws Unauthorized if it was deleted or its password has changed, and
   * TargetObjectAlreadyExist if records refer to it.
   *
   * @param around a step in the same transaction, which must call the function that it gets
   */
  async delete(
    request: FastifyRequest,
    { password }: AccountEntity,
    around: (remove: () => Promise<void>) => Promise<unknown>,
  ): Promise<void> {
    try {
      await inTransaction(request, async () => {
        const account = await this.#locked(request);
        if (knownAccount(this.#model, account).password !== password) throw new Unauthorized();
        await around(() => request.em.remove(account).flush());
      });
    } catch (error) {
      if (!(error instanceof ForeignKeyConstraintViolationException)) throw error;
      throw new TargetObjectAlreadyExist('Other records refer to the account', { cause: error });
    }
  }

  /** Throws InvalidUsage if the address was registered meanwhile. */
  async create(
    request: FastifyRequest,
    { email, password, name, extra = {} }: NewAccount,
    input?: AccountInput,
  ): Promise<AccountEntity> {
    // Before the transaction, so that no connection waits for bcrypt.
    const hash = password === undefined ? NO_PASSWORD : await this.#hasher.hash(password);
    // Only the error of the account itself may be that of a taken address.
    const failures = new Set<unknown>();
    try {
      return await inTransaction(request, async () => {
        const { em } = request;
        const role = await this.newRole(request);
        const fields = accountFields(this.#model, { email, password: hash, name, is_active: true, role });
        const more = await input?.resolve(em, extra);
        const account = em.create(this.#model.account, { ...more, ...fields } as never);
        markHashed(account, hash);
        await em.persist(account).flush();
        const known = knownAccount(this.#model, account);
        await this.#register(request, known, failures);
        return known;
      });
    } catch (error) {
      if (failures.has(error)) throw error;
      if (this.#isTaken(error)) throw taken('email', error);
      throw input === undefined ? error : input.conflictOf(error, extra);
    }
  }

  /** Calls the application's hook, and stores what it has changed. Adds its error to `failures`. */
  async #register(request: FastifyRequest, { id, email, name }: AccountEntity, failures: Set<unknown>): Promise<void> {
    if (this.#afterRegistration === undefined) return;
    try {
      await this.#afterRegistration(request, { id, email, name });
      await request.em.flush();
    } catch (error) {
      failures.add(error);
      throw error;
    }
  }

  /** Returns the role of new accounts; null if no role has its name. */
  async newRole(request: FastifyRequest): Promise<RoleFields | null> {
    const role = await this.#findRole(request.em);
    if (role === undefined) this.#warnOfRole(request.log);
    return role ?? null;
  }

  /** Warns if no role has the name of the option `defaultRole`. Makes no query if the option is not given. */
  async checkRole(em: EntityManager, log: FastifyBaseLogger): Promise<void> {
    if (this.#defaultRole.isGiven && (await this.#findRole(em)) === undefined) this.#warnOfRole(log);
  }

  #findRole(em: EntityManager): Promise<RoleFields | undefined> {
    return QuerySet.of(em, this.#model.role).filter({ name: this.#defaultRole.name }).entity();
  }

  /** A misspelt name would leave every new account without a role, although its token claims the role `user`. */
  #warnOfRole(log: FastifyBaseLogger): void {
    const { name, isGiven } = this.#defaultRole;
    if (!isGiven || this.#hasWarnedOfRole) return;
    this.#hasWarnedOfRole = true;
    log.warn(
      { defaultRole: name },
      `auth: no role has the name "${name}" of option "defaultRole", so new accounts have no role`,
    );
  }

  /** Not every integer fits the column, and a database refuses to compare with one that does not. */
  #isId(value: unknown): value is number {
    return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= this.#maxId;
  }

  /** Finds the logged-in user's account, and locks it until the transaction ends. */
  async lock(request: FastifyRequest): Promise<AccountEntity> {
    return knownAccount(this.#model, await this.#locked(request));
  }

  /** Locks an account until the transaction ends. False if it is not active, or has another address than the given one. */
  async lockActive(
    em: EntityManager,
    account: Pick<AccountEntity, 'id'> & { readonly email?: string },
  ): Promise<boolean> {
    const active = this.#all(em).filter(this.#named({ ...account, is_active: true }));
    return (await active.entity({ lock: true })) !== undefined;
  }

  /** Finds the logged-in user's account as an entity, and locks it until the transaction ends. */
  async #locked(request: FastifyRequest): Promise<AccountEntity> {
    const { id } = requireUser(request);
    const active = this.#all(request.em).filter(this.#named({ is_active: true }));
    const account = this.#isId(id) ? await active.filter({ id }).entity({ lock: true }) : undefined;
    if (account === undefined) throw new Unauthorized();
    return account;
  }

  #all(source: Source): QuerySet<AccountEntity> {
    return QuerySet.of(source, this.#model.account);
  }

  async #one(accounts: QuerySet<AccountEntity>): Promise<AccountEntity | undefined> {
    const account = await accounts.entity({ populate: [this.#model.names.role] });
    return account && knownAccount(this.#model, account);
  }

  /** Names fields as the entity does. */
  #named(fields: Partial<AccountEntity>): never {
    return accountFields(this.#model, fields) as never;
  }

  async #update(em: EntityManager, where: Partial<AccountEntity>, data: Partial<AccountEntity>): Promise<boolean> {
    const update = () => em.nativeUpdate(this.#model.account, this.#named(where), this.#named(data));
    return (await retryLost(em, update)) > 0;
  }

  #isTaken(error: unknown): boolean {
    return isTakenValue(error, this.#model.meta.properties[this.#model.names.email as 'email']);
  }
}

/** Makes users from rows with an account, its roles, and the application's additional fields. */
function userProjection(account: Projection<AccountRow>, shown?: Projection<object>): Projection<AccountUser> {
  const width = account.paths.length;
  const related = [...(account.related ?? []), ...(shown?.related ?? [])];
  const relatedCount = account.related?.length ?? 0;
  return {
    paths: [...account.paths, ...(shown?.paths ?? [])],
    ...(related.length > 0 && { related }),
    readRow: (row, children = []) =>
      userOf(
        account.readRow(row, children.slice(0, relatedCount)),
        shown?.readRow(row.slice(width), children.slice(relatedCount)),
      ),
    readEntity: (entity) => userOf(account.readEntity(entity), shown?.readEntity(entity)),
    populate: [...account.populate, ...(shown?.populate ?? [])],
  };
}

/** @param field the field of the body that has the address */
function taken(field: string, cause?: unknown): InvalidUsage {
  const details = [{ in: 'body', path: `/${field}`, message: 'is already registered' }] as const;
  return new InvalidUsage('The e-mail address is already registered', { details, cause });
}
