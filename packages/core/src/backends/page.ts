import { type Awaitable, whenReady } from '../support/awaitable.ts';
import type { Counting, Page, Slice } from '../query/language/query.ts';

/** The rows of a slice, the number of all rows (null: not counted), and whether more follow. */
export type RowPage = Page<unknown[], number | null>;

/** The queries of a database for a page. */
export interface PageSource {
  /** True if the total number may be the last value of each row. */
  readonly countsInline: boolean;
  /** Returns the rows of a slice, in order. */
  rows(slice: Slice | undefined, counted: boolean): Awaitable<unknown[][]>;
  /** Returns the total number of records. */
  count(): Awaitable<number>;
  /** Returns the database's estimate of the total number, or `count()`. */
  estimate(): Awaitable<number>;
}

/**
 * Reads a page. For an exact count, the total comes with the rows if the database supports it. Otherwise a query
 * counts, unless a last page shows the total. Without an exact count, one extra row shows whether more follow.
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
    const result = (count: number): RowPage => {
      const next = isExact ? offset + limit < count : found.length > limit;
      return { rows, count: isExact ? count : Math.min(Math.max(count, least), most), next };
    };
    if (shown !== undefined) return result(shown);
    return whenReady(isExact ? source.count() : source.estimate(), result);
  });
}

/**
 * Returns the bounds of the total that the found rows prove. The last page proves it exactly. An empty page, or a page
 * with more rows after it, only limits it.
 */
function provenCount(offset: number, found: number, isEnd: boolean): { least: number; most: number } {
  if (!isEnd) return { least: offset + found, most: Infinity };
  const isBeyond = found === 0 && offset > 0;
  return { least: isBeyond ? 0 : offset + found, most: offset + found };
}

/** Removes the count from the end of each row, and returns it. */
function takeCount(rows: readonly unknown[][]): number | undefined {
  let count: unknown;
  for (const row of rows) count = row.pop();
  return count === undefined ? undefined : Number(count);
}
