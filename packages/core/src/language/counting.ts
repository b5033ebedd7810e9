/** The ways to say how many records there are beside a page of them. */
export const COUNTINGS = ['exact', 'estimated', 'none'] as const;

/**
 * How many records there are in all: counted, `exact`; where the database can tell without counting, what it expects,
 * `estimated`; or not said, `none`, for one statement a page however large the table.
 */
export type Counting = (typeof COUNTINGS)[number];
