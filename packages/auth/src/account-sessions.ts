import type { EntityManager } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';

/** The part of sessions that passwords need. */
export interface AccountSessions {
  /** The id of the session that a request belongs to. */
  idOf(request: FastifyRequest): number | undefined;
  /** Ends every session of an account but one. */
  endAll(em: EntityManager, accountId: number, options?: { readonly except?: number | undefined }): Promise<unknown>;
}
