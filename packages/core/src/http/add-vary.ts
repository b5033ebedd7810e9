import type { FastifyReply } from 'fastify';

/**
 * Adds a header of the request to the `Vary` of the response, so that caches know that the response depends on it (RFC 9110, section
 * 12.5.5).
 *
 * @example
 * addVary(reply, 'Accept');
 * const isPage = acceptedType(request.headers.accept, ['application/json', 'text/html']) === 'text/html';
 */
export function addVary(reply: FastifyReply, name: string): void {
  const present = [reply.getHeader('vary') ?? []].flat().join(', ');
  const isListed = present.split(',').some((each) => ['*', name.toLowerCase()].includes(each.trim().toLowerCase()));
  if (!isListed) void reply.header('vary', present === '' ? name : `${present}, ${name}`);
}
