import type { FastifyInstance } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { ParseError, UriTooLong } from '../errors.ts';

/**
 * What is wrong with a request before anybody looks at where it goes:
 *
 * - HTTP/1.1 without a Host, which Node would refuse with an empty body (`serverOptions` has it let it through);
 * - a URL, query string included, of more than `maxUrlLength` characters, which are bytes: whatever the rest of a request
 *   does with a query string is bounded by it. Node has a limit for the URL and the headers together, see
 *   `serverOptions`.
 */
export function problemOf(
  { headers, httpVersion, url = '' }: IncomingMessage,
  maxUrlLength: number,
): Error | undefined {
  if (headers.host === undefined && httpVersion === '1.1') return new ParseError('The Host header is missing');
  if (url.length > maxUrlLength) return new UriTooLong(`The URL must not be longer than ${maxUrlLength} characters`);
  return undefined;
}

/** An Expect that Node does not know it refuses by itself; RFC 9110 (section 10.1.1) lets a server ignore it. */
export function ignoreUnknownExpectations(app: FastifyInstance): void {
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
}
