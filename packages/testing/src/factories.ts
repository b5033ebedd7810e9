import type { EntityManager, MikroORM } from '@mikro-orm/core';

/** The factories of one application: they share an entity manager, so that the records of one refer to another's, and count together. */
export class Factories {
  readonly orm: MikroORM;
  readonly em: EntityManager;
  #made = 0;

  constructor(orm: MikroORM) {
    this.orm = orm;
    this.em = orm.em.fork();
  }

  /** Returns a number that no record has had, from 1. */
  next(): number {
    return (this.#made += 1);
  }
}
