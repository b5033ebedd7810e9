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

/**
 * Writes the files of one document as a project of its own, so that what it declares about types stays with it. A document
 * without an `entities.ts` has that of the others.
 */
export function writeProject(folder: string, snippets: readonly Snippet[], sharedEntities: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'entities.ts'), sharedEntities);
  const compilerOptions = { moduleDetection: 'force', noUnusedLocals: false, noUnusedParameters: false };
  const config = { extends: '../../../tsconfig.base.json', compilerOptions, include: ['.'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
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
