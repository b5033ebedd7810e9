import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A mistake that the compiler has found: the file, and the rest of its line from the place on. */
export interface CompileMistake {
  readonly path: string;
  readonly row: number;
  readonly text: string;
}

/** Runs the compiler once over projects, and returns what it finds. */
export function compileProjects(root: string, folders: readonly string[]): CompileMistake[] {
  // Not bin/tsc, which has no extension: under tap's hooks Node cannot load it.
  const tsc = join(fileURLToPath(import.meta.resolve('typescript/package.json')), '../lib/tsc.js');
  const { stdout, stderr, status } = spawnSync(process.execPath, [tsc, '--build', '--pretty', 'false', ...folders], {
    cwd: root,
    encoding: 'utf8',
  });
  const lines = stdout.split('\n').filter((line) => /error TS\d+/.test(line));
  // A compiler that did not run has found nothing either.
  if (status !== 0 && lines.length === 0) throw new Error(`tsc ended with ${status}: ${stdout}${stderr}`);
  return lines.map((line) => {
    const [, file = '', row = '', column = '', message = line] = /^(.*?)\((\d+),(\d+)\): (.*)$/.exec(line) ?? [];
    return { path: join(root, file), row: Number(row), text: `:${row}:${column} ${message}` };
  });
}
