/** The paths and names that contributors look up on `docs/architecture.md` and `CONTRIBUTING.md` exist in the sources. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const root = fileURLToPath(new URL('../..', import.meta.url));
const core = 'packages/core/src';
const architecture = read('docs/architecture.md');
const contributing = read('CONTRIBUTING.md');

/** A file (`view/operations/update.ts`), or a folder (`docs/site`, `http/`). Not a route, a package, or a property. */
const PATH =
  /^(?!@|\/|https?:)(?:[\w.-]+\/)*[\w.-]+\.(?:ts|md|json|yaml|yml|svg|mjs)$|^(?!@|\/|https?:)(?:[\w.-]+\/)+$/;

/** The names of HTTP, of JavaScript and of the walks' example. */
const NAMES_OF_OTHERS = new Set(['Accept', 'ETag', 'Host', 'Product']);

interface Sentence {
  readonly text: string;
  /** The folder of the package that the heading names, `packages/auth`; undefined for core. */
  readonly section: string | undefined;
}

for (const [page, text] of [
  ['docs/architecture.md', architecture],
  ['CONTRIBUTING.md', contributing],
] as const) {
  t.test(`every path of ${page} exists`, async (t) => {
    const paths = sentencesOf(text).flatMap((sentence) =>
      spansOf(sentence.text)
        .filter((span) => PATH.test(span))
        .map((span) => ({ span, bases: basesOf(sentence) })),
    );
    t.ok(paths.length > 30, 'the paths can be found');
    const missing = paths.filter(({ span, bases }) => !bases.some((base) => existsSync(join(root, base, span))));
    t.strictSame([...new Set(missing.map(({ span, bases }) => `${span} (in ${bases.join(', ')})`))], []);
  });

  t.test(`the files of ${page} contain the names before them`, async (t) => {
    const named = sentencesOf(text).flatMap((sentence) =>
      [...sentence.text.matchAll(/`([\w.]+)`\s+(?:\(|in\s+|of\s+)`([\w./-]+\.ts)`/g)].flatMap(
        ([, names = '', path = '']) => {
          const base = basesOf(sentence).find((each) => existsSync(join(root, each, path)));
          return base === undefined ? [] : [{ names, path: join(base, path) }];
        },
      ),
    );
    t.ok(named.length > 1, 'the names can be found');
    const lacking = named.filter(({ names, path }) => {
      const words = new Set(read(path).match(/\w+/g));
      return names.split('.').some((name) => !words.has(name));
    });
    t.strictSame(lacking, []);
  });
}

t.test('the folders that CONTRIBUTING.md lists exist', async (t) => {
  const list = /^## Where things are\n+((?: {4}.*\n)+)/m.exec(contributing)?.[1] ?? '';
  const folders = [...list.matchAll(/^ {4}(\S+)/gm)].map(([, folder = '']) => folder);
  t.ok(folders.length > 20, 'the list can be read');
  t.strictSame(
    folders.filter((folder) => !existsSync(join(root, folder))),
    [],
  );
  const packages = globSync('packages/*', { cwd: root }).filter(
    (folder) => !folders.some((each) => each.startsWith(folder)),
  );
  t.strictSame(packages, [], 'and each package is listed');
});

t.test('the walks name classes, functions and types that exist', async (t) => {
  const walks = architecture.slice(0, architecture.indexOf('\n## Storeys'));
  const sources = globSync('packages/*/src/**/*.ts', { cwd: root }).map((path) => read(path));
  const declared = new Set(
    sources.flatMap((source) =>
      [...source.matchAll(/\b(?:class|function|interface|type|const)\s+(\w+)/g)].map(([, name = '']) => name),
    ),
  );
  const words = new Set(sources.flatMap((source) => source.match(/\w+/g) ?? []));
  const names = spansOf(walks).filter((span) => /^[A-Za-z]\w*(?:\.\w+)*(?:\(\))?$/.test(span) && !PATH.test(span));
  const classes = names.flatMap((name) => /^[A-Z]\w*[a-z]\w*/.exec(name)?.[0] ?? []);
  t.ok(classes.length > 30, 'the names can be found');
  t.strictSame(
    classes.filter((name) => !declared.has(name) && !NAMES_OF_OTHERS.has(name)),
    [],
  );
  const others = names.filter((name) => !name.includes('__')).flatMap((name) => name.match(/\w+/g) ?? []);
  t.strictSame(
    others.filter((name) => !words.has(name) && !NAMES_OF_OTHERS.has(name)),
    [],
    'and members',
  );
});

t.test('the folders of the diagram exist', async (t) => {
  const texts = [...read('docs/architecture-request.svg').matchAll(/<text[^>]*>([^<]*)/g)].map(([, text = '']) => text);
  const folders = texts.flatMap((text) => text.match(/(?<![@/\w-])(?:[\w-]+\/)+/g) ?? []);
  t.ok(folders.length > 5, 'the folders can be found');
  t.strictSame(
    folders.filter((folder) => !existsSync(join(root, core, folder))),
    [],
  );
});

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** The sentences of a page, with their line breaks joined. Blocks of code are left out. */
function sentencesOf(page: string): Sentence[] {
  let section: string | undefined;
  return page
    .replaceAll(/^```[^]*?^```/gm, '')
    .split(/\n{2,}|\n(?=\s*(?:[-|#]|\d+\.) ?)/)
    .filter((block) => !block.startsWith('    '))
    .flatMap((block) => {
      const heading = /^## (.*)/.exec(block)?.[1];
      if (heading !== undefined) section = /@viewset\/([\w-]+)/.exec(heading)?.[1];
      const folder = section && `packages/${section}`;
      return block
        .replaceAll(/\s*\n\s*/g, ' ')
        .split(/(?<=[.:!?])\s+(?=[A-Z`*])/)
        .map((text) => ({ text, section: folder }));
    });
}

/** The folders that the paths of a sentence may be relative to. */
function basesOf({ text, section }: Sentence): string[] {
  const packages = [...text.matchAll(/packages\/[\w-]+|@viewset\/([\w-]+)/g)].map(([name, short]) =>
    short === undefined ? name : `packages/${short}`,
  );
  const folders = [...new Set([...packages, ...(section === undefined ? [] : [section])])];
  const named = spansOf(text).filter((span) => PATH.test(span) && span.endsWith('/'));
  return ['', core, ...folders.flatMap((folder) => [folder, `${folder}/src`]), ...named];
}

function spansOf(text: string): string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
}
