import { type Awaitable, whenReady } from '../../support/awaitable.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import type { PageSource } from '../page.ts';
import { NO_COLUMNS } from '../question.ts';
import type { Reader } from './dialects/reader.ts';
import { bindSelect, COUNT, type SqlQuestion } from './statement.ts';

/** The queries of a page, as statements of one reader. */
export function pageSource(question: SqlQuestion, columns: readonly FieldPath[], reader: Reader): PageSource {
  return {
    countsInline: question.plan.dialect.countsInline,
    rows(slice, counted) {
      const { statement, values } = bindSelect(question, { columns, slice, ordered: true, counted });
      return reader.rows(statement, values);
    },
    count: () => countRows(question, reader),
    estimate: () => estimateRows(question, reader),
  };
}

/**
 * If counting costs less than this, records are counted. In the planner's unit (one sequential read of a page of 8 kB).
 */
const CHEAP = 1000;

function estimateRows(question: SqlQuestion, reader: Reader): Awaitable<number> {
  const { forecast } = question.plan.dialect;
  if (forecast === undefined) return countRows(question, reader);
  const { statement, values } = bindSelect(question, { columns: NO_COLUMNS, one: true });
  const forecastStatement = { ...statement, sql: forecast.ask(statement.sql) };
  return whenReady(reader.rows(forecastStatement, values), ([row]) => {
    const { rows, cost } = forecast.read(row?.[0]);
    return cost > CHEAP ? rows : countRows(question, reader);
  });
}

export function countRows(question: SqlQuestion, reader: Reader): Awaitable<number> {
  const { statement, values } = bindSelect(question, { columns: COUNT, one: true });
  return whenReady(reader.rows(statement, values), ([row]) => Number(row?.[0]));
}
