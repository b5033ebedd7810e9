import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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
 * Which files a document's blocks make. A block whose first line is `// product.ts` is that file, so that another may
 * import it; any other block is a file of its own, and `continues` adds it to the block before.
 */
export function snippetsOf(folder: string, blocks: readonly CodeBlock[]): Snippet[] {
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

/** Tells if a document declares something about the types of others, which must stay with it. */
export function augmentsTypes(blocks: readonly CodeBlock[]): boolean {
  return blocks.some(({ code }) => /^declare (?:module|global)\b/m.test(code));
}

/** Makes a folder a project of the compiler. Each takes the compiler as long as all that the packages are made of. */
export function writeProject(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const compilerOptions = { moduleDetection: 'force', noUnusedLocals: false, noUnusedParameters: false };
  const config = { extends: '../../../tsconfig.base.json', compilerOptions, include: ['.'] };
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
