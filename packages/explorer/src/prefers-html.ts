import { acceptedType } from '@viewset/core';
import type { FastifyRequest } from 'fastify';

/**
 * Tells if the sender of a request prefers `text/html` to `application/json`, as browsers do. False if both are equally
 * welcome, or nothing is said.
 *
 * @example
 * app.get('/', (request, reply) => (prefersHtml(request) ? reply.redirect('/api') : { name: 'Shop' }));
 */
export function prefersHtml({ headers: { accept } }: Pick<FastifyRequest, 'headers'>): boolean {
  return acceptedType(accept, ['application/json', 'text/html']) === 'text/html';
}
