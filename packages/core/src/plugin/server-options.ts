import { maxHeaderSize, type Server, type ServerOptions, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Http2Server } from 'node:http2';
import type { Server as HttpsServer } from 'node:https';
import type {
  FastifyHttp2Options,
  FastifyInstance,
  FastifyHttpOptions,
  FastifyHttpsOptions,
  FastifyReply,
  FastifyRequest,
  FastifyServerOptions,
} from 'fastify';
import { HeadersTooLarge, type HttpError, ParseError, UriTooLong } from '../errors/errors.ts';
import { SLOW_REQUEST } from './admission.ts';
import { errorFormatOf, sendError, toHttpError } from './error-handler.ts';

/** The longest path parameter that reaches a route, in characters. A longer one gives 414. */
const MAX_PARAM_LENGTH = 1024;
/** The time in which a client must send a whole request, in milliseconds. */
const REQUEST_TIMEOUT_MS = 30_000;
/** The longest time for sending the headers, in milliseconds. Node's default. */
const MAX_HEADERS_TIMEOUT_MS = 60_000;
/** The interval of Node's checks for slow clients, in milliseconds. Clients are cut off up to this much later. */
const CHECK_INTERVAL_MS = 5_000;

/**
 * Returns the options that only Fastify's constructor can set. With them, errors before a route is found (by Fastify or
 * Node) have the same body as all others. A trailing slash makes no difference, and hanging clients are cut off.
 * `options` override these defaults.
 *
 * | option | default |
 * |---|---|
 * | `requestTimeout` (and `http.headersTimeout`) | 30 s |
 * | `bodyLimit` | 1 MiB (Fastify's own) |
 * | `http.maxHeaderSize` | 16 KiB, the URL and all headers together (Node's own) |
 * | `http.connectionsCheckingInterval` | 5 s: how much later than `requestTimeout` a client may be cut off |
 * | `routerOptions.maxParamLength` | 1024 |
 * | `routerOptions.ignoreTrailingSlash` | true |
 *
 * @example
 * const app = fastify(serverOptions({ logger: true }));
 */
export function serverOptions<Options extends FastifyServerOptions>(
  options?: Options & { readonly [Name in Exclude<keyof Options, OptionName>]: 'Fastify has no such option' },
): Options & FastifyServerOptions {
  const given = options ?? ({} as Options);
  const { requestTimeout = REQUEST_TIMEOUT_MS } = given;
  const { http, https } = given as { http?: object; https?: object | null };
  const node = nodeOptions(requestTimeout);
  return {
    return503OnClosing: false,
    frameworkErrors: (error: Error, _request: FastifyRequest, reply: FastifyReply) =>
      void sendError(toHttpError(error), reply),
    clientErrorHandler: respondClientError,
    ...given,
    requestTimeout,
    ...(https ? { https: { ...node, ...https } } : { http: { ...node, ...http } }),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_PARAM_LENGTH, ...given.routerOptions },
  };
}

type OptionName =
  | keyof FastifyHttpOptions<Server>
  | keyof FastifyHttpsOptions<HttpsServer>
  | keyof FastifyHttp2Options<Http2Server>;

/** Returns the options that Fastify passes to Node unchanged. */
function nodeOptions(requestTimeoutMs: number): ServerOptions {
  return {
    // The plugin refuses these requests itself, with a body that says why.
    requireHostHeader: false,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
    // If the time for the headers is longer, Node silently swaps the two times.
    ...(requestTimeoutMs > 0 ? { headersTimeout: Math.min(requestTimeoutMs, MAX_HEADERS_TIMEOUT_MS) } : {}),
  };
}

/** The connections on which an error answer waits for the answers to earlier requests. */
const waiting = new WeakSet<Socket>();

/** Answers a connection that Node's HTTP parser rejected, in the usual error format, as far as the socket allows. */
function respondClientError(this: FastifyInstance, error: Error & { code?: string }, socket: Socket): void {
  // Node calls this for each further packet of a rejected connection.
  if (error.code === 'ECONNRESET' || socket.destroyed || waiting.has(socket)) return;
  const { _httpMessage: answer } = socket as { _httpMessage?: ServerResponse | null };
  // Answer earlier requests first. Otherwise the client would take this answer for theirs, or receive it inside one of
  // them.
  if (answer?.req.complete === true && !answer.writableFinished) {
    waiting.add(socket);
    answer.once('close', () => {
      waiting.delete(socket);
      respondClientError.call(this, error, socket);
    });
    return;
  }
  if (!socket.writable || answer?.headersSent === true) {
    socket.destroy();
    return;
  }
  const refusal = fromParser(error, socket);
  const { status, body } = errorFormatOf(this).write(refusal, undefined, this.log);
  const text = JSON.stringify(body);
  socket.write(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n` +
      `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(text)}\r\n` +
      `X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n${text}`,
  );
  socket.destroySoon();
}

function fromParser(error: Error & { code?: string; rawPacket?: Buffer }, socket: Socket): HttpError {
  if (error.code === 'HPE_HEADER_OVERFLOW') return tooLong(error.rawPacket, socket);
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return SLOW_REQUEST;
  return new ParseError('The request is not valid HTTP');
}

/**
 * Node limits the URL and the headers together. The last piece that it parsed shows which of them was too long. If the
 * request came in smaller pieces, the error names the headers.
 */
function tooLong(piece: Buffer | undefined, socket: Socket): HttpError {
  const { server } = socket as { server?: Server & { readonly maxHeaderSize?: number } };
  const most = server?.maxHeaderSize === 0 ? undefined : server?.maxHeaderSize;
  const [firstLine = ''] = (piece?.toString('latin1') ?? '').split('\r\n', 1);
  const isUrl = /^[A-Z]+ \S/.test(firstLine) && firstLine.length > (most ?? maxHeaderSize);
  return isUrl ? new UriTooLong() : new HeadersTooLarge();
}
