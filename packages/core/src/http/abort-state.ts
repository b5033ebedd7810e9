import { ServiceUnavailable } from '../errors/errors.ts';

/**
 * The fate of a request while its handler works. A property with a symbol key, because a WeakMap would slow down every
 * write.
 */
const ABORT_STATE: unique symbol = Symbol('viewset.fate');

interface AbortState {
  /**
   * True if the request was answered without its handler, or its client disconnected: the handler must have no effect.
   */
  isAborted: boolean;
  /** The functions that end the request's transactions, called when it is given up. */
  readonly listeners: Set<() => void>;
}

interface Abortable {
  [ABORT_STATE]?: AbortState;
}

function abortStateOf(request: object): AbortState {
  return ((request as Abortable)[ABORT_STATE] ??= { isAborted: false, listeners: new Set() });
}

/** Marks a request as failed and ends its transactions. The result of its handler no longer matters. */
export function abortRequest(request: object): void {
  const state = abortStateOf(request);
  if (state.isAborted) return;
  state.isAborted = true;
  for (const listener of state.listeners) listener();
}

export function isAborted(request: object): boolean {
  return (request as Abortable)[ABORT_STATE]?.isAborted === true;
}

/** Throws if the request was given up. Called before a write, and before a transaction is committed. */
export function checkNotAborted(request: object): void {
  if (isAborted(request)) throw tookTooLong();
}

/** Calls a function when the request is given up. Returns a function that cancels the call. */
export function onAbort(request: object, listener: () => void): () => void {
  const { listeners } = abortStateOf(request);
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function tookTooLong(): ServiceUnavailable {
  return new ServiceUnavailable('The request took too long');
}
