import type { FastifyInstance } from 'fastify';
import { UriTooLong } from '../errors.ts';

/**
 * Refuses a URL, query string included, of more than `most` characters, which are bytes: whatever the rest of a request
 * does with a query string is bounded by it. Node has a limit for the URL and the headers together, see `serverOptions`.
 */
export function limitUrlLength(app: FastifyInstance, most: number): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const length = request.raw.url?.length ?? 0;
    done(length > most ? new UriTooLong(`The URL must not be longer than ${most} characters`) : undefined);
  });
}
