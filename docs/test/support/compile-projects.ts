import { join } from 'node:path';
import { runTypeChecker } from '../../../scripts/type-checker.ts';

/** A mistake that the compiler has found: the file, and the rest of its line from the place on. */
export interface CompileMistake {
  readonly path: string;
  readonly row: number;
  readonly text: string;
}

/** Runs the compiler once over projects, and returns what it finds. */
export function compileProjects(root: string, folders: readonly string[]): CompileMistake[] {
  // `--build` has to be the first argument.
  const { output } = runTypeChecker(root, ['--build', ...folders]);
  const lines = output.split('\n').filter((line) => /error TS\d+/.test(line));
  return lines.map((line) => {
    const [, file = '', row = '', column = '', message = line] = /^(.*?)\((\d+),(\d+)\): (.*)$/.exec(line) ?? [];
    return { path: join(root, file), row: Number(row), text: `:${row}:${column} ${message}` };
  });
}
