import type { Counting } from './counting.ts';

/** One page of records, and how many there are in all. */
export interface Page<Record, Count extends number | null = number> {
  readonly rows: Record[];
  /** Null where they were not counted. */
  readonly count: Count;
  /** Whether records follow; always exact. */
  readonly next: boolean;
}

/** How many records there are in all, as the way of counting has it. */
export type CountOf<How extends Counting> = How extends 'none' ? null : number;
