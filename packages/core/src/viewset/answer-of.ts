import type { FastifyReply } from 'fastify';

/** The members of a reply that only tell or make something of it. */
const READING = /^(?:get|has|serialize|compile)/;

/** Returns the content that a handler answers with, returned or sent, of which the client gets nothing. */
export async function answerOf(
  handle: (reply: FastifyReply) => Promise<unknown>,
  reply: FastifyReply,
): Promise<unknown> {
  let content: unknown;
  const send = (payload: unknown): FastifyReply => {
    content = payload;
    return silent;
  };
  const silent: FastifyReply = new Proxy(reply, {
    get: (target, name) => {
      // A reply can be awaited, until it is sent.
      if (name === 'then') return undefined;
      if (name === 'send') return send;
      const member: unknown = Reflect.get(target, name, target);
      const isReading = typeof name === 'symbol' || READING.test(name);
      return typeof member !== 'function' || isReading ? member : () => silent;
    },
    set: () => true,
  });
  const returned = await handle(silent);
  return returned === undefined || returned === silent ? content : returned;
}
