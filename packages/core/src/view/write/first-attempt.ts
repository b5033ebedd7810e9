import type { FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { stateOf } from '../request/request-state.ts';

/** What a transaction must leave as it was before it can be repeated. */
export interface FirstAttempt {
  /** Reports whether the request is still whole: its streams are unread, and nothing was sent. */
  canBeRepeated(): boolean;
  /** Restores the status and headers of the reply. */
  restore(): void;
}

/** Remembers a request as it is before its transaction runs for the first time. */
export function firstAttempt(request: FastifyRequest): FirstAttempt {
  const { reply } = stateOf(request);
  const unread = [request.raw, request.body].filter(isUnread);
  const status = reply?.statusCode;
  const headers = reply?.getHeaders();
  return {
    canBeRepeated: () => unread.every(isUnread) && reply?.sent !== true && reply?.raw.headersSent !== true,
    restore: () => {
      if (reply === undefined) return;
      for (const name of Object.keys(reply.getHeaders())) void reply.removeHeader(name);
      void reply.code(status!).headers(headers!);
    },
  };
}

/** Reports whether a body is a stream that nobody has read yet. */
function isUnread(stream: unknown): boolean {
  return stream instanceof Readable && !stream.readableDidRead && !stream.destroyed;
}
