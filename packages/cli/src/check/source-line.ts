import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Finds the line where a class, or an entity of that name, declares a word; the line of the class if the word is
 * missing.
 *
 * @returns `books.ts:9`; undefined if no source file has the class
 */
export function sourceLine(folder: string, className: string, word: string): string | undefined {
  const files = globSync('**/*.{ts,js,mts}', { cwd: folder, exclude: ['**/node_modules/**', '**/dist/**'] });
  const begin = new RegExp(className === '' ? '' : `\\bclass ${className}\\b|name: '${className}'`);
  for (const file of files.toSorted()) {
    const lines = readFileSync(join(folder, file), 'utf8').split('\n');
    const first = lines.findIndex((line) => begin.test(line) && (className !== '' || line.includes(word)));
    if (first === -1) continue;
    const found = lines.findIndex((line, index) => index > first && hasWord(line, word));
    const end = lines.findIndex((line, index) => index > first && line.startsWith('}'));
    const isInClass = found !== -1 && (end === -1 || found < end);
    return `${file}:${(isInClass && className !== '' ? found : first) + 1}`;
  }
  return undefined;
}

function hasWord(line: string, word: string): boolean {
  return new RegExp(`(?<!\\w)${word.replaceAll(/\W/g, '\\$&')}\\s*:`).test(line);
}
