import type { FastifyInstance } from 'fastify';
import { Server as HttpServer, type ServerResponse } from 'node:http';
import { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * How long idle connections stay open, in milliseconds. Clients under load send their next requests in this time. Their
 * responses close the connections, so that no request meets a connection that is being closed.
 */
const LINGER_MS = 200;
/** How long a connection may stay whose first request, or whose headers, have not arrived, in milliseconds. */
const IDLE_MS = 1000;
/** The time between two looks at the connections, in milliseconds. */
const SWEEP_MS = 50;

/** A connection of Node's HTTP server. */
interface HttpSocket extends Socket {
  /** The response to the request in flight. */
  readonly _httpMessage?: ServerResponse | null;
}

const closing = new WeakSet<object>();

/**
 * Makes `app.close()` wait for requests, and for nothing else. Node and Fastify close only the connections that are idle
 * at that time, and wait for all others until the client or `keepAliveTimeout` (72 s) ends them.
 *
 * - A request in flight is answered. Its response closes the connection, with `Connection: close` if its headers are not
 *   sent yet.
 * - An idle connection is closed with its next response, or after 0.2 s.
 * - A connection that has never had a request, or only a part of one, is closed after a second.
 * - After `closeTimeoutMs` all connections are closed.
 *
 * HTTP/2 sessions are closed by Fastify.
 */
export function closeGracefully(app: FastifyInstance, closeTimeoutMs: number): void {
  const server: unknown = app.server;
  const isHttps = server instanceof HttpsServer;
  if (!(isHttps || server instanceof HttpServer) || closing.has(server)) return;
  closing.add(server);
  const connections = new Set<HttpSocket>();
  // Below TLS there is another connection, which has no requests.
  server.on(isHttps ? 'secureConnection' : 'connection', function trackConnection(socket: HttpSocket) {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  app.addHook('preClose', async () => {
    if (!server.listening) return;
    const closedAt = performance.now();
    const sweep = (): void => {
      const waited = performance.now() - closedAt;
      if (waited >= closeTimeoutMs) {
        if (connections.size > 0) {
          app.log.warn(
            { connections: connections.size, closeTimeoutMs },
            'requests in flight are cut off: the application closes',
          );
        }
        for (const socket of connections) socket.destroy();
        return;
      }
      if (waited >= LINGER_MS) server.closeIdleConnections();
      for (const socket of connections) endAfterResponse(socket, waited >= IDLE_MS);
    };
    sweep();
    const timer = setInterval(sweep, Math.min(SWEEP_MS, closeTimeoutMs));
    server.once('close', () => clearInterval(timer));
    if (connections.size > 0) await sleep(Math.min(LINGER_MS, closeTimeoutMs));
  });
}

function endAfterResponse(socket: HttpSocket, isLate: boolean): void {
  const { _httpMessage: response } = socket;
  if (response === undefined || response === null) {
    if (isLate) socket.destroy();
  } else if (!response.headersSent) {
    response.setHeader('connection', 'close');
  }
}
