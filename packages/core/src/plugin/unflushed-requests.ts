import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify';
import { isPromise } from '../support/awaitable.ts';
import { isAborted } from '../http/abort-state.ts';
import { checkFlushed, isGlobal } from '../mikro/unflushed-changes.ts';
import { usedManager } from '../view/request/request-state.ts';
import { inFlightOf, type RequestInFlight } from './requests-in-flight.ts';

interface Stream {
  destroy(): void;
}

/**
 * Makes a request fail if it would succeed although changes of `request.em` are not stored. The check is the last
 * `onSend` hook of every route, because a hook of the application may flush or commit. A request that has not used its
 * entity manager has nothing to check.
 */
export function refuseUnflushed(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const hooks = [route.onSend ?? []].flat();
    // The route of HEAD is made of the options of GET.
    route.onSend = [...hooks.filter((hook) => hook !== check), check];
  });
}

const check: onSendHookHandler = (request, reply, payload, done) => {
  if (usedManager(request) === undefined) return done(null, payload);
  const error = unflushedError(request, reply);
  if (error === undefined) {
    if (!isStream(payload)) noteFlushed(request);
    return done(null, payload);
  }
  // A stream would keep its file or connection open.
  if (isStream(payload)) payload.destroy();
  done(error);
};

/**
 * Logs changes of `request.em` that are not stored after the response. They were made later than the check above: after
 * `reply.send()`, within a stream, or in a reply that the application has hijacked.
 */
export function logUnflushed({ reply, work, isFlushed }: RequestInFlight): void {
  const { request } = reply;
  if (isFlushed || usedManager(request) === undefined) return;
  const log = (): void => {
    const err = unflushedError(request, reply);
    if (err !== undefined) request.log.error({ err }, 'a request has lost changes after its response');
  };
  // A handler may go on after `reply.send()`.
  if (isPromise(work)) work.then(log, log);
  else log();
}

/** Notes that a request without unflushed changes needs no further check, if its handler is done. */
function noteFlushed(request: FastifyRequest): void {
  const inFlight = inFlightOf(request);
  // Within a transaction, changes are stored later.
  if (inFlight === undefined || usedManager(request)?.isInTransaction() === true) return;
  const { work } = inFlight;
  if (!(work instanceof Promise)) return;
  // The first of the two runs first only if the promise is settled by now.
  let isDone = false;
  const note = (): void => void (isDone = true);
  work.then(note, note);
  queueMicrotask(() => {
    inFlight.isFlushed = isDone;
  });
}

/** Returns the error of a request whose changes are not stored. Undefined if it fails anyway. */
function unflushedError(request: FastifyRequest, { statusCode }: FastifyReply): Error | undefined {
  const em = usedManager(request);
  if (em === undefined || statusCode >= 400 || isAborted(request)) return undefined;
  // The end of a transaction flushes. Other requests may use the global entity manager too, and flush theirs later.
  if (em.isInTransaction() || isGlobal(em, request.server.viewset.orm)) return undefined;
  try {
    checkFlushed(em, `${request.method} ${request.routeOptions.url ?? request.url}`);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

function isStream(payload: unknown): payload is Stream {
  return typeof (payload as Partial<Stream> | null | undefined)?.destroy === 'function';
}
