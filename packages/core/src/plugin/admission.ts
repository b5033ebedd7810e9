import type { FastifyInstance } from 'fastify';
import type { AddressThrottle } from './throttles.ts';
import { limitHandlers } from './handler-timeout.ts';
import { LoadShedder } from './load-shedding.ts';
import type { ResolvedOptions } from './options.ts';
import { ignoreUnknownExpectations, problemOf } from './request-line.ts';
import { RequestsInFlight } from './requests-in-flight.ts';

/**
 * The first hook of every request, and one for all of it, since each hook costs every request: whether there is room for it,
 * whether its first line is one, whether its address may ask. What no throttle counts (`config.throttle: false`, the
 * health routes) is neither refused for load nor counted, so that a busy process is not taken for a dead one.
 */
export function admitRequests(app: FastifyInstance, options: ResolvedOptions, throttle: AddressThrottle): void {
  const { maxRequestsInFlight, handlerTimeoutMs, maxUrlLength } = options;
  const inFlight = new RequestsInFlight();
  const shedder = new LoadShedder(maxRequestsInFlight, inFlight, app.log);
  limitHandlers(app, handlerTimeoutMs, inFlight);
  ignoreUnknownExpectations(app);
  app.addHook('onRequest', (request, reply, done) => {
    const { config } = request.routeOptions;
    const counts = config.throttle !== false;
    if (counts && shedder.isOverloaded) return shedder.refuse(reply);
    inFlight.enter(reply, counts);
    const problem = problemOf(request.raw, maxUrlLength);
    if (problem === undefined && counts && throttle.isAsked) throttle.ask(config, request, reply, done);
    else done(problem);
  });
}
