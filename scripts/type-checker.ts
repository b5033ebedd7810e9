import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const COMPILER = join(fileURLToPath(import.meta.resolve('typescript/package.json')), '../lib/tsc.js');

/** The result of one run of the compiler. */
export interface TypeCheck {
  readonly output: string;
  /** True if it found a mistake. */
  readonly isWrong: boolean;
}

/** Runs the compiler in a folder. Throws if it ends without reporting an error: a compiler that did not run has not found errors either. */
export function runTypeChecker(cwd: string, args: readonly string[]): TypeCheck {
  const { stdout, stderr, status } = spawnSync(process.execPath, [COMPILER, ...args, '--pretty', 'false'], {
    cwd,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (status !== 0 && !/error TS\d+/.test(stdout)) throw new Error(`tsc ended with ${status}: ${stdout}${stderr}`);
  return { output: stdout, isWrong: status !== 0 };
}
