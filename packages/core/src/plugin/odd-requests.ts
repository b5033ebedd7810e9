import type { FastifyInstance } from 'fastify';
import { ParseError } from '../errors.ts';

/**
 * Node refuses two kinds of requests by itself, with an empty body: HTTP/1.1 without a Host, which is answered here in
 * the one error shape (`serverOptions` has Node let it through), and an Expect that it does not know, which RFC 9110
 * (section 10.1.1) lets a server ignore.
 */
export function takeOddRequests(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers, httpVersion } = request.raw;
    done(
      headers.host === undefined && httpVersion === '1.1' ? new ParseError('The Host header is missing') : undefined,
    );
  });
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
}
