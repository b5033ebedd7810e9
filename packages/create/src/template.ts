import type { Choices, Part } from './choices.ts';
import { DATABASES } from './choices.ts';

/** The template files of each part. */
const FILES_OF_PARTS: Readonly<Record<Part, RegExp>> = {
  accounts: /^accounts\.ts$/,
  explorer: /^$/,
  tests: /\.test\.ts$/,
  container: /^(_dockerignore|Dockerfile)$/,
  ci: /^_github\//,
};

/**
 * Returns a template file's path in the application; undefined if the application does not get the file.
 *
 * - A file of a part is included only with that part.
 * - On MongoDB, `database.mongodb.ts` becomes `database.ts` and replaces the usual file.
 * - A leading underscore becomes a dot, because npm does not pack `.gitignore`.
 */
export function placeOf(file: string, files: readonly string[], { database, parts }: Choices): string | undefined {
  const isLeftOut = Object.entries(FILES_OF_PARTS).some(
    ([part, pattern]) => pattern.test(file) && !parts.includes(part as Part),
  );
  const databaseOfFile = DATABASES.find((name) => file.includes(`.${name}`));
  const replaced = databaseOfFile === undefined ? file.replace(/(?=\.\w+$)|$/, `.${database}`) : undefined;
  const isReplaced = replaced !== undefined && files.includes(replaced);
  if (isLeftOut || isReplaced || (databaseOfFile !== undefined && databaseOfFile !== database)) return undefined;
  return file.replace(`.${databaseOfFile}`, '').replace(/^_/, '.');
}

const BEGIN = /^\s*(?:\/\/|#|<!--) if (\w+)(?: -->)?$/;
const END = /^\s*(?:\/\/|#|<!--) end(?: -->)?$/;

/** Fills in a template file: keeps the lines that fit the choices, and inserts the application's name. */
export function fillIn(text: string, choices: Choices, words: Readonly<Record<string, string>>): string {
  const facts = new Set<string>([choices.database, choices.packageManager, ...choices.parts]);
  const kept = text.replaceAll(/__([a-z]+)__/g, (_all, word: string) => words[word] ?? '').split('\n');
  let isKept = true;
  const lines = kept.filter((line) => {
    const [, fact] = BEGIN.exec(line) ?? [];
    if (fact !== undefined) isKept = facts.has(fact);
    if (END.test(line)) {
      isKept = true;
      return false;
    }
    return isKept && fact === undefined;
  });
  return withoutUnusedImports(lines.join('\n'));
}

const IMPORT = /^import (type )?\{ (.+) \} from (.+);\n/gm;

/** Removes imported names that only removed lines used. */
function withoutUnusedImports(text: string): string {
  const rest = text.replaceAll(IMPORT, '');
  return text.replaceAll(IMPORT, (_all, type: string | undefined, names: string, from: string) => {
    const used = names.split(', ').filter((name) => new RegExp(`\\b${name.replace(/^type /, '')}\\b`).test(rest));
    return used.length === 0 ? '' : `import ${type ?? ''}{ ${used.join(', ')} } from ${from};\n`;
  });
}
