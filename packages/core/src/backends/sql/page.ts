import { type Awaitable, whenReady } from '../../awaitable.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import type { Counting, Page, Slice } from '../../language/query.ts';
import type { Reader } from './dialects/reader.ts';
import { bindSelect, COUNT, EXISTS, type Question } from './statement.ts';

/** The rows of a slice, how many there are without it (null: not counted), and whether any follow. */
export type RowPage = Page<unknown[], number | null>;

/**
 * Reads a page. To count exactly, the number comes with the rows if the database can say so; else it is asked for, unless
 * the page shows it, being the last. Otherwise one row more than the page holds tells that others follow.
 */
export function readPage(
  question: Question,
  columns: readonly FieldPath[],
  slice: Slice | undefined,
  counting: Counting,
): Awaitable<RowPage> {
  const { em, plan } = question;
  const { offset, limit } = slice ?? { offset: 0, limit: Infinity };
  const isExact = counting === 'exact';
  const more = isExact ? 0 : 1;
  const counted = isExact && plan.dialect.countsInline;
  const read = slice && { offset, limit: Math.min(limit + more, Number.MAX_SAFE_INTEGER) };
  const { statement, values } = bindSelect(question, { columns, slice: read, ordered: true, counted });
  return plan.dialect.read(em, (reader) =>
    whenReady(reader.rows(statement, values), (found): Awaitable<RowPage> => {
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
      return whenReady(isExact ? countRows(question, reader) : estimateRows(question, reader), answer);
    }),
  );
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

/** Cheaper than this, in the planner's own unit (the reading of one page of 8 kB in sequence), records are counted. */
const CHEAP = 1000;

function estimateRows(question: Question, reader: Reader): Awaitable<number> {
  const { forecast } = question.plan.dialect;
  if (forecast === undefined) return countRows(question, reader);
  const { statement, values } = bindSelect(question, { columns: EXISTS, one: true });
  const asking = { ...statement, sql: forecast.ask(statement.sql) };
  return whenReady(reader.rows(asking, values), ([row]) => {
    const { rows, cost } = forecast.read(row?.[0]);
    return cost > CHEAP ? rows : countRows(question, reader);
  });
}

/** Counts the records of a question. */
export function countRows(question: Question, reader: Reader): Awaitable<number> {
  const { statement, values } = bindSelect(question, { columns: COUNT, one: true });
  return whenReady(reader.rows(statement, values), ([row]) => Number(row?.[0]));
}
