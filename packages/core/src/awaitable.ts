import { errorFrom, ImproperlyConfigured } from './errors.ts';

/** A value, or a promise of it. A value that is known at once is passed on at once, so that nothing waits without a need. */
export type Awaitable<Value> = Value | Promise<Value>;

export function isPromise<Value>(value: Awaitable<Value>): value is Promise<Value> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

/**
 * Calls `step(value)`: now if the value is known, else when its promise is fulfilled. User code may answer with any
 * thenable; the result is a real promise all the same.
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

/** Like `whenReady`, for a value whose making may fail, at once or later: then `failed` is called instead. */
export function settle<Value, Result>(
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
 * Returns the answer of user code that must answer at once. Throws ImproperlyConfigured for a promise: it would be taken for
 * an answer, and if it fails, nobody would hear of it and the process would end.
 */
export function atOnce<Value>(answer: Value, who: () => string): Value {
  if (!isPromise(answer)) return answer;
  Promise.resolve(answer).catch(() => undefined);
  throw new ImproperlyConfigured(`${who()} must be synchronous, but it returned a promise`);
}

/** Makes a step that fails by another error, which `change` makes of the one that was thrown and of what the step was given. */
export function withError<Arguments extends readonly unknown[], Result>(
  step: (...given: Arguments) => Awaitable<Result>,
  change: (error: unknown, given: Arguments) => unknown,
): (...given: Arguments) => Awaitable<Result> {
  return (...given) =>
    settle<Result, Result>(
      () => step(...given),
      (result) => result,
      (error) => {
        throw change(error, given);
      },
    );
}

/** Reads the yes or no of user code: only true is a yes, whatever else comes is a no. */
export function isYes(answer: unknown): answer is true {
  return answer === true;
}

/**
 * Runs the work of a hook that has a callback, and calls `done` once: with nothing if the work succeeds, with an error if
 * it throws or rejects. Fastify takes `done(undefined)` for success, so nothing else may hand a thrown value to it.
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
