import type { EntityManager, MikroORM } from '@mikro-orm/core';
import { forkForAllTenants, type TenantKey } from '@viewset/core';

/**
 * The factories of one application. They share an entity manager, so that records can refer to each other, and one
 * counter.
 */
export class Factories {
  readonly orm: MikroORM;
  readonly em: EntityManager;
  /** The tenant of new records. Undefined: each record gets a tenant like any other relation. */
  tenant: TenantKey | undefined;
  #made = 0;

  constructor(orm: MikroORM) {
    this.orm = orm;
    this.em = forkForAllTenants(orm.em);
  }

  /** Returns a number that no record has used yet, from 1. */
  next(): number {
    return (this.#made += 1);
  }
}
