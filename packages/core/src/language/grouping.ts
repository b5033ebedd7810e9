import type { FieldPath } from '../fields/field-path.ts';

/** The periods into which points in time can be put, in UTC. A week begins on Monday. */
export const PERIODS = ['day', 'week', 'month', 'year'] as const;
/** The name of a period. */
export type Period = (typeof PERIODS)[number];

/** A column by whose values records are put into groups. NULL is a value of its own. */
export interface GroupKey {
  readonly path: FieldPath;
  /** The period whose first day, as `2026-11-01`, stands for a point in time; undefined: the value itself. */
  readonly period: Period | undefined;
}

/** Something that a database tells of the values of a column in a group, of which NULLs are none. */
export interface GroupTotal {
  readonly path: FieldPath;
  readonly told: 'count' | 'sum' | 'min' | 'max';
}

/** Groups of records. Records in no groups are one group, which may be empty. */
export interface Grouping {
  readonly keys: readonly GroupKey[];
  readonly totals: readonly GroupTotal[];
  /** The most groups that are read. */
  readonly limit: number;
}

/** One group. Keys, minima and maxima are as the driver gives the values of their columns. */
export interface Group {
  readonly keys: readonly unknown[];
  /** The number of its records. */
  readonly count: number;
  /** A number for `count`; for `sum` the text of a decimal, but a number if the column holds floating-point numbers. */
  readonly totals: readonly unknown[];
}

/** The paths that a grouping reads. */
export function pathsOf({ keys, totals }: Grouping): readonly FieldPath[] {
  return [...keys, ...totals].map(({ path }) => path);
}
