/**
 * `node ../../scripts/build-package.ts` in the folder of a package: compiles its sources into `dist`, as they are published.
 *
 * Docstrings are for editors, which read the declarations, so the JavaScript has no comments. Neither has it source maps: each module is one
 * readable file under its name, so a stack trace names the module, the line in it and the function. Sources are not published, nor are
 * declarations that no entry of the package refers to, because nobody can import them.
 */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

interface Entry {
  readonly types?: string;
}

const { publishConfig } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  publishConfig: { exports?: Readonly<Record<string, string | Entry>> };
};

rmSync('dist', { recursive: true, force: true });
// A program alone has no declarations.
if (publishConfig.exports !== undefined) {
  compile('--declaration', '--emitDeclarationOnly');
  const entries = Object.values(publishConfig.exports).flatMap((entry) =>
    typeof entry === 'object' ? (entry.types ?? []) : [],
  );
  removeUnreachable(entries.map((entry) => join(entry)));
}
compile('--removeComments');

function compile(...flags: readonly string[]): void {
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json', ...flags], { stdio: 'inherit' });
}

/** Deletes the declarations that the entries do not import, directly or indirectly. */
function removeUnreachable(entries: readonly string[]): void {
  const reached = new Set<string>();
  const visit = (file: string): void => {
    if (reached.has(file)) return;
    reached.add(file);
    const text = readFileSync(file, 'utf8');
    for (const [, specifier = ''] of text.matchAll(
      /(?:from|import|import\(|declare module)\s*['"](\.[^'"]+)\.[jt]s['"]/g,
    )) {
      visit(join(dirname(file), `${specifier}.d.ts`));
    }
  };
  for (const entry of entries) visit(entry);
  for (const file of globSync('dist/**/*.d.ts')) if (!reached.has(join(file))) rmSync(file);
}
