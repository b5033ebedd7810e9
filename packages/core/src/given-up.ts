import { ServiceUnavailable } from './errors.ts';

/** What has been decided of a request while its handler works. A symbol on the request: a WeakMap costs every write. */
const FATE: unique symbol = Symbol('viewset.fate');

interface Fate {
  /** True of a request that was answered in its handler's place, or whose client went away: its handler must have no effect. */
  isGivenUp: boolean;
  /** The ends of the request's transactions, to be called when it is given up. */
  readonly listeners: Set<() => void>;
}

interface Fated {
  [FATE]?: Fate;
}

function fateOf(request: object): Fate {
  return ((request as Fated)[FATE] ??= { isGivenUp: false, listeners: new Set() });
}

/** Marks a request as failed, whatever its handler comes to, and ends its transactions. */
export function giveUp(request: object): void {
  const fate = fateOf(request);
  if (fate.isGivenUp) return;
  fate.isGivenUp = true;
  for (const listener of fate.listeners) listener();
}

export function isGivenUp(request: object): boolean {
  return (request as Fated)[FATE]?.isGivenUp === true;
}

/** Throws if the request was given up. Asked before a write, and before a transaction is committed. */
export function checkNotGivenUp(request: object): void {
  if (isGivenUp(request)) throw tookTooLong();
}

/** Calls a function when the request is given up. Returns a function that cancels the call. */
export function onGivenUp(request: object, listener: () => void): () => void {
  const { listeners } = fateOf(request);
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function tookTooLong(): ServiceUnavailable {
  return new ServiceUnavailable('The request took too long');
}
