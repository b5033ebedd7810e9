import { errorFrom, ImproperlyConfigured } from '../errors/errors.ts';

/**
 * A value, or a promise of it. A value that is already known is not wrapped in a promise, so nothing waits without
 * need.
 */
export type Awaitable<Value> = Value | Promise<Value>;

export function isPromise<Value>(value: Awaitable<Value>): value is Promise<Value> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

/**
 * Calls `step(value)`: at once if the value is known, else when its promise is fulfilled. User code may return any
 * thenable; the result is always a real promise.
 *
 * @example
 * const allowed = whenReady(store.hit(key, 10, 1000), (result) => result.allowed);   // a boolean, or a promise of one
 */
export function whenReady<Value, Result>(
  value: Awaitable<Value>,
  step: (value: Value) => Awaitable<Result>,
): Awaitable<Result> {
  return isPromise(value) ? Promise.resolve(value).then(step) : step(value);
}

/** Like `whenReady`, for a value that may fail, at once or later. On failure it calls `failed` instead. */
export function thenOrCatch<Value, Result>(
  start: () => Awaitable<Value>,
  succeeded: (value: Value) => Result,
  failed: (error: unknown) => Result,
): Awaitable<Result> {
  let value: Awaitable<Value>;
  try {
    value = start();
  } catch (error) {
    return failed(error);
  }
  return isPromise(value) ? Promise.resolve(value).then(succeeded, failed) : succeeded(value);
}

/**
 * Returns the result of user code that must be synchronous. Throws ImproperlyConfigured for a promise: it would count
 * as a result, and its rejection would be unhandled and end the process.
 */
export function requireSync<Value>(result: Value, who: () => string): Value {
  if (!isPromise(result)) return result;
  Promise.resolve(result).catch(() => undefined);
  throw new ImproperlyConfigured(`${who()} must be synchronous, but it returned a promise`);
}

/** Makes a step that throws another error: `change` makes it from the thrown error and the step's arguments. */
export function withError<Arguments extends readonly unknown[], Result>(
  step: (...given: Arguments) => Awaitable<Result>,
  change: (error: unknown, given: Arguments) => unknown,
): (...given: Arguments) => Awaitable<Result> {
  return (...given) =>
    thenOrCatch<Result, Result>(
      () => step(...given),
      (result) => result,
      (error) => {
        throw change(error, given);
      },
    );
}

/** Reads a yes or no from user code: only `true` is a yes. */
export function isYes(result: unknown): result is true {
  return result === true;
}

/**
 * Runs the work of a callback hook, and calls `done` once: with nothing if the work succeeds, with an error if it
 * throws or rejects. Fastify takes `done(undefined)` for success, so thrown values must only reach it through this
 * function.
 */
export function runHook(work: () => Awaitable<void>, done: (error?: Error) => void): void {
  let pending: Awaitable<void>;
  try {
    pending = work();
  } catch (error) {
    return done(errorFrom(error));
  }
  if (!isPromise(pending)) return done();
  void Promise.resolve(pending).then(
    () => done(),
    (error: unknown) => done(errorFrom(error)),
  );
}
