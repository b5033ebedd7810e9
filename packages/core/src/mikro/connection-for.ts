import type { Connection, EntityManager } from '@mikro-orm/core';

/** Why a database is asked: a replica may answer what is read, and not what has to be as it was last committed. */
export type Purpose = 'read' | 'write';

/**
 * The connection for a purpose, as MikroORM chooses it: that of a replica for what is read, if there are replicas and the option
 * `preferReadReplicas` is on, and that of the primary for all else. Within a transaction it is the primary's.
 */
export function connectionFor(em: EntityManager, purpose: Purpose): Connection {
  const isRead = purpose === 'read' && em.config.get('preferReadReplicas');
  return em.getConnection(isRead && em.getTransactionContext<unknown>() === undefined ? 'read' : 'write');
}
