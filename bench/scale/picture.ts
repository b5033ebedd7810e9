import { DATABASE_TITLES } from '../data/database.ts';
import { lineChart } from './line-chart.ts';
import type { ListLatency, Place } from './list-latency.ts';

/** The places that are drawn; the others would lie under one of these. */
const LINES: readonly { readonly name: Place; readonly color: string; readonly dashed: boolean }[] = [
  { name: 'page number, first page', color: '#e69f00', dashed: false },
  { name: 'page number, last page', color: '#d55e00', dashed: false },
  { name: 'limit/offset, last page', color: '#cc79a7', dashed: true },
  { name: 'cursor, last page', color: '#0072b2', dashed: false },
  { name: 'cursor by price, last page', color: '#56b4e9', dashed: true },
];

/** Latency over the size of the table, a panel for each database, as SVG. */
export function latencyPicture(lists: readonly ListLatency[]): string {
  const groups = Map.groupBy(lists, ({ database }) => database);
  return lineChart({
    title: 'Latency of a page of 10 as the table grows',
    xTitle: 'rows of the table',
    yTitle: 'median, ms',
    series: LINES,
    panels: [...groups].map(([database, group]) => ({
      title: DATABASE_TITLES[database],
      lines: LINES.map(({ name }) => ({
        series: name,
        points: group.map(({ rows, latencyMs }) => [rows, latencyMs[name]] as const),
      })),
    })),
  });
}
