import { acceptedType } from '@viewset/core';
import type { FastifyRequest } from 'fastify';

/**
 * Returns true if a request prefers `text/html` to `application/json`, as browsers do. Returns false if both are
 * equally welcome, or if there is no `Accept` header.
 *
 * @example
 * app.get('/', (request, reply) => (prefersHtml(request) ? reply.redirect('/api') : { name: 'Shop' }));
 */
export function prefersHtml({ headers: { accept } }: Pick<FastifyRequest, 'headers'>): boolean {
  return acceptedType(accept, ['application/json', 'text/html']) === 'text/html';
}
