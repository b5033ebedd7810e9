import { useState } from 'preact/hooks';
import type { Resource } from './api-model.ts';
import { type Row, textOf } from './records.ts';
import type { Outcome } from './several-records.ts';

/** The rows of a table that are selected, and what was received of the last thing that was done with them. */
export interface Selection {
  readonly keys: ReadonlySet<string>;
  readonly rows: readonly Row[];
  /** Undefined if nothing was done with these rows yet, or nothing went wrong. */
  readonly outcome: Outcome | undefined;
  readonly select: (keys: ReadonlySet<string>) => void;
  /** Keeps what was received of a change or a deletion, and the rows that are selected from then on. */
  readonly settle: (outcome: Outcome, rows: readonly Row[]) => void;
}

export function useSelection({ key }: Resource, rows: readonly Row[]): Selection {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set());
  const [outcome, setOutcome] = useState<Outcome>();
  return {
    keys,
    rows: rows.filter((row) => keys.has(textOf(row[key]))),
    outcome,
    select: (next) => {
      setKeys(next);
      setOutcome(undefined);
    },
    settle: (found, left) => {
      setOutcome(found.refusal === undefined ? undefined : found);
      setKeys(new Set(left.map((row) => textOf(row[key]))));
    },
  };
}
