import type { EntityManager, EntityName } from '@mikro-orm/core';
import { QuerySet } from '@viewset/core';

/** What gives access to an account besides its password and its sessions, and stays when they change. */
export interface RemainingAccess {
  /** The names of the API keys. */
  readonly api_keys: readonly string[];
  /** The names of the passkeys. */
  readonly passkeys: readonly string[];
  /** The names of the services that log in to the account. */
  readonly services: readonly string[];
  /** True if a second factor is on. */
  readonly two_factor: boolean;
}

/** What a request can revoke together with a new password. */
export const REVOCABLE = ['api_keys', 'passkeys', 'services'] as const;
export type Revocable = (typeof REVOCABLE)[number];

/** The entities of the kinds; undefined if an option is off. */
export interface AccessEntities {
  readonly api_keys: EntityName<object> | undefined;
  readonly passkeys: EntityName<object> | undefined;
  readonly services: EntityName<object> | undefined;
  readonly two_factor: EntityName<object> | undefined;
}

/** Lists and revokes what else gives access to an account. */
export class AccountAccess {
  readonly #entities: AccessEntities;
  readonly #em: EntityManager;

  /** @param em the ORM's global entity manager */
  constructor(entities: AccessEntities, em: EntityManager) {
    this.#entities = entities;
    this.#em = em;
  }

  /** Returns what gives access to an account now. */
  async of(account: number): Promise<RemainingAccess> {
    const { api_keys, passkeys, services, two_factor } = this.#entities;
    const factors = await this.#values(two_factor, account, 'confirmed_at');
    return {
      api_keys: await this.#values(api_keys, account, 'name'),
      passkeys: await this.#values(passkeys, account, 'name'),
      services: [...new Set(await this.#values(services, account, 'provider'))],
      two_factor: factors.length > 0,
    };
  }

  /** @param em of the transaction that changes the password */
  async revoke(em: EntityManager, account: number, kinds: readonly Revocable[]): Promise<void> {
    for (const kind of new Set(kinds)) {
      const entity = this.#entities[kind];
      if (entity !== undefined) await em.nativeDelete(entity, { account: { id: account } });
    }
  }

  /** Removes everything, also a second factor, from an account that nobody has used yet. */
  async removeAll(em: EntityManager, account: number): Promise<void> {
    for (const entity of Object.values(this.#entities) as (EntityName<object> | undefined)[]) {
      if (entity !== undefined) await em.nativeDelete(entity, { account: { id: account } });
    }
  }

  async #values(entity: EntityName<object> | undefined, account: number, field: string): Promise<string[]> {
    if (entity === undefined) return [];
    const source = { em: this.#em.fork(), readsPrimary: true };
    const records = await QuerySet.of(source, entity)
      .filter({ account__id: account })
      .orderBy('id' as never)
      .entities();
    return records.flatMap((record) => (record as Readonly<Record<string, unknown>>)[field] ?? []).map(String);
  }
}
