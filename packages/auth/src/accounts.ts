import { type EntityManager, UniqueConstraintViolationException } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { InvalidUsage, inTransaction, many, QuerySet, readShape, type ReadShape, RecordFinder } from '@viewset/core';
import type { AccountEntity, AccountModel, RoleFields } from './account-contract.ts';
import { markHashed } from './account-subscriber.ts';
import type { PasswordHasher } from './password-hasher.ts';

/**
 * The user who is logged in, as `request.user` has it: the account and its role, read afresh for each request (frozen and reused
 * for so long with `userCacheSeconds`), without the password and apart from any unit of work. Where a query or a new
 * record needs the account, give it `user.id`.
 *
 * Tell the types about it once in the application; with a `retrieveUser` of your own, name what that answers with.
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
  /** Always true: a disabled account is nobody. */
  readonly is_active: boolean;
  readonly role: Readonly<RoleFields> | null;
  /** All roles: `role` first, then those of the account's `roles`. */
  readonly roles: readonly Readonly<RoleFields>[];
  /** The names of the permissions that the roles carry together, each once; see `HasPermission`. */
  readonly permissions: readonly string[];

  constructor({ id, email, name, is_active, role, roles, permissions = [] }: AccountUserFields) {
    this.id = id;
    this.email = email;
    this.name = name;
    this.is_active = is_active;
    this.role = role;
    this.roles = roles ?? (role === null ? [] : [role]);
    this.permissions = permissions;
  }
}

/** What an AccountUser is made of; without `roles`, `role` is the only one. */
export type AccountUserFields = Omit<AccountUser, 'roles' | 'permissions'> &
  Partial<Pick<AccountUser, 'roles' | 'permissions'>>;

/** The fields that a registration gives an account. */
export interface NewAccount {
  readonly email: string;
  readonly password: string;
  readonly name: string;
}

/** An account and its role, as one row, with its further roles. */
export interface AccountRow extends Pick<AccountUser, 'id' | 'email' | 'name' | 'is_active'> {
  readonly role_id: number | null;
  readonly role_name: string | null;
  readonly role_permissions?: unknown;
  readonly further_roles?: readonly RoleRow[];
}

interface RoleRow extends RoleFields {
  readonly permissions?: unknown;
}

const MAX_INT4 = 2 ** 31 - 1;

/** Every query that authentication makes of accounts. */
export class Accounts {
  readonly #model: AccountModel;
  readonly #defaultRole: string;
  readonly #hasher: PasswordHasher;
  readonly #maxId: number;
  readonly #active: RecordFinder<AccountEntity, AccountRow>;

  constructor(model: AccountModel, defaultRole: string, hasher: PasswordHasher, em: EntityManager) {
    this.#model = model;
    this.#hasher = hasher;
    this.#defaultRole = defaultRole;
    const shape = userShape(model);
    this.#maxId = /big/i.test(model.meta.properties.id.columnTypes[0] ?? '') ? Number.MAX_SAFE_INTEGER : MAX_INT4;
    const active = QuerySet.of(em, model.account).filter({ is_active: true });
    this.#active = new RecordFinder(active, shape.bind(model.meta, em.getPlatform()));
  }

  /** Finds the account of a token, in one query; null if there is none, or it is disabled. */
  async user(request: FastifyRequest, id: unknown): Promise<AccountUser | null> {
    if (!this.#isId(id)) return null;
    const row = await this.#active.find(request, id);
    if (row === undefined) return null;
    return userOf(row);
  }

  /** @param email normalized */
  byEmail(em: EntityManager, email: string): Promise<AccountEntity | undefined> {
    return QuerySet.of(em, this.#model.account)
      .filter({ email })
      .entity({ populate: ['role'] });
  }

  /** Throws InvalidUsage if the address has an account. */
  async requireUnregistered(em: EntityManager, email: string): Promise<void> {
    if (await QuerySet.of(em, this.#model.account).filter({ email }).exists()) throw taken();
  }

  /** Sets `last_login` and nothing else. False if the account is gone or disabled by now. */
  async recordLogin(em: EntityManager, id: number): Promise<boolean> {
    const now = new Date();
    return (await em.nativeUpdate(this.#model.account, { id, is_active: true }, { last_login: now })) > 0;
  }

  /** Stores another hash of the same password, unless the password has been changed meanwhile. */
  async replaceHash(em: EntityManager, { id, password }: AccountEntity, hash: string): Promise<void> {
    await em.nativeUpdate(this.#model.account, { id, password }, { password: hash });
  }

  /** Throws InvalidUsage if somebody else was faster with the address. */
  async create(request: FastifyRequest, { email, password, name }: NewAccount): Promise<AccountEntity> {
    // Before the transaction, so that no connection waits for bcrypt.
    const hash = await this.#hasher.hash(password);
    try {
      return await inTransaction(request, async () => {
        const { em } = request;
        const role = await QuerySet.of(em, this.#model.role).filter({ name: this.#defaultRole }).entity();
        const fields = { email, password: hash, name, is_active: true, role: role ?? null };
        const account = em.create(this.#model.account, fields as never);
        markHashed(account, hash);
        await em.persist(account).flush();
        return account;
      });
    } catch (error) {
      if (error instanceof UniqueConstraintViolationException && this.#concernsEmail(error)) throw taken(error);
      throw error;
    }
  }

  /** Not every integer fits the column, and a database refuses to compare with one that does not. */
  #isId(value: unknown): value is number {
    return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= this.#maxId;
  }

  #concernsEmail(error: UniqueConstraintViolationException): boolean {
    return this.#model.meta.properties.email.fieldNames.some((column) => error.message.includes(column));
  }
}

/** Reads an account with all of its roles and what they carry. */
export function userShape({ account, role, hasRoles, hasPermissions }: AccountModel) {
  const roleFields = ['id', 'name', ...(hasPermissions ? ['permissions'] : [])];
  const roleShape: object = readShape(role, roleFields as ('id' | 'name')[]);
  const fields = {
    role_id: 'role.id',
    role_name: 'role.name',
    ...(hasPermissions && { role_permissions: 'role.permissions' }),
    ...(hasRoles && { further_roles: many(roleShape as ReadShape<object, object>, { from: 'roles' as never }) }),
  };
  // The optional columns are known by the model alone.
  const known = fields as { readonly role_id: 'role.id'; readonly role_name: 'role.name' };
  return readShape(account, ['id', 'email', 'name', 'is_active'], known);
}

export function userOf({
  role_id,
  role_name,
  role_permissions,
  further_roles = [],
  ...account
}: AccountRow): AccountUser {
  const isNone = role_id === null || role_name === null;
  const main = isNone ? [] : [{ id: role_id, name: role_name, permissions: role_permissions }];
  const rows: readonly RoleRow[] = [...main, ...further_roles.filter(({ id }) => id !== role_id)];
  const roles = rows.map(({ id, name }) => ({ id, name }));
  const permissions = [...new Set(rows.flatMap((role) => namesIn(role.permissions)))];
  return new AccountUser({ ...account, role: isNone ? null : (roles[0] ?? null), roles, permissions });
}

/** A JSON column may hold anything. */
function namesIn(permissions: unknown): string[] {
  return Array.isArray(permissions) ? permissions.filter((name) => typeof name === 'string') : [];
}

function taken(cause?: unknown): InvalidUsage {
  const details = [{ in: 'body', path: '/email', message: 'is already registered' }] as const;
  return new InvalidUsage('The e-mail address is already registered', { details, cause });
}
