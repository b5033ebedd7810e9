import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CodeBlock } from './code-block.ts';

/** A program made of the blocks of one document: a file that keeps every line at its line of the document. */
export interface Snippet {
  readonly document: string;
  /** Where the first block begins. */
  readonly line: number;
  readonly path: string;
  readonly blocks: readonly CodeBlock[];
}

const FILE_NAME = /^\/\/ ([\w./-]+\.ts)$/;

/**
 * Returns the files that the blocks of a document make. A block whose first line is `// product.ts` is that file, so that
 * other blocks can import it. Any other block is a file of its own. `continues` adds a block to the one before.
 *
 * In a tutorial, each block has its step: `step=2`. A step starts with the named files of the step before and may show new
 * versions of them. Every step is compiled and run by itself.
 */
export function snippetsOf(folder: string, blocks: readonly CodeBlock[]): Snippet[] {
  const steps = Map.groupBy(blocks, stepOf);
  const all: Snippet[] = [];
  let before: readonly Snippet[] = [];
  for (const [step, members] of steps) {
    const place = step === undefined ? folder : join(folder, `step-${step}`);
    const shown = filesOf(place, members);
    const kept = before.filter(
      (old) => isNamed(old) && !shown.some(({ path }) => basename(path) === basename(old.path)),
    );
    before = [...kept.map((old) => ({ ...old, path: join(place, basename(old.path)) })), ...shown];
    all.push(...before);
  }
  return all;
}

function stepOf({ words }: CodeBlock): string | undefined {
  return words.find((word) => word.startsWith('step='))?.slice('step='.length);
}

function isNamed({ path, line }: Snippet): boolean {
  return basename(path) !== `line-${line}.ts`;
}

function filesOf(folder: string, blocks: readonly CodeBlock[]): Snippet[] {
  const snippets: Snippet[] = [];
  for (const block of blocks) {
    const place = `${block.document}:${block.line}`;
    const last = snippets.at(-1);
    if (block.words.includes('continues')) {
      if (last === undefined) throw new Error(`${place}: there is no block to continue`);
      snippets[snippets.length - 1] = { ...last, blocks: [...last.blocks, block] };
      continue;
    }
    const name = FILE_NAME.exec(block.code.split('\n', 1)[0] ?? '')?.[1] ?? `line-${block.line}.ts`;
    const path = join(folder, name);
    if (snippets.some((other) => other.path === path)) throw new Error(`${place}: a second block is called ${name}`);
    snippets.push({ document: block.document, line: block.line, path, blocks: [block] });
  }
  return snippets;
}

/**
 * Returns what blocks declare about the types of Viewset: empty if nothing. Such a declaration holds in a whole project of the
 * compiler, so only documents with the same declarations can share one.
 */
export function augmentationOf(blocks: readonly { readonly code: string }[]): string {
  const declarations = blocks.flatMap(
    ({ code }) => code.match(/^declare (?:module '@viewset|global\b)[^]*?^\}/gm) ?? [],
  );
  return declarations.map((text) => text.replaceAll(/\/\/.*|\s+/g, ' ').replaceAll(/ +/g, ' ')).join();
}

const BASE = fileURLToPath(new URL('../../../tsconfig.base.json', import.meta.url));

/**
 * Makes a folder a project of the compiler. Each takes the compiler as long as all that the packages are made of.
 *
 * @param own options beside those of all such projects
 */
export function writeProject(folder: string, own: Readonly<Record<string, boolean>> = {}): void {
  mkdirSync(folder, { recursive: true });
  const compilerOptions = { moduleDetection: 'force', noUnusedLocals: false, noUnusedParameters: false, ...own };
  const config = { extends: relative(folder, BASE), compilerOptions, include: ['.'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
}

/** Writes the files of one document. A document without an `entities.ts` has that of the others. */
export function writeSnippets(folder: string, snippets: readonly Snippet[], sharedEntities: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'entities.ts'), sharedEntities);
  for (const { path, blocks } of snippets) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, textOf(blocks));
  }
}

function textOf(blocks: readonly CodeBlock[]): string {
  const lines: string[] = [];
  for (const { line, code } of blocks) {
    while (lines.length < line - 1) lines.push('');
    lines.push(...code.split('\n'));
  }
  return `${lines.join('\n')}\n`;
}
