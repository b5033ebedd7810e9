/** The results of a run of tests. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The counts that a test file ends its output with; undefined if it did not come to its end. */
export function countsIn(output: string): Counts | undefined {
  const totals = /^# \{ (total: .*) \}$/m.exec(output)?.[1];
  if (totals === undefined) return undefined;
  const total = (name: string): number => Number(new RegExp(`\\b${name}: (\\d+)`).exec(totals)?.[1] ?? 0);
  return { passed: total('pass'), failed: total('fail'), skipped: total('skip') + total('todo') };
}

/** How often each reason to skip is given. */
export function skippedIn(output: string): ReadonlyMap<string, number> {
  const skipped = new Map<string, number>();
  for (const [, kind, reason] of output.matchAll(/^\s*ok \d+.* # (SKIP|TODO) ?(.*?)(?: # time=.*)?$/gm)) {
    const key = reason === '' || reason === undefined ? String(kind).toLowerCase() : reason;
    skipped.set(key, (skipped.get(key) ?? 0) + 1);
  }
  return skipped;
}

export function sumOf(one: Counts, other: Counts): Counts {
  return {
    passed: one.passed + other.passed,
    failed: one.failed + other.failed,
    skipped: one.skipped + other.skipped,
  };
}

/** `12 passed, 0 failed`, and the number of skipped tests if there are any. */
export function formatCounts({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
