/** What a database expects of a query. */
export interface Expectation {
  /** How many rows it would answer with. */
  readonly rows: number;
  /** What running it would cost, in units of reading one page of 8 kB in sequence. */
  readonly cost: number;
}

/** How a database is asked what it expects of a query, without running it. */
export interface Forecast {
  /** The statement that asks about another. It takes the same values. */
  ask(sql: string): string;
  /** Reads the one value of its one row. */
  read(answer: unknown): Expectation;
}

interface Plan {
  readonly 'Plan Rows': number;
  readonly 'Total Cost': number;
}

/**
 * PostgreSQL's planner, by `explain`. It knows more than `pg_class.reltuples` does: the table's size of this moment,
 * the selectivity of the bound values, partitions, what row level security hides.
 */
export const POSTGRESQL_FORECAST: Forecast = {
  ask: (sql) => `explain (format json) ${sql}`,
  read(answer) {
    const [{ Plan: plan }] = (typeof answer === 'string' ? JSON.parse(answer) : answer) as [{ Plan: Plan }];
    return { rows: plan['Plan Rows'], cost: plan['Total Cost'] };
  },
};
