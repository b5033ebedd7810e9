import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage, Server } from 'node:http';
import { runHook } from '../support/awaitable.ts';
import { HttpError, ParseError, ServiceUnavailable, UriTooLong } from '../errors/errors.ts';
import { LineLimit } from '../support/line-limit.ts';
import { readsBody } from '../http/methods.ts';
import { cutOff } from './response-progress.ts';
import { stateOf } from '../view/request/request-state.ts';
import { partOf } from '../view/write/request-part.ts';
import { sendError } from './error-handler.ts';
import type { ResolvedOptions } from './options.ts';
import { type Admitted, decorateInFlight, inFlightOf, RequestsInFlight, setInFlight } from './requests-in-flight.ts';
import type { Throttles } from './throttles.ts';
import { logUnflushed } from './unflushed-requests.ts';

/** The longest delay of a timeout answer after its limit, in milliseconds. */
const GRAIN_MS = 1000;
/** The least time between two log lines about refused requests, in milliseconds. */
const REPORT_INTERVAL_MS = 1000;
/** The answer of an overloaded process. A client may try again after a second. */
const OVERLOADED = new ServiceUnavailable('Too many requests are in flight here; try again shortly', {
  headers: { 'retry-after': '1' },
});
/** Also closes the connection, so that the rest of the body is not awaited. */
export const SLOW_REQUEST = new HttpError(408, 'request_timeout', 'The request took too long to arrive', {
  headers: { connection: 'close' },
});

/**
 * Admits the requests of an application. It is one hook, because each hook costs every request. It refuses requests
 * without a free slot, with an invalid first line, or from an address that asks too often. So an overloaded process
 * stays fast for the requests that it has accepted. Otherwise all of them would queue until they time out.
 *
 * Routes that no throttle counts (`config.throttle: false`, the health routes) neither take a slot nor need one. So a
 * busy process is not mistaken for a dead one.
 */
export function admitRequests(app: FastifyInstance, options: ResolvedOptions, throttles: Throttles): void {
  const { maxRequestsInFlight, maxUrlLength, orm } = options;
  const inFlight = new RequestsInFlight(maxRequestsInFlight, logUnflushed);
  const refuse = overloadResponse(app, maxRequestsInFlight);
  limitTime(app, options, inFlight);
  ignoreUnknownExpectations(app.server);
  decorateInFlight(app);
  app.addHook('onRequest', (request: Admitted, reply, done) => {
    void reply.header('x-content-type-options', 'nosniff');
    // Fastify creates an object of twelve fields on each read.
    const { config } = request.routeOptions;
    const counts = config.throttle !== false;
    const part = partOf(request);
    // A part of a request works in the slot of the whole request.
    if (part === undefined && counts && inFlight.isFull) return refuse(reply);
    setInFlight(request, inFlight.enter(reply, counts && part === undefined));
    if (isUpgrade(request.raw)) freeSlotOfUpgrade(request, reply);
    const problem = problemOf(request.raw, maxUrlLength);
    if (problem !== undefined) return done(problem);
    runHook(() => {
      part?.admit(request, reply, orm.em);
      if (counts && part?.isCounted !== false) return throttles.askAddress(config, request, reply);
    }, done);
  });
  waitForBodies(app, inFlight, refuse);
  app.addHook('onRoute', (route) => {
    const { handler } = route;
    route.handler = function observed(request: Admitted, reply) {
      const admitted = inFlightOf(request);
      // Another plugin has wrapped the handler and calls it with its own arguments: @fastify/websocket with a socket.
      if (admitted === undefined) return handler.call(this, request, reply);
      const part = partOf(request);
      stateOf(request).reply = reply;
      const work: unknown =
        part === undefined
          ? handler.call(this, request, reply)
          : part.handle(request, () => handler.call(this, request, reply));
      inFlight.beginWork(admitted, work);
      return work;
    };
  });
}

/**
 * Frees the slot of a request whose response lasts long, such as a stream of events: it no longer counts towards
 * `maxRequestsInFlight`. Call it once the work of the request is done, before you send the stream. It does nothing for
 * a request without a slot.
 *
 * Other limits remain: the response must begin within `handlerTimeoutMs`, and the client must read it as fast as
 * `minReadRate`. How many of these responses are open at once is for you to limit. An upgraded connection, such as a
 * WebSocket, needs no call: its slot is free as soon as the handler has the connection.
 *
 * @example
 * import { Readable } from 'node:stream';
 *
 * app.get('/prices', async (request, reply) => {
 *   freeSlot(request);
 *   return reply.type('text/event-stream').send(Readable.from(['1.25\n', '1.26\n']));
 * });
 */
export function freeSlot(request: FastifyRequest): void {
  const admitted = inFlightOf(request);
  admitted?.among.beginStream(admitted);
}

/**
 * Frees the slot of a request once its handler has taken over the connection. That is the end of the request: hooks and
 * checks are done, and the connection may stay open for days.
 */
