import type { Connection, EntityManager } from '@mikro-orm/core';

/** The purpose of a query: a replica may serve a `read`, but not a query that needs the last committed state. */
export type Purpose = 'read' | 'write';

/**
 * Returns the connection for a purpose, as MikroORM chooses it. For reads: a replica, if there are replicas and the
 * option `preferReadReplicas` is on. For everything else, and within a transaction: the primary.
 */
export function connectionFor(em: EntityManager, purpose: Purpose): Connection {
  const isRead = purpose === 'read' && em.config.get('preferReadReplicas');
  return em.getConnection(isRead && em.getTransactionContext<unknown>() === undefined ? 'read' : 'write');
}
