/** A value, or a promise of it. What can be known at once is passed on at once, so that nothing waits without a need. */
export type Awaitable<Value> = Value | Promise<Value>;

export function isPromise<Value>(value: Awaitable<Value>): value is Promise<Value> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

/**
 * `step(value)`: now where the value is there, else when it is.
 *
 * @example
 * const allowed = whenReady(store.hit(key, 10, 1000), (result) => result.allowed);   // a boolean, or a promise of one
 */
export function whenReady<Value, Result>(
  value: Awaitable<Value>,
  step: (value: Value) => Awaitable<Result>,
): Awaitable<Result> {
  return isPromise(value) ? value.then(step) : step(value);
}

/** All the values: now where all of them are there, else when the last one is. */
export function whenAllReady<Value>(values: readonly Awaitable<Value>[]): Awaitable<Value[]> {
  return values.some(isPromise) ? Promise.all(values) : (values as Value[]);
}
