import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runTypeChecker } from '../type-checker.ts';

/** Runs the compiler once over folders of copies, and returns the names of those in which it finds a mistake. */
export function compile(scratch: string, folders: readonly string[]): ReadonlySet<string> {
  const config = { extends: '../../../tsconfig.base.json', include: folders };
  writeFileSync(join(scratch, 'tsconfig.json'), JSON.stringify(config));
  const { output, isWrong } = runTypeChecker(scratch, ['-p', '.']);
  // A copy alone may cause an error in a file that it imports.
  if (folders.length === 1) return new Set(isWrong ? folders : []);
  const wrong = new Set<string>();
  for (const [, folder] of output.matchAll(/^([^/\s]+)\/\S+\(\d+,\d+\): error TS/gm)) wrong.add(folder as string);
  if (isWrong && wrong.size === 0) throw new Error(`The compiler said nothing of a mutant: ${output}`);
  return wrong;
}
