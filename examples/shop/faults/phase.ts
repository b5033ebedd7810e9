import type { Test } from 'tap';
import type { Shop } from '../test/support/shop.ts';
import { type Entry, byStatus, type Journal, longestMs } from './journal.ts';

/** The maximum duration of a request in every phase: the shop gives up waiting for a store long before its limit of 30 s. */
const LONGEST_MS = 10_000;
/** After a store is back, everything has to work again within this time. */
const RECOVERY_MS = 4000;

/** The responses that are allowed during a failure, besides success. */
export interface Tolerance {
  /** Whether this request may return 503. */
  readonly mayFail?: (entry: Entry) => boolean;
  /** Whether this request may get no response. */
  readonly mayVanish?: (entry: Entry) => boolean;
}

/** A part of the run: its responses are compared with the guarantees, and its figures are recorded. */
export class Phase {
  readonly name: string;
  readonly entries: readonly Entry[];
  recoveryMs: number | undefined;

  constructor(name: string, entries: readonly Entry[]) {
    this.name = name;
    this.entries = entries;
  }

  static between(name: string, journal: Journal, from: number, to: number): Phase {
    return new Phase(name, journal.between(from, to));
  }

  /** Every response that is not a success must be one of the allowed errors, with the documented body. */
  holds(t: Test, { mayFail = () => false, mayVanish = () => false }: Tolerance = {}): void {
    const { entries, name } = this;
    const wrong = entries.filter((entry) => {
      if (entry.status === 0) return !mayVanish(entry);
      if (entry.status === 503) return !mayFail(entry);
      return entry.status >= 300;
    });
    t.ok(entries.length > 0, `${name}: there was a load`);
    t.same(byStatus(wrong), '', `${name}: no answer but those that may be`);
    const problems = entries.flatMap(({ problem }) => (problem === undefined ? [] : [problem]));
    t.same(problems.slice(0, 3), [], `${name}: every error has the contract's body`);
    const longest = longestMs(entries);
    t.ok(longest < LONGEST_MS, `${name}: no request hangs (the longest took ${longest.toFixed(0)} ms)`);
  }

  /** The store is back from here on: errors end soon, on every shop, and are followed by successes. */
  recovers(t: Test, backAt: number, shops: readonly Shop[], isWell: (entry: Entry) => boolean): void {
    this.recoveryMs = Math.max(...shops.map((shop) => this.#recoveryOf(shop, backAt, isWell)));
    t.ok(this.recoveryMs < RECOVERY_MS, `${this.name}: all is well after ${this.recoveryMs.toFixed(0)} ms`);
  }

  #recoveryOf(shop: Shop, backAt: number, isWell: (entry: Entry) => boolean): number {
    const ofShop = this.entries.filter((entry) => entry.shop === shop);
    const lastIll = ofShop.findLastIndex((entry) => !isWell(entry));
    const firstWell = ofShop[lastIll + 1];
    return firstWell === undefined ? Infinity : Math.max(0, firstWell.startedAt - backAt);
  }

  get row(): string[] {
    const seconds = (this.recoveryMs ?? 0) / 1000;
    return [
      this.name,
      String(this.entries.length),
      byStatus(this.entries),
      `${longestMs(this.entries).toFixed(0)} ms`,
      this.recoveryMs === undefined ? '' : `${seconds.toFixed(2)} s`,
    ];
  }
}

/** The figures of all phases, in columns. */
export function tableOf(phases: readonly Phase[]): string {
  const rows = [['phase', 'requests', 'by status', 'longest', 'recovery'], ...phases.map(({ row }) => row)];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
