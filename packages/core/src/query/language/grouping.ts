import type { FieldPath } from '../../fields/field-path.ts';

/** The periods by which points in time can be grouped. A week begins on Monday. */
export const PERIODS = ['day', 'week', 'month', 'year'] as const;
/** The name of a period. */
export type Period = (typeof PERIODS)[number];

/** A column to group records by. NULL is a separate value. */
export interface GroupKey {
  readonly path: FieldPath;
  /**
   * The period that a point in time belongs to. Its first day, as `2026-11-01`, is the value of the group. Undefined:
   * the value itself.
   */
  readonly period: Period | undefined;
  /** The IANA time zone whose days a period has, as `timeZoneName` returns it. Undefined: UTC. */
  readonly zone?: string | undefined;
}

/** A total over the values of a column in a group, except NULLs. */
export interface GroupTotal {
  readonly path: FieldPath;
  readonly kind: 'count' | 'sum' | 'min' | 'max';
}

/** Groups of records. Without keys, all records are one group, which may be empty. */
export interface Grouping {
  readonly keys: readonly GroupKey[];
  readonly totals: readonly GroupTotal[];
  /** The most groups to read. */
  readonly limit: number;
}

/** One group. Keys, minima and maxima are the driver's values of their columns. */
export interface Group {
  readonly keys: readonly unknown[];
  /** The number of records in the group. */
  readonly count: number;
  /**
   * For `count`, a number. For `sum`, the text of a decimal, or a number if the column holds floating-point numbers.
   */
  readonly totals: readonly unknown[];
}

export function pathsOf({ keys, totals }: Grouping): readonly FieldPath[] {
  return [...keys, ...totals].map(({ path }) => path);
}
