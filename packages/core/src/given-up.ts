import { ServiceUnavailable } from './errors.ts';

/**
 * The fate of a request while its handler works. A property with a symbol key, because a WeakMap would slow down every
 * write.
 */
const FATE: unique symbol = Symbol('viewset.fate');

interface Fate {
  /**
   * True if the request was answered without its handler, or its client disconnected: the handler must have no effect.
   */
  isGivenUp: boolean;
  /** The functions that end the request's transactions, called when it is given up. */
  readonly listeners: Set<() => void>;
}

interface Fated {
  [FATE]?: Fate;
}

function fateOf(request: object): Fate {
  return ((request as Fated)[FATE] ??= { isGivenUp: false, listeners: new Set() });
}

/** Marks a request as failed and ends its transactions. The result of its handler no longer matters. */
export function giveUp(request: object): void {
  const fate = fateOf(request);
  if (fate.isGivenUp) return;
  fate.isGivenUp = true;
  for (const listener of fate.listeners) listener();
}

export function isGivenUp(request: object): boolean {
  return (request as Fated)[FATE]?.isGivenUp === true;
}

/** Throws if the request was given up. Called before a write, and before a transaction is committed. */
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
