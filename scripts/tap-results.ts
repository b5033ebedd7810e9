/** What a run of tests came to. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The counts that tap ends its output with, and how often each reason to skip was given. */
export function readTap(text: string): { counts: Counts; skipped: ReadonlyMap<string, number> } {
  const totals = /^# \{ (total: .*) \}$/m.exec(text)?.[1] ?? '';
  const total = (name: string): number => Number(new RegExp(`\\b${name}: (\\d+)`).exec(totals)?.[1] ?? 0);
  const skipped = new Map<string, number>();
  for (const [, kind, reason] of text.matchAll(/^\s*ok \d+.* # (SKIP|TODO) ?(.*?)(?: # time=.*)?$/gm)) {
    const key = reason === '' || reason === undefined ? String(kind).toLowerCase() : reason;
    skipped.set(key, (skipped.get(key) ?? 0) + 1);
  }
  return { counts: { passed: total('pass'), failed: total('fail'), skipped: total('skip') + total('todo') }, skipped };
}

/** `12 passed, 0 failed`, with what was skipped where anything was. */
export function formatCounts({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
