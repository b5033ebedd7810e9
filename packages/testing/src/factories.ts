import type { EntityManager, MikroORM } from '@mikro-orm/core';

/**
 * The factories of one application. They share an entity manager, so that records can refer to each other, and one
 * counter.
 */
export class Factories {
  readonly orm: MikroORM;
  readonly em: EntityManager;
  #made = 0;

  constructor(orm: MikroORM) {
    this.orm = orm;
    this.em = orm.em.fork();
  }

  /** Returns a number that no record has used yet, from 1. */
  next(): number {
    return (this.#made += 1);
  }
}
