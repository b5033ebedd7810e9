/** Every example of a docstring compiles, with the names of `support/example-context.ts` at hand. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { MODULES, PACKAGES, sourceOf } from '../site/packages.ts';
import { compileProjects } from './support/compile-projects.ts';
import { docstringExamples, exampleProgram, exportedNames } from './support/docstring-examples.ts';
import { augmentationOf, writeProject } from './support/snippet-project.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const scratch = join(root, 'docs/test/.snippets');
rmSync(scratch, { recursive: true, force: true });

const namesIn = (path: string): string[] => exportedNames(readFileSync(join(root, path), 'utf8'));
const shared = new Map([
  ['../../support/example-context.ts', namesIn('docs/test/support/example-context.ts')] as const,
  ...MODULES.map((name) => [`@viewset/${name}`, namesIn(`packages/${sourceOf(name)}`)] as const),
  ['@viewset/core/status', namesIn('packages/core/src/http/status.ts')] as const,
]);

const folders = new Set<string>();
const programs = PACKAGES.flatMap((name) => {
  const examples = docstringExamples(root, `packages/${name}`);
  const folder = join(scratch, augmentationOf(examples) === '' ? 'shared' : name);
  // A name may be imported whether it is a type or a value.
  if (!folders.has(folder)) writeProject(folder, { verbatimModuleSyntax: false, isolatedModules: false });
  folders.add(folder);
  return examples.map((example) => {
    const path = join(folder, `${example.source.replaceAll('/', '-').replace(/\.ts$/, '')}-${example.line}.ts`);
    const modules = new Map([...shared, [`../../../../${example.source}`, namesIn(example.source)]]);
    writeFileSync(path, exampleProgram(example, modules));
    return { ...example, path };
  });
});

// A compiler that read nothing would find nothing.
const mistaken = [...folders].map((folder) => join(folder, 'mistake.ts'));
for (const path of mistaken) writeFileSync(path, "export const mistake: number = 'text';\n");

const mistakes = compileProjects(root, [...folders]);
t.ok(programs.length > 70, 'the docstrings can be read');
for (const { source, line, path } of programs) {
  const found = mistakes.filter((mistake) => mistake.path === path);
  t.strictSame(
    found.map(({ text }) => `${source}${text}`),
    [],
    `${source}:${line}`,
  );
}
for (const path of mistaken) {
  t.equal(mistakes.filter((mistake) => mistake.path === path).length, 1, 'a mistake is found');
}
const known = new Set([...mistaken, ...programs.map(({ path }) => path)]);
const elsewhere = mistakes.filter(({ path }) => !known.has(path));
t.strictSame(
  elsewhere.map(({ path, text }) => path + text),
  [],
  'what the examples import compiles',
);
