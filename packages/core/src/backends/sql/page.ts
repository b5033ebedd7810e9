import { type Awaitable, whenReady } from '../../awaitable.ts';
import type { Counting, Slice } from '../../language/query.ts';
import type { Reader } from './dialects/reader.ts';
import { bindSelect, bindWhere, type Question, type Select, type Where } from './statement.ts';

/** The rows of a slice, how many there are without it (null: not counted), and whether any follow. */
export interface RowPage {
  readonly rows: unknown[][];
  readonly count: number | null;
  readonly next: boolean;
}

export function readPage(question: Question, counting: Counting): Awaitable<RowPage> {
  return counting === 'exact' ? readCounted(question) : readOpen(question, counting === 'estimated');
}

/**
 * If the count rides along with the rows, only a page beyond the end needs a second statement; else the count is asked
 * for unless the page shows it, being the last.
 */
function readCounted(question: Question): Awaitable<RowPage> {
  const { em, plan, select } = question;
  const { slice } = select;
  const { countsInline } = plan.dialect;
  const end = slice === undefined ? Infinity : slice.offset + slice.limit;
  const where = bindWhere(question);
  const page = bindSelect(countsInline ? { em, plan, select: { ...select, counted: true } } : question, where);
  return plan.dialect.read(em, (reader) =>
    whenReady(reader.rows(page.statement, page.values), (rows) => {
      const shown = (countsInline ? inlineCount(rows) : undefined) ?? lastPageCount(rows, slice);
      if (shown !== undefined) return { rows, count: shown, next: end < shown };
      return whenReady(countExactly(question, reader, where), (count) => ({ rows, count, next: end < count }));
    }),
  );
}

/** One row more than the page holds tells that there is another page, whatever is known of the number of all. */
function readOpen(question: Question, isCounted: boolean): Awaitable<RowPage> {
  const { em, plan, select } = question;
  const { offset = 0, limit = Infinity } = select.slice ?? {};
  const slice = select.slice === undefined ? undefined : { offset, limit: oneMore(limit) };
  const where = bindWhere(question);
  const page = bindSelect({ em, plan, select: { ...select, slice } }, where);
  return plan.dialect.read(em, (reader) =>
    whenReady(reader.rows(page.statement, page.values), (found) => {
      const next = found.length > limit;
      const rows = next ? found.slice(0, limit) : found;
      if (!isCounted) return { rows, count: null, next };
      const proven = provenCount(offset, rows.length, next);
      if (proven.least === proven.most) return { rows, count: proven.least, next };
      return whenReady(estimate(question, reader, where), (count) => {
        return { rows, count: Math.min(Math.max(count, proven.least), proven.most), next };
      });
    }),
  );
}

/** The number of all as a page proves it: the last shows it, one before the last or beyond the end gives a bound. */
function provenCount(offset: number, rows: number, next: boolean): { least: number; most: number } {
  if (next) return { least: offset + rows + 1, most: Infinity };
  const isBeyond = rows === 0 && offset > 0;
  return { least: isBeyond ? 0 : offset + rows, most: offset + rows };
}

/** Cheaper than this, in the planner's own unit (the reading of one page of 8 kB in sequence), records are counted. */
const CHEAP = 1000;

function estimate(question: Question, reader: Reader, where: Where | undefined): Awaitable<number> {
  const { em, plan, select } = question;
  const { forecast } = plan.dialect;
  if (forecast === undefined) return countExactly(question, reader, where);
  const { statement, values } = bindSelect({ em, plan, select: alone(select, 'exists') }, where);
  const { isShapedByClient } = select;
  return whenReady(reader.rows({ sql: forecast.ask(statement.sql), one: true, isShapedByClient }, values), ([row]) => {
    const { rows, cost } = forecast.read(row?.[0]);
    return cost > CHEAP ? rows : countExactly(question, reader, where);
  });
}

function countExactly({ em, plan, select }: Question, reader: Reader, where: Where | undefined): Awaitable<number> {
  const { statement, values } = bindSelect({ em, plan, select: alone(select, 'count') }, where);
  return whenReady(reader.rows(statement, values), ([row]) => Number(row?.[0]));
}

/** Another question about the same records, which one row answers. */
function alone(select: Select, columns: 'count' | 'exists'): Select {
  return { ...select, columns, order: [], slice: undefined, one: true };
}

function oneMore(limit: number): number {
  return Math.min(limit + 1, Number.MAX_SAFE_INTEGER);
}

/** Takes the count off the rows, where it stands in each. */
function inlineCount(rows: readonly unknown[][]): number | undefined {
  let count: unknown;
  for (const row of rows) count = row.pop();
  return count === undefined ? undefined : Number(count);
}

function lastPageCount(rows: readonly unknown[][], slice: Slice | undefined): number | undefined {
  if (slice === undefined) return rows.length;
  const isLast = rows.length < slice.limit && (rows.length > 0 || slice.offset === 0);
  return isLast ? slice.offset + rows.length : undefined;
}
