import type { FastifyReply } from 'fastify';
import { isRecord } from '../../support/json.ts';

/** The methods of a reply that change the response. */
const CHANGES = [
  'header',
  'headers',
  'removeHeader',
  'type',
  'serializer',
  'trailer',
  'removeTrailer',
  'writeEarlyHints',
  'redirect',
  'callNotFound',
  'hijack',
  // From `@fastify/cookie`, which keeps cookies apart from the headers until the response is sent.
  'cookie',
  'setCookie',
  'clearCookie',
] as const;

/**
 * Returns the record that a handler returns or sends, without sending it to the client. Returns undefined for a
 * response without a record, such as a redirection. Decorators of replies work, but their headers are not sent.
 *
 * @throws the error that the handler sends or returns, as if it were thrown
 */
export async function recordSentBy(
  handle: (reply: FastifyReply) => Promise<unknown>,
  reply: FastifyReply,
): Promise<Record<string, unknown> | undefined> {
  let content: unknown;
  const ignore = (): FastifyReply => silent;
  const setStatus = (status: number): FastifyReply => Object.assign(silent, { statusCode: status });
  const send = (payload: unknown): FastifyReply => {
    content = payload;
    return silent;
  };
  // Assignments by a handler or a decorator stay on this object.
  const silent = Object.create(reply, {
    // `await reply` waits until the reply is sent, and this one is never sent.
    // oxlint-disable-next-line unicorn/no-thenable -- what hides a then is none
    then: { value: undefined },
    statusCode: { value: 200, writable: true },
    code: { value: setStatus },
    status: { value: setStatus },
    send: { value: send },
    ...Object.fromEntries(CHANGES.filter((name) => name in reply).map((name) => [name, { value: ignore }])),
  }) as FastifyReply;
  const returned = await handle(silent);
  const result = returned === undefined || returned === silent ? content : returned;
  if (result instanceof Error) throw result;
  return isRecord(result) && [200, 201].includes(silent.statusCode) ? result : undefined;
}
