import type { FastifyBaseLogger } from 'fastify';

/** Pino's registered symbol of the serializers of a logger. */
const SERIALIZERS = Symbol.for('pino.serializers');

type Serialize = (value: unknown) => unknown;

/**
 * Serializers for the route of the callback, so that its query string stays out of the log of requests: it has the
 * authorization code and the state. The application's own serializer still decides which fields a line has.
 */
export function withoutQuery(log: FastifyBaseLogger): { readonly req: Serialize } | undefined {
  const serialize = (log as { readonly [SERIALIZERS]?: { readonly req?: Serialize } })[SERIALIZERS]?.req;
  if (typeof serialize !== 'function') return undefined;
  return {
    req: (request) => {
      const fields = serialize(request);
      if (typeof fields !== 'object' || fields === null) return fields;
      return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, cut(value)]));
    },
  };
}

/** Cuts an address at its query. */
function cut(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/\?.*/s, '') : value;
}
