import { type Awaitable, whenReady } from '../awaitable.ts';
import type { Counting, Page, Slice } from '../language/query.ts';

/** The rows of a slice, how many there are without it (null: not counted), and whether any follow. */
export type RowPage = Page<unknown[], number | null>;

/** The questions of one database that a page is made of. */
export interface PageSource {
  /** True if the number of all records may be the last value of each row. */
  readonly countsInline: boolean;
  /** The rows of a slice, in their order. */
  rows(slice: Slice | undefined, counted: boolean): Awaitable<unknown[][]>;
  /** The number of all records. */
  count(): Awaitable<number>;
  /** The number of all records as the database expects it, or `count()`. */
  estimate(): Awaitable<number>;
}

/**
 * Reads a page. To count exactly, the number comes with the rows if the database can say so; else it is asked for, unless
 * the page shows it, being the last. Otherwise one row more than the page holds tells that others follow.
 */
export function readPage(source: PageSource, slice: Slice | undefined, counting: Counting): Awaitable<RowPage> {
  const { offset, limit } = slice ?? { offset: 0, limit: Infinity };
  const isExact = counting === 'exact';
  const more = isExact ? 0 : 1;
  const counted = isExact && source.countsInline;
  const read = slice && { offset, limit: Math.min(limit + more, Number.MAX_SAFE_INTEGER) };
  return whenReady(source.rows(read, counted), (found): Awaitable<RowPage> => {
    const total = counted ? takeCount(found) : undefined;
    const rows = found.length > limit ? found.slice(0, limit) : found;
    if (counting === 'none') return { rows, count: null, next: found.length > limit };
    const { least, most } = provenCount(offset, found.length, found.length < limit + more);
    const shown = total ?? (least === most ? least : undefined);
    const answer = (count: number): RowPage => {
      const next = isExact ? offset + limit < count : found.length > limit;
      return { rows, count: isExact ? count : Math.min(Math.max(count, least), most), next };
    };
    if (shown !== undefined) return answer(shown);
    return whenReady(isExact ? source.count() : source.estimate(), answer);
  });
}

/** The number of all as the rows found prove it: the last of them show it; none, or others behind them, bound it. */
function provenCount(offset: number, found: number, isEnd: boolean): { least: number; most: number } {
  if (!isEnd) return { least: offset + found, most: Infinity };
  const isBeyond = found === 0 && offset > 0;
  return { least: isBeyond ? 0 : offset + found, most: offset + found };
}

/** Takes the count off the rows, where it stands in each. */
function takeCount(rows: readonly unknown[][]): number | undefined {
  let count: unknown;
  for (const row of rows) count = row.pop();
  return count === undefined ? undefined : Number(count);
}
