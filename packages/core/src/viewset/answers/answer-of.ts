import type { FastifyReply } from 'fastify';
import { isRecord } from '../../json.ts';

/** The methods of a reply that change what its client gets. */
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
  // Of `@fastify/cookie`, which keeps cookies beside the headers until the answer is sent.
  'cookie',
  'setCookie',
  'clearCookie',
] as const;

/**
 * Returns the record that a handler answers with, returned or sent, of which the client gets nothing; undefined for an answer with
 * none, such as a redirection. What the application has decorated replies with works, and the headers that it sets are not sent.
 *
 * @throws the error that the handler sends or returns, as if it was thrown
 */
export async function answerOf(
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
  // What a handler or a decorator assigns stays on this object.
  const silent = Object.create(reply, {
    // A reply can be awaited, until it is sent; this one is never sent.
    // oxlint-disable-next-line unicorn/no-thenable -- what hides a then is none
    then: { value: undefined },
    statusCode: { value: 200, writable: true },
    code: { value: setStatus },
    status: { value: setStatus },
    send: { value: send },
    ...Object.fromEntries(CHANGES.filter((name) => name in reply).map((name) => [name, { value: ignore }])),
  }) as FastifyReply;
  const returned = await handle(silent);
  const answer = returned === undefined || returned === silent ? content : returned;
  if (answer instanceof Error) throw answer;
  return isRecord(answer) && [200, 201].includes(silent.statusCode) ? answer : undefined;
}
