import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type, type TSchema } from 'typebox';

/** The request for a page, and its reply. */
export interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** The parameters of other pages, by their relation to this page. Undefined parameters are left out of the query. */
export type PageLinks = Readonly<
  Partial<Record<'first' | 'prev' | 'next' | 'last', Readonly<Record<string, string | number | undefined>> | undefined>>
>;

/** The header, for documents. */
export const LINK_HEADERS: Readonly<Record<string, TSchema>> = {
  link: Type.String({
    description: 'The first, previous, next and last page, if there is one and it is known (RFC 8288)',
  }),
};

/**
 * Sends the `Link` header of a page (RFC 8288), for your own paginators. Its targets are relative, `?page=2`, so they also work behind a
 * proxy that uses another path. The other parameters of the request are kept. A QUERY request gets no header, because its page is in its
 * body.
 *
 * @example
 * sendLinks({ request, reply }, { next: { page: 3 } });   // Link: <?search=tea&page=3>; rel="next"
 */
export function sendLinks({ request, reply }: Exchange, links: PageLinks): void {
  if (request.method === 'QUERY') return;
  const entries = Object.entries(links).filter(([, parameters]) => parameters !== undefined);
  const url = request.raw.url ?? '';
  const start = url.indexOf('?');
  // Unchanged texts, because an encoded comma is part of a value and others separate values.
  const sent = start === -1 ? [] : url.slice(start + 1).split('&');
  const texts = entries.map(([relation, parameters]) => {
    const kept = sent.filter(
      (pair) => ![...new URLSearchParams(pair).keys()].some((name) => Object.hasOwn(parameters!, name)),
    );
    const added = Object.entries(parameters!).filter(([, value]) => value !== undefined) as [string, string][];
    const query = [...kept, new URLSearchParams(added).toString()].filter((part) => part !== '').join('&');
    return `<?${query}>; rel="${relation}"`;
  });
  if (texts.length > 0) reply.header('link', texts.join(', '));
}
