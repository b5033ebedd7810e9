import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import { type Awaitable, whenReady } from '../../awaitable.ts';
import { isNever } from '../../language/condition.ts';
import type { Counting } from '../../language/counting.ts';
import type { Reader } from './dialects/reader.ts';
import { entityPlan, type EntityPlan } from './entity-plan.ts';
import { withFilters } from './run.ts';
import { bindCondition, type BoundCondition, bindStatement, oneRow, type Query, type Slice } from './statement.ts';

/** The rows of a slice, how many there are without it (null: not counted), and whether any follow. */
export interface RowPage {
  readonly rows: unknown[][];
  readonly count: number | null;
  readonly next: boolean;
}

export function readPage(
  em: EntityManager,
  meta: EntityMetadata,
  query: Query,
  counting: Counting,
): Awaitable<RowPage> {
  if (isNever(query.condition)) return { rows: [], count: counting === 'none' ? null : 0, next: false };
  const plan = entityPlan(em, meta);
  return counting === 'exact' ? readCounted(em, plan, query) : readOpen(em, plan, query, counting === 'estimated');
}

/**
 * Where the count rides along with the rows, only a page beyond the end needs a second statement; else the count is
 * asked for unless the page shows it, being the last.
 */
function readCounted(em: EntityManager, plan: EntityPlan, query: Query): Awaitable<RowPage> {
  const { slice } = query;
  const { countsInline } = plan.dialect;
  const end = slice === undefined ? Infinity : slice.offset + slice.limit;
  return whenReady(withFilters(em, plan, countsInline ? { ...query, counted: true } : query), (filtered) => {
    const where = bindCondition(em, plan, filtered);
    const page = bindStatement(em, plan, filtered, where);
    return plan.dialect.read(em, (reader) =>
      whenReady(reader.rows(page.statement, page.values), (rows) => {
        const shown = (countsInline ? inlineCount(rows) : undefined) ?? lastPageCount(rows, slice);
        if (shown !== undefined) return { rows, count: shown, next: end < shown };
        return whenReady(countExactly({ em, plan, query: filtered, where, reader }), (count) => ({
          rows,
          count,
          next: end < count,
        }));
      }),
    );
  });
}

/** One row more than the page holds tells whether there is another page, whatever is known of the number of all. */
function readOpen(em: EntityManager, plan: EntityPlan, query: Query, counted: boolean): Awaitable<RowPage> {
  const { slice } = query;
  const limit = slice?.limit ?? Infinity;
  const asked = slice === undefined ? query : { ...query, slice: { offset: slice.offset, limit: oneMore(limit) } };
  return whenReady(withFilters(em, plan, asked), (filtered) => {
    const where = bindCondition(em, plan, filtered);
    const page = bindStatement(em, plan, filtered, where);
    return plan.dialect.read(em, (reader) =>
      whenReady(reader.rows(page.statement, page.values), (found) => {
        const next = found.length > limit;
        const rows = next ? found.slice(0, limit) : found;
        if (!counted) return { rows, count: null, next };
        const proven = provenCount(slice?.offset ?? 0, rows.length, next);
        if (proven.least === proven.most) return { rows, count: proven.least, next };
        return whenReady(estimate({ em, plan, query: filtered, where, reader }), (count) => {
          return { rows, count: Math.min(Math.max(count, proven.least), proven.most), next };
        });
      }),
    );
  });
}

/** What a page says of the number of all: the last shows it, one before the last or beyond the end gives a bound. */
function provenCount(offset: number, rows: number, next: boolean): { least: number; most: number } {
  if (next) return { least: offset + rows + 1, most: Infinity };
  const isBeyond = rows === 0 && offset > 0;
  return { least: isBeyond ? 0 : offset + rows, most: offset + rows };
}

/** Cheaper than this, in the planner's own unit (the reading of one page of 8 kB in sequence), records are counted. */
const CHEAP = 1000;

/** What counting goes by: the records that a page was read of, and what it was read with. */
interface PageRead {
  readonly em: EntityManager;
  readonly plan: EntityPlan;
  readonly query: Query;
  readonly where: BoundCondition | undefined;
  readonly reader: Reader;
}

function estimate(read: PageRead): Awaitable<number> {
  const { em, plan, query, where, reader } = read;
  const { forecast } = plan.dialect;
  if (forecast === undefined) return countExactly(read);
  const { statement, values } = bindStatement(em, plan, oneRow('exists', query), where);
  return whenReady(reader.rows({ sql: forecast.ask(statement.sql), one: true }, values), ([row]) => {
    const { rows, cost } = forecast.read(row?.[0]);
    return cost > CHEAP ? rows : countExactly(read);
  });
}

function countExactly({ em, plan, query, where, reader }: PageRead): Awaitable<number> {
  const { statement, values } = bindStatement(em, plan, oneRow('count', query), where);
  return whenReady(reader.rows(statement, values), ([row]) => Number(row?.[0]));
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
