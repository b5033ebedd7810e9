import { styleText } from 'node:util';
import type { Counts } from '../tap-results.ts';
import { failedTests } from './failed-tests.ts';
import type { FileResult } from './test-process.ts';

/** The most lines of a difference or a stack, and of an output, that are shown. */
const MAX_DETAILS = 20;
const MAX_LINES = 40;
/** The beginning of the comment of an idle file that names the handles of its process. */
export const STILL_OPEN = '# still open: ';

/** The end of a file. */
export interface EndedFile {
  readonly file: string;
  readonly result: FileResult;
  readonly counts: Counts;
  /** Why it counts as failed; undefined if it passed. */
  readonly problem: string | undefined;
  readonly milliseconds: number;
}

/** The line for a file that has ended: `12/408 ok packages/core/test/errors/errors.test.ts 0.4 s`. */
export function lineOf({ file, problem, milliseconds }: EndedFile, place: string): string {
  const seconds = `${(milliseconds / 1000).toFixed(1)} s`;
  if (problem === undefined) return `${place} ${styleText('green', 'ok')} ${file} ${styleText('dim', seconds)}`;
  return `${place} ${styleText('red', 'not ok')} ${file} ${styleText('dim', seconds)}, ${problem}`;
}

/**
 * The failures of a file, for a person: for each failed assertion its titles, its line, and the difference. If the file has none,
 * for example because its process ended, the end of its output.
 */
export function failuresOf({ file, result, problem }: EndedFile): string {
  const tests = failedTests(result.output);
  const heading = styleText(['bold', 'red'], `${file}: ${problem}`);
  if (tests.length === 0) return `${heading}\n${indented(result.output.trimEnd().split('\n').slice(-MAX_LINES))}`;
  const parts = tests.map(({ titles, place, details }) =>
    [`  ${styleText('red', '✗')} ${titles.join(' › ')}`, ...(place === undefined ? [] : [`    ${place}`])]
      .concat(details === '' ? [] : [indented(details.split('\n').slice(0, MAX_DETAILS).map(colored))])
      .join('\n'),
  );
  return [heading, ...parts, ...stillOpen(result.output)].join('\n');
}

/** The handles that kept an idle file from ending, as its process has reported them. */
function stillOpen(output: string): readonly string[] {
  const lines = output.split('\n').filter((line) => line.startsWith(STILL_OPEN));
  return lines.map((line) => `  ${line.slice('# '.length)}`);
}

function indented(lines: readonly string[]): string {
  return lines.map((line) => `    ${line}`).join('\n');
}

/** Colours a line of a difference. */
function colored(line: string): string {
  if (line.startsWith('+')) return styleText('green', line);
  return line.startsWith('-') ? styleText('red', line) : line;
}
