import { inTransaction, securityEvent } from '@viewset/core';
import type { FastifyRequest } from 'fastify';

interface NotedEvent {
  readonly fields: object;
  readonly message: string;
}

const noted = new WeakMap<FastifyRequest, NotedEvent[]>();

/** Notes a security event of a write that is not yet committed. Use it within `logNoted`. */
export function noteEvent(request: FastifyRequest, event: string, fields: object, message: string): void {
  noted.get(request)?.push({ fields: { ...securityEvent(request, event), ...fields }, message });
}

/**
 * Logs a request's events after its write is committed, and returns the result. If the transaction starts again, events
 * of the rolled-back attempt are dropped.
 */
export async function logNoted<Answer>(request: FastifyRequest, write: () => Promise<Answer>): Promise<Answer> {
  const answer = await inTransaction(request, () => {
    noted.set(request, []);
    return write();
  });
  for (const { fields, message } of noted.get(request) ?? []) request.log.info(fields, message);
  return answer;
}
