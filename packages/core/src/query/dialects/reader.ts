/** SQL text that is the same for every set of values. */
export interface Statement {
  readonly sql: string;
}

/** Reads rows as arrays of what the driver gives. */
export interface Reader {
  /** A promise where the driver is asynchronous; where it is not, two calls in one tick see the same state. */
  rows(statement: Statement, values: readonly unknown[]): unknown[][] | Promise<unknown[][]>;
}

/** Goes on with a value, in the same tick where it is there already. */
export function then<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
