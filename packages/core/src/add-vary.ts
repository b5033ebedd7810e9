import type { FastifyReply } from 'fastify';

/**
 * Tells caches that an answer depends on a header of the request, beside the headers that others have told them of
 * (RFC 9110, section 12.5.5).
 *
 * @example
 * addVary(reply, 'Accept');
 * const isPage = acceptedType(request.headers.accept, ['application/json', 'text/html']) === 'text/html';
 */
export function addVary(reply: FastifyReply, name: string): void {
  const told = [reply.getHeader('vary') ?? []].flat().join(', ');
  const isTold = told.split(',').some((each) => ['*', name.toLowerCase()].includes(each.trim().toLowerCase()));
  if (!isTold) void reply.header('vary', told === '' ? name : `${told}, ${name}`);
}
