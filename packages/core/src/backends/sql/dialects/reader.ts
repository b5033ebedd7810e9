/** SQL text that is the same for every set of values. */
export interface Statement {
  readonly sql: string;
  /** Whether there is one row at most. */
  readonly one: boolean;
}

/** Reads rows as arrays of what the driver gives. */
export interface Reader {
  /** A promise where the driver is asynchronous; where it is not, two calls in one tick see the same state. */
  rows(statement: Statement, values: readonly unknown[]): unknown[][] | Promise<unknown[][]>;
}
