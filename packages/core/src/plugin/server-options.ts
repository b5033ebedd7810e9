import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify';
import { HeadersTooLarge, HttpError, ParseError } from '../errors.ts';
import { sendError, toHttpError } from './error-handler.ts';

/** Longest path parameter that reaches a route, in characters; a longer one is a 414. */
const MAX_PARAM_LENGTH = 1024;
/** How long a client may take to send a whole request, in milliseconds. */
const REQUEST_TIMEOUT_MS = 30_000;
/** How long a handler may take to answer, in milliseconds; then the client gets a 503. */
const HANDLER_TIMEOUT_MS = 30_000;

/**
 * What only Fastify's constructor can set and the plugin therefore cannot: errors that Fastify and Node answer before
 * a route is found get the one error body, a trailing slash makes no difference, a client or handler that hangs is cut
 * off. `options` are laid over these defaults.
 *
 * | option | default |
 * |---|---|
 * | `requestTimeout`, `handlerTimeout` | 30 s |
 * | `bodyLimit` | 1 MiB (Fastify's own) |
 * | `routerOptions.maxParamLength` | 1024 |
 * | `routerOptions.ignoreTrailingSlash` | true |
 *
 * @example
 * const app = fastify(serverOptions({ logger: true }));
 */
export function serverOptions<Options extends FastifyServerOptions>(options?: Options): Options & FastifyServerOptions {
  const given = options ?? ({} as Options);
  return {
    requestTimeout: REQUEST_TIMEOUT_MS,
    handlerTimeout: HANDLER_TIMEOUT_MS,
    return503OnClosing: false,
    frameworkErrors: (error: Error, _request: FastifyRequest, reply: FastifyReply) =>
      void sendError(toHttpError(error), reply),
    clientErrorHandler: answerClientError,
    ...given,
    // The plugin refuses such a request itself, with a body that says why.
    http: { requireHostHeader: false, ...(given as { http?: object }).http },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_PARAM_LENGTH, ...given.routerOptions },
  };
}

/** Node's HTTP parser gave up on the connection: say why in the one error body, as far as the socket still lets us. */
function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  if (socket.writable) {
    const answer = fromParser(error);
    const body = JSON.stringify(answer.toBody());
    socket.write(
      `HTTP/1.1 ${answer.statusCode} ${STATUS_CODES[answer.statusCode]}\r\n` +
        `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
        `Connection: close\r\n\r\n${body}`,
    );
  }
  socket.destroySoon();
}

function fromParser(error: Error & { code?: string }): HttpError {
  if (error.code === 'HPE_HEADER_OVERFLOW') return new HeadersTooLarge();
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new HttpError(408, 'request_timeout', 'The request took too long to arrive');
  }
  return new ParseError('The request is not valid HTTP');
}
