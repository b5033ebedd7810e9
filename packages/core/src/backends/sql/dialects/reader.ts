/** SQL text that is the same for every set of values. */
export interface Statement {
  readonly sql: string;
  /** True if there is at most one row. */
  readonly one: boolean;
  /** True if clients choose the form of the text, so that there may be endlessly many. */
  readonly isShapedByClient: boolean;
}

/** A statement, and the values to run it with. */
export interface Bound {
  readonly statement: Statement;
  readonly values: readonly unknown[];
}

/** Reads rows as arrays of the driver's values. */
export interface Reader {
  /**
   * Runs a statement. Returns a promise if the driver is asynchronous. Otherwise two calls in one tick see the same
   * state.
   *
   * @param request the request behind a write, outside of a transaction
   */
  rows(statement: Statement, values: readonly unknown[], request?: object): unknown[][] | Promise<unknown[][]>;
}