function freeSlotOfUpgrade(request: FastifyRequest, reply: FastifyReply): void {
  const hijack = reply.hijack.bind(reply);
  reply.hijack = () => {
    freeSlot(request);
    return hijack();
  };
}

/** Reports whether Node has given the connection of a request to the listeners of `upgrade`. Its types omit the property. */
function isUpgrade(raw: IncomingMessage & { readonly upgrade?: boolean | null }): boolean {
  return raw.upgrade === true;
}

/** Frees the slot of a request while its body arrives. */
function waitForBodies(app: FastifyInstance, inFlight: RequestsInFlight, refuse: (reply: FastifyReply) => void): void {
  app.addHook('preParsing', (request: Admitted, _reply, _payload, done) => {
    const admitted = inFlightOf(request);
    const slowest = admitted && isBodyToCome(request.raw) ? inFlight.beginBody(admitted) : undefined;
    if (slowest !== undefined) sendSafely(slowest.reply, SLOW_REQUEST);
    done();
  });
  const endBody = (request: Admitted, reply: FastifyReply, done: () => void): void => {
    const admitted = inFlightOf(request);
    if (admitted && !inFlight.endBody(admitted)) refuse(reply);
    else done();
  };
  app.addHook('preValidation', (request: Admitted, reply, done) => {
    // For a form with files, a hook of the route reads the body.
    if (request.body === undefined && isBodyToCome(request.raw)) done();
    else endBody(request, reply, done);
  });
  app.addHook('onRoute', (route) => {
    if (readsBody(route)) route.preHandler = [endBody, route.preHandler ?? []].flat();
  });
}

function isBodyToCome({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

function overloadResponse(app: FastifyInstance, maxRequestsInFlight: number): (reply: FastifyReply) => void {
  const lines = new LineLimit(REPORT_INTERVAL_MS);
  return (reply) => {
    const withheld = lines.take();
    if (withheld !== undefined) {
      app.log.warn({ refused: withheld + 1, maxRequestsInFlight }, 'overloaded: requests are refused');
    }
    sendError(OVERLOADED, reply);
  };
}

/**
 * Answers a request without an answer `handlerTimeoutMs` after its arrival: 408 if its body is not complete by then,
 * else 503. Cuts off a client that reads its answer too slowly. One clock serves all requests. Fastify's
 * `handlerTimeout` sets a timer for each request, and loses it (with Fastify 5.12) once a body has been read.
 */
function limitTime(app: FastifyInstance, options: ResolvedOptions, inFlight: RequestsInFlight): void {
  const { handlerTimeoutMs, readerTimeoutMs, minReadRate } = options;
  // A request arrives at any time between two ticks, so the answer may be two ticks late.
  const tickMs = Math.min(GRAIN_MS, handlerTimeoutMs, readerTimeoutMs) / 2;
  const ticks = Math.ceil(handlerTimeoutMs / tickMs);
  const least = { ticks: Math.ceil(readerTimeoutMs / tickMs), bytes: (minReadRate * readerTimeoutMs) / 1000 };
  const clock = setInterval(() => {
    inFlight.tick();
    for (const { reply } of inFlight.slowReaders(least)) {
      reply.log.warn({ req: reply.request }, 'the client read its response too slowly, or too many clients did');
      cutOff(reply.raw);
    }
    for (const { reply, phase } of inFlight.giveUpOlderThan(ticks)) {
      if (phase === 'receiving') {
        sendSafely(reply, SLOW_REQUEST);
      } else {
        reply.log.error({ req: reply.request }, 'the handler took too long');
        sendSafely(reply, new ServiceUnavailable('The request took too long'));
      }
    }
  }, tickMs);
  clock.unref();
  app.addHook('onClose', async () => clearInterval(clock));
}

function sendSafely(reply: FastifyReply, response: HttpError): void {
  if (reply.sent) return;
  try {
    sendError(response, reply);
  } catch (error) {
    reply.log.error({ err: error }, 'a late answer could not be sent');
  }
}

/**
 * Returns the error of a request with an invalid first line or Host:
 *
 * - HTTP/1.1 without a Host. Node would refuse it with an empty body, but `serverOptions` lets it through;
 * - a URL, query string included, of more than `maxUrlLength` characters, which are bytes. This bounds all later work
 *   on the query string. Node limits the URL and the headers together, see `serverOptions`.
 */
function problemOf({ headers, httpVersion, url = '' }: IncomingMessage, maxUrlLength: number): Error | undefined {
  if (headers.host === undefined && httpVersion === '1.1') return new ParseError('The Host header is missing');
  if (url.length > maxUrlLength) return new UriTooLong(`The URL must not be longer than ${maxUrlLength} characters`);
  return undefined;
}

/** Makes a server ignore an unknown Expect header, as RFC 9110 (section 10.1.1) allows. Node would refuse it. */
function ignoreUnknownExpectations(server: Pick<Server, 'on' | 'emit' | 'listenerCount'>): void {
  // The plugin may be registered in several scopes of one server.
  if (server.listenerCount('checkExpectation') > 0) return;
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}
