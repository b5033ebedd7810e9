import type { Choices, Part } from './choices.ts';
import { DATABASES } from './choices.ts';

/** The files of the template that belong to a part. */
const FILES_OF_PARTS: Readonly<Record<Part, RegExp>> = {
  accounts: /^accounts\.ts$/,
  explorer: /^$/,
  tests: /\.test\.ts$/,
  container: /^(_dockerignore|Dockerfile)$/,
  ci: /^_github\//,
};

/**
 * Returns the place that a file of the template gets in the application; undefined if the application does not have the file.
 *
 * - A file of a part is there if the part is.
 * - `database.mongodb.ts` is `database.ts` on MongoDB, in place of the usual file.
 * - A first underscore becomes a dot: npm packs no `.gitignore`.
 */
export function placeOf(file: string, files: readonly string[], { database, parts }: Choices): string | undefined {
  const isLeftOut = Object.entries(FILES_OF_PARTS).some(
    ([part, pattern]) => pattern.test(file) && !parts.includes(part as Part),
  );
  const own = DATABASES.find((name) => file.includes(`.${name}`));
  const replaced = own === undefined ? file.replace(/(?=\.\w+$)|$/, `.${database}`) : undefined;
  const isReplaced = replaced !== undefined && files.includes(replaced);
  if (isLeftOut || isReplaced || (own !== undefined && own !== database)) return undefined;
  return file.replace(`.${own}`, '').replace(/^_/, '.');
}

const BEGIN = /^\s*(?:\/\/|#|<!--) if (\w+)(?: -->)?$/;
const END = /^\s*(?:\/\/|#|<!--) end(?: -->)?$/;

/** Fills in a file of the template: keeps the lines that the choices ask for, and puts the name of the application in. */
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

/** Takes out the names that only lines used which are gone. */
function withoutUnusedImports(text: string): string {
  const rest = text.replaceAll(IMPORT, '');
  return text.replaceAll(IMPORT, (_all, type: string | undefined, names: string, from: string) => {
    const used = names.split(', ').filter((name) => new RegExp(`\\b${name.replace(/^type /, '')}\\b`).test(rest));
    return used.length === 0 ? '' : `import ${type ?? ''}{ ${used.join(', ')} } from ${from};\n`;
  });
}
