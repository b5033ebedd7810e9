import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const COMPILER = join(fileURLToPath(import.meta.resolve('typescript/package.json')), '../lib/tsc.js');

/** Runs the compiler once over folders of copies, and returns the names of those in which it finds a mistake. */
export function compile(scratch: string, folders: readonly string[]): ReadonlySet<string> {
  const config = { extends: '../../../tsconfig.base.json', include: folders };
  writeFileSync(join(scratch, 'tsconfig.json'), JSON.stringify(config));
  const { stdout, status, stderr } = spawnSync(process.execPath, [COMPILER, '-p', '.', '--pretty', 'false'], {
    cwd: scratch,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  // A copy that is alone may be what makes a mistake of something in a file that it imports.
  if (folders.length === 1) return new Set(status === 0 ? [] : folders);
  const wrong = new Set<string>();
  for (const [, folder] of stdout.matchAll(/^([^/\s]+)\/\S+\(\d+,\d+\): error TS/gm)) wrong.add(folder as string);
  if (status !== 0 && wrong.size === 0) throw new Error(`The compiler said nothing of a mutant: ${stdout}${stderr}`);
  return wrong;
}
