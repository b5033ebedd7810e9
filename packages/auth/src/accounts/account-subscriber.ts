import {
  type EntityName,
  type EventManager,
  type EventSubscriber,
  type FlushEventArgs,
  type MikroORM,
  ChangeSetType,
  Utils,
} from '@mikro-orm/core';
import { checkOptionNames, InvalidUsage, wrongOption } from '@viewset/core';
import type {
  AccountFields,
  AccountModel,
  AccountNames,
  AccountSchema,
  NamedAccountSchema,
} from './account-contract.ts';
import { normalizeEmail } from './email-address.ts';
import { TOO_MANY_BYTES } from '../passwords/password-field.ts';
import { NO_PASSWORD, PasswordHasher, WITHOUT_PASSWORD } from '../passwords/password-hasher.ts';

/** The hashes that we stored in accounts' `password`. Any other value there is a plain password. */
const hashes = new WeakMap<object, string>();

/** Marks an account's password as already hashed, so that it is not hashed again. */
export function markHashed(account: object, hash: string): void {
  hashes.set(account, hash);
}

type SubscribedNames = Pick<AccountNames, 'email' | 'password'>;

/**
 * Prepares every account that is saved through the unit of work. The password is stored as a bcrypt hash, and the
 * address trimmed and in lower case. A new password that looks like a hash is hashed like any other; a stored hash is
 * not changed. A password over 72 bytes of UTF-8 throws InvalidUsage, a 400 at `/password`. `em.nativeInsert`,
 * `em.nativeUpdate` and `em.upsert` bypass it.
 *
 * The plugin registers one with its ORM, and only one if several applications share the ORM. If you create accounts without the plugin, for
 * example in a seeder, give one to `MikroORM.init` yourself. Both together do no harm.
 *
 * @example
 * const subscribers = [new AccountSubscriber(Account, new PasswordHasher())];
 * const orm = await MikroORM.init({ dbName: 'shop.sqlite', entities: [Account, Role], subscribers });
 * const em = orm.em.fork();
 * em.create(Account, { email: ' Ann@Example.com ', password: 'correct horse', name: 'Ann' });
 * await em.flush(); // insert … values ('ann@example.com', '$2b$12$…', 'Ann')
 */
export class AccountSubscriber implements EventSubscriber<AccountFields> {
  readonly #account: EntityName<AccountFields>;
  readonly #className: string;
  readonly #hasher: PasswordHasher;
  readonly #names: Required<SubscribedNames>;

  /** @param fields the entity's own names of the two properties */
  constructor(account: AccountSchema | NamedAccountSchema, hasher: PasswordHasher, fields: SubscribedNames = {}) {
    if (account === undefined || account === null) {
      throw wrongOption('AccountSubscriber', 'account', 'the entity of accounts', account);
    }
    if (!(hasher instanceof PasswordHasher)) {
      throw wrongOption('AccountSubscriber', 'hasher', 'a PasswordHasher', hasher);
    }
    this.#account = account as EntityName<AccountFields>;
    this.#className = Utils.className(this.#account);
    this.#hasher = hasher;
    checkOptionNames('AccountSubscriber', fields, ['email', 'password']);
    this.#names = { email: 'email', password: 'password', ...fields };
  }

  /** Tells @viewset/core that this subscriber needs no flush for writes of other entities. */
  readonly flushesOfOthers = false;

  getSubscribedEntities(): EntityName<AccountFields>[] {
    return [this.#account];
  }

  /** Runs once the changes are known but before their transaction begins, so that no lock is held during bcrypt. */
  async onFlush({ uow }: FlushEventArgs): Promise<void> {
    const saves = uow
      .getChangeSets()
      .filter(({ type }) => type !== ChangeSetType.DELETE && type !== ChangeSetType.DELETE_EARLY);
    const accounts = saves.filter(
      ({ meta }) => meta.className === this.#className || meta.root.className === this.#className,
    );
    await Promise.all(
      accounts.map(async (save) => {
        const account = save.entity as Record<string, unknown>;
        const payload = save.payload as Record<string, unknown>;
        const { email, password } = this.#names;
        const [address, text] = [payload[email], payload[password]];
        if (typeof address === 'string') payload[email] = account[email] = normalizeEmail(address);
        if (typeof text === 'string') payload[password] = account[password] = await this.#hashOf(account, text);
      }),
    );
  }

  /** A failed flush may be repeated: the hash it left in the account must not be hashed again. */
  async #hashOf(account: object, password: string): Promise<string> {
    const known = hashes.get(account);
    if (known !== undefined && known === password) return known;
    const hash =
      password === WITHOUT_PASSWORD
        ? NO_PASSWORD
        : await this.#hasher.hash(password).catch((error: unknown) => refuse(error, this.#names.password));
    hashes.set(account, hash);
    return hash;
  }
}

/** Reports the password to the client, whatever write shape contained it. */
function refuse(error: unknown, field: string): never {
  if (!(error instanceof RangeError)) throw error;
  const details = [{ in: 'body', path: `/${field}`, message: TOO_MANY_BYTES }] as const;
  throw new InvalidUsage(`The password ${TOO_MANY_BYTES}`, { details, cause: error });
}

/** An ORM has no way to remove a subscriber, and may outlive many applications. */
const hashers = new WeakMap<EventManager, WeakMap<object, PasswordHasher>>();

/**
 * Registers one AccountSubscriber with the ORM, and returns its hasher, which is the first application's. Other
 * applications must use the same one: a decoy of another cost would reveal which accounts exist.
 */
export function sharedHasher(orm: MikroORM, { meta, names }: AccountModel, hasher: PasswordHasher): PasswordHasher {
  const events = orm.em.getEventManager();
  const known = hashers.get(events) ?? new WeakMap<object, PasswordHasher>();
  hashers.set(events, known);
  const shared = known.get(meta);
  if (shared !== undefined) return shared;
  events.registerSubscriber(
    new AccountSubscriber(meta.class, hasher, { email: names.email, password: names.password }),
  );
  known.set(meta, hasher);
  return hasher;
}
