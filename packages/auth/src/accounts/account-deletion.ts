import type { FastifyRequest } from 'fastify';

/** Wraps the deletion of an account by its owner, in a transaction. It calls `remove`, and can do more before and after. */
export type AccountDeletion = (request: FastifyRequest, remove: () => Promise<void>) => Promise<unknown>;
