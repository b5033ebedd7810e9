import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** An import of a file, or of a package of the workspace. */
const IMPORT = /(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+|@viewset\/[^']+)'/g;

/**
 * Returns the tests that a change concerns: those that changed, and those that import a changed file, directly or through others.
 *
 * @param since the commit to compare the working tree with
 */
export function changedTests(root: string, tests: readonly string[], since: string): readonly string[] {
  const git = (...args: string[]): string[] =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean);
  const changed = new Set([...git('diff', '--name-only', since), ...git('ls-files', '--others', '--exclude-standard')]);
  return tests.filter((test) => [...importedBy(root, test)].some((file) => changed.has(file)));
}

/** A test file and all files that it imports, relative to the root. */
function importedBy(root: string, test: string): ReadonlySet<string> {
  const found = new Set([test]);
  for (const file of found) for (const imported of importsOf(root, file)) found.add(imported);
  return found;
}

const known = new Map<string, readonly string[]>();

function importsOf(root: string, file: string): readonly string[] {
  const imports = known.get(file) ?? readImports(root, file);
  known.set(file, imports);
  return imports;
}

function readImports(root: string, file: string): readonly string[] {
  const path = join(root, file);
  if (!existsSync(path) || !/\.[jt]sx?$/.test(file)) return [];
  return [...readFileSync(path, 'utf8').matchAll(IMPORT)].map(([, specifier = '']) =>
    specifier.startsWith('.') ? relative(root, join(dirname(path), specifier)) : entryOf(specifier),
  );
}

/** The entry of a package, such as `packages/mongodb/src/index.ts`. */
function entryOf(specifier: string): string {
  const [, name, ...rest] = specifier.split('/');
  return `packages/${name}/src/${rest.length === 0 ? 'index' : rest.join('/')}.ts`;
}
