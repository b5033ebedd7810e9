/** SQL text that is the same for every set of values. */
export interface Statement {
  readonly sql: string;
  /** True if there is one row at most. */
  readonly one: boolean;
  /** True if there may be endlessly many such texts, because clients choose their form. */
  readonly isShapedByClient: boolean;
}

/** A statement, and the values to run it with. */
export interface Bound {
  readonly statement: Statement;
  readonly values: readonly unknown[];
}

/** Reads rows as arrays of what the driver gives. */
export interface Reader {
  /**
   * A promise if the driver is asynchronous; if it is not, two calls in one tick see the same state.
   *
   * @param request the one that a statement writes for, outside of a transaction
   */
  rows(statement: Statement, values: readonly unknown[], request?: object): unknown[][] | Promise<unknown[][]>;
}
