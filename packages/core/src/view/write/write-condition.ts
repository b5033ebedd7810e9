import type { FastifyReply, FastifyRequest } from 'fastify';

/** A condition of requests on the record that they write. */
export interface WriteCondition {
  /** Why writes may need a transaction, for `view.explain()`. Undefined if the view announces no conditions. */
  readonly reason: string | undefined;
  /** Reports whether a request has a condition, or lacks one that the view requires. */
  appliesTo(request: FastifyRequest): boolean;
  /** Compares the record without a lock, before the transaction of the write. Throws an HttpError if it does not match. */
  compare(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Locks the record in the transaction, before the view finds it. */
  lock(request: FastifyRequest): Promise<void>;
  /** Compares the locked record. Throws an HttpError if it does not match. */
  check(request: FastifyRequest, reply: FastifyReply): Promise<void>;
}
