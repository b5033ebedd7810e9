import { securityEvent } from '@viewset/core';
import type { FastifyRequest } from 'fastify';

interface NotedEvent {
  readonly fields: object;
  readonly message: string;
}

const noted = new WeakMap<FastifyRequest, NotedEvent[]>();

/** Notes a security event of a write that is not committed yet. */
export function noteEvent(request: FastifyRequest, event: string, fields: object, message: string): void {
  const events = noted.get(request) ?? [];
  noted.set(request, events);
  events.push({ fields: { ...securityEvent(request, event), ...fields }, message });
}

/** Logs the events of a request once its write is committed, and returns the answer. */
export async function logNoted<Answer>(request: FastifyRequest, write: Promise<Answer>): Promise<Answer> {
  const answer = await write;
  for (const { fields, message } of noted.get(request) ?? []) request.log.info(fields, message);
  return answer;
}
