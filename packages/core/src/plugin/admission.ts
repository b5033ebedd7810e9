import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage, Server } from 'node:http';
import { runHook } from '../awaitable.ts';
import { HttpError, ParseError, ServiceUnavailable, UriTooLong } from '../errors.ts';
import { LineLimit } from '../line-limit.ts';
import { readsBody } from '../methods.ts';
import { cutOff } from './answer-progress.ts';
import { partOf } from '../viewset/writes/request-part.ts';
import { sendError } from './error-handler.ts';
import type { ResolvedOptions } from './options.ts';
import { type RequestInFlight, RequestsInFlight } from './requests-in-flight.ts';
import type { Throttles } from './throttles.ts';

/** The time that a request may be answered later than its limit, in milliseconds. */
const GRAIN_MS = 1000;
/** The time between two lines in the log that requests are refused, in milliseconds. */
const REPORT_INTERVAL_MS = 1000;
/** The answer of a process that has too much to do; a client may try again in a second. */
const OVERLOADED = new ServiceUnavailable('Too many requests are in flight here; try again shortly', {
  headers: { 'retry-after': '1' },
});
/** Ends the connection too: the rest of the body is not waited for. */
export const SLOW_REQUEST = new HttpError(408, 'request_timeout', 'The request took too long to arrive', {
  headers: { connection: 'close' },
});

const IN_FLIGHT: unique symbol = Symbol('viewset.in-flight');

type Admitted = FastifyRequest & { [IN_FLIGHT]?: RequestInFlight | null };

/**
 * Admits the requests of an application: one hook, because each hook costs every request, refuses what there is no slot
 * for, a first line that is none, and an address that asks too often. A process that is asked more than it can do stays
 * quick for the requests that it has taken, instead of queueing until all of them time out.
 *
 * Routes that no throttle counts (`config.throttle: false`, the health routes) are neither refused for load nor counted,
 * so that a busy process is not taken for a dead one.
 *
 * @returns frees the slot of a request whose answer lasts
 */
export function admitRequests(
  app: FastifyInstance,
  options: ResolvedOptions,
  throttles: Throttles,
): (request: FastifyRequest) => void {
  const { maxRequestsInFlight, maxUrlLength, orm } = options;
  const inFlight = new RequestsInFlight(maxRequestsInFlight);
  const refuse = overloadAnswer(app, maxRequestsInFlight);
  limitTime(app, options, inFlight);
  ignoreUnknownExpectations(app.server);
  app.decorateRequest(IN_FLIGHT, null);
  app.addHook('onRequest', (request: Admitted, reply, done) => {
    void reply.header('x-content-type-options', 'nosniff');
    // Fastify makes an object of twelve fields each time it is asked.
    const { config } = request.routeOptions;
    const counts = config.throttle !== false;
    const part = partOf(request);
    // A part works in the slot of the whole request.
    if (part === undefined && counts && inFlight.isFull) return refuse(reply);
    request[IN_FLIGHT] = inFlight.enter(reply, counts && part === undefined);
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
      const part = partOf(request);
      const work: unknown =
        part === undefined
          ? handler.call(this, request, reply)
          : part.handle(request, () => handler.call(this, request, reply));
      const admitted = request[IN_FLIGHT];
      if (admitted) inFlight.beginWork(admitted, work);
      return work;
    };
  });
  return (request: Admitted) => {
    const admitted = request[IN_FLIGHT];
    if (admitted) inFlight.beginStream(admitted);
  };
}

/** Keeps a body that is still coming in from taking a slot of those that work. */
function waitForBodies(app: FastifyInstance, inFlight: RequestsInFlight, refuse: (reply: FastifyReply) => void): void {
  app.addHook('preParsing', (request: Admitted, _reply, _payload, done) => {
    const admitted = request[IN_FLIGHT];
    const slowest = admitted && isBodyToCome(request.raw) ? inFlight.beginBody(admitted) : undefined;
    if (slowest !== undefined) sendSafely(slowest.reply, SLOW_REQUEST);
    done();
  });
  const endBody = (request: Admitted, reply: FastifyReply, done: () => void): void => {
    const admitted = request[IN_FLIGHT];
    if (admitted && !inFlight.endBody(admitted)) refuse(reply);
    else done();
  };
  app.addHook('preValidation', (request: Admitted, reply, done) => {
    // A form with files is read by a hook of its route.
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

function overloadAnswer(app: FastifyInstance, maxRequestsInFlight: number): (reply: FastifyReply) => void {
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
 * Answers a request that has not been answered `handlerTimeoutMs` after it came in: 408 if its body has not come in by then,
 * else 503. Cuts off a client that takes too little of its answer. One clock looks after all requests: Fastify's own
 * `handlerTimeout` sets a timer for each, and forgets it (with Fastify 5.12) once a body has been read.
 */
function limitTime(app: FastifyInstance, options: ResolvedOptions, inFlight: RequestsInFlight): void {
  const { handlerTimeoutMs, readerTimeoutMs, minReadRate } = options;
  // A request may come in just before a tick or just after it: two ticks are what it may be late.
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

function sendSafely(reply: FastifyReply, answer: HttpError): void {
  if (reply.sent) return;
  try {
    sendError(answer, reply);
  } catch (error) {
    reply.log.error({ err: error }, 'a late answer could not be sent');
  }
}

/**
 * Returns the error of a request whose first line or Host is none:
 *
 * - HTTP/1.1 without a Host, which Node would refuse with an empty body (`serverOptions` has it let it through);
 * - a URL, query string included, of more than `maxUrlLength` characters, which are bytes: whatever the rest of a request
 *   does with a query string is bounded by it. Node has a limit for the URL and the headers together, see
 *   `serverOptions`.
 */
function problemOf({ headers, httpVersion, url = '' }: IncomingMessage, maxUrlLength: number): Error | undefined {
  if (headers.host === undefined && httpVersion === '1.1') return new ParseError('The Host header is missing');
  if (url.length > maxUrlLength) return new UriTooLong(`The URL must not be longer than ${maxUrlLength} characters`);
  return undefined;
}

/** Has a server ignore an Expect that Node does not know, as RFC 9110 (section 10.1.1) allows: Node refuses by itself. */
function ignoreUnknownExpectations(server: Pick<Server, 'on' | 'emit' | 'listenerCount'>): void {
  // The plugin may stand in several scopes of one server.
  if (server.listenerCount('checkExpectation') > 0) return;
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}
