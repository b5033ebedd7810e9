import { ServiceUnavailable } from './errors.ts';

/** Requests that were answered in their handler's place, or whose client went away: their handlers must have no effect. */
const givenUp = new WeakSet<object>();
/** The transactions of requests, to be ended when their request is given up. */
const listeners = new WeakMap<object, Set<() => void>>();

/** Marks a request as failed, whatever its handler comes to, and ends its transactions. */
export function giveUp(request: object): void {
  if (givenUp.has(request)) return;
  givenUp.add(request);
  for (const listener of listeners.get(request) ?? []) listener();
}

export function isGivenUp(request: object): boolean {
  return givenUp.has(request);
}

/** Throws if the request was given up. Asked before a write, and before a transaction is committed. */
export function checkNotGivenUp(request: object): void {
  if (isGivenUp(request)) throw tookTooLong();
}

/** Calls a function when the request is given up. Returns a function that cancels the call. */
export function onGivenUp(request: object, listener: () => void): () => void {
  let known = listeners.get(request);
  if (known === undefined) listeners.set(request, (known = new Set()));
  known.add(listener);
  return () => known.delete(listener);
}

export function tookTooLong(): ServiceUnavailable {
  return new ServiceUnavailable('The request took too long');
}
