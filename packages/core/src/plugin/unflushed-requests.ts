import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify';
import { isPromise } from '../awaitable.ts';
import { isGivenUp } from '../given-up.ts';
import { checkFlushed, isGlobal } from '../mikro/unflushed-changes.ts';
import { usedManager } from '../viewset/request/request-state.ts';

/**
 * Makes a request fail if it would succeed although changes of `request.em` are not stored. The check is the last
 * `onSend` hook of every route, because a hook of the application may flush or commit. A request that has not used its
 * entity manager has nothing to check.
 */
export function refuseUnflushed(app: FastifyInstance): void {
  const check: onSendHookHandler = (request, reply, payload, done) => {
    const error = unflushedError(request, reply);
    if (error === undefined) return done(null, payload);
    // A stream would keep its file or connection open.
    (payload as { destroy?: () => void } | null | undefined)?.destroy?.();
    done(error);
  };
  app.addHook('onRoute', (route) => {
    const hooks = [route.onSend ?? []].flat();
    // The route of HEAD is made of the options of GET.
    route.onSend = [...hooks.filter((hook) => hook !== check), check];
  });
}

/**
 * Logs changes of `request.em` that are not stored after the response. They were made later than the check above: after
 * `reply.send()`, within a stream, or in a reply that the application has hijacked.
 *
 * @param work the result of the handler, which may still be pending
 */
export function logUnflushed(reply: FastifyReply, work: unknown): void {
  const { request } = reply;
  if (usedManager(request) === undefined) return;
  const log = (): void => {
    const err = unflushedError(request, reply);
    if (err !== undefined) request.log.error({ err }, 'a request has lost changes after its response');
  };
  // A handler may go on after `reply.send()`.
  if (isPromise(work)) work.then(log, log);
  else log();
}

/** Returns the error of a request whose changes are not stored. Undefined if it fails anyway. */
function unflushedError(request: FastifyRequest, { statusCode }: FastifyReply): Error | undefined {
  const em = usedManager(request);
  if (em === undefined || statusCode >= 400 || isGivenUp(request)) return undefined;
  // The end of a transaction flushes. Other requests may use the global entity manager too, and flush theirs later.
  if (em.isInTransaction() || isGlobal(em, request.server.viewset.orm)) return undefined;
  try {
    checkFlushed(em, `${request.method} ${request.routeOptions.url ?? request.url}`);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}
