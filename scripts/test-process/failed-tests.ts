import { Parser, type Result } from 'tap-parser';

/** A failed assertion. */
export interface FailedTest {
  /** The titles of the tests around it, and its title, from the outside inwards. */
  readonly titles: readonly string[];
  /** The file and the line, such as `packages/core/test/errors/errors.test.ts:12`; undefined if tap does not know them. */
  readonly place: string | undefined;
  /** The difference from the expected value, or the stack of an error; empty if there is neither. */
  readonly details: string;
}

/** The part of tap's diagnostics that a person reads. */
interface Diagnostics {
  readonly at?: { readonly fileName?: string; readonly lineNumber?: number };
  readonly diff?: string;
  readonly stack?: string;
  readonly type?: string;
}

/** Reads the failed assertions in the TAP output of a file. A test that failed because of them is not among them. */
export function failedTests(output: string): readonly FailedTest[] {
  const failed: FailedTest[] = [];
  const read = (parser: Parser, titles: readonly string[]): void => {
    parser.on('child', (child: Parser) => read(child, [...titles, child.name]));
    parser.on('assert', (result: Result) => {
      const { ok, todo, skip, closingTestPoint, name } = result;
      if (ok || todo !== false || skip !== false || closingTestPoint) return;
      failed.push(failedTest([...titles, name], (result.diag ?? {}) as Diagnostics));
    });
  };
  const parser = new Parser();
  read(parser, []);
  parser.end(output);
  return failed;
}

function failedTest(titles: readonly string[], { at, diff, stack, type }: Diagnostics): FailedTest {
  const place = at?.fileName === undefined ? undefined : `${at.fileName}:${at.lineNumber ?? 0}`;
  const error = type === undefined ? '' : `${type}\n`;
  return { titles, place, details: (diff ?? error + (stack ?? '')).trimEnd() };
}
