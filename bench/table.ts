import type { Quartiles } from './statistics.ts';

export type Cell = string;

/** A Markdown table, its columns as wide as their widest cell; all but the first are right-aligned. */
export function table(head: readonly Cell[], rows: readonly (readonly Cell[])[]): string {
  const widths = head.map((title, column) => Math.max(3, title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly Cell[]): string =>
    `| ${cells.map((cell, column) => pad(cell, widths[column]!, column)).join(' | ')} |`;
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(head), `| ${rule.join(' | ')} |`, ...rows.map(line)].join('\n');
}

function pad(cell: Cell, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}

/** The two figures between which the middle half of them lies: `0.98 to 1.05`. */
export function middleHalfText(quartiles: Quartiles | null, digits: number): Cell {
  return quartiles === null ? '' : `${quartiles.lower.toFixed(digits)} to ${quartiles.upper.toFixed(digits)}`;
}
