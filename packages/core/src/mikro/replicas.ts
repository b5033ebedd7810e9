import type { Connection, EntityManager } from '@mikro-orm/core';

/** The part of MikroORM's drivers that is used. */
interface ReplicatedDriver {
  readonly replicas: Connection[];
}

/** Lists the connections to read replicas, in the order of MikroORM's option `replicas`. */
export function replicasOf(em: Pick<EntityManager, 'getDriver'>): Connection[] {
  return (em.getDriver() as unknown as ReplicatedDriver).replicas;
}
