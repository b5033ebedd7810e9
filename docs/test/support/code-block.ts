/** A block of TypeScript in a Markdown file, shown or hidden. */
export interface CodeBlock {
  /** The Markdown file, as seen from the repository's root. */
  readonly document: string;
  /** The line of the block's first line of code, counted from 1. */
  readonly line: number;
  readonly code: string;
  /** The words after `ts` in the fence: `continues`, `run`, `serve=/path`. */
  readonly words: readonly string[];
  /** What a fence marked `output`, next after this block, says that it prints. */
  readonly output: string | undefined;
}

const FENCE = /^(`{3,})(.*)$/;
const HIDDEN = /^<!-- ts\b(.*)$/;

/**
 * The blocks of a Markdown file, in its order: fences that begin with `ts`, and comments of the form
 *
 *     <!-- ts
 *     import { Product } from './product.ts';
 *     -->
 *
 * which a reader does not see: what a short example needs around it to compile.
 */
export function codeBlocks(document: string, markdown: string): CodeBlock[] {
  const lines = markdown.split('\n');
  const blocks: CodeBlock[] = [];
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? '';
    const [, fence, info = ''] = FENCE.exec(line) ?? [];
    const hidden = HIDDEN.exec(line)?.[1];
    if (fence === undefined && hidden === undefined) continue;
    const end = lines.indexOf(fence ?? '-->', index + 1);
    if (end === -1) throw new Error(`${document}:${index + 1}: the block that begins here has no end`);
    const code = lines.slice(index + 1, end).join('\n');
    const [language, ...words] = (hidden === undefined ? info : `ts ${hidden}`).trim().split(/\s+/);
    if (language === 'ts') blocks.push({ document, line: index + 2, code, words, output: undefined });
    else if (words.includes('output')) attachOutput(blocks, code, `${document}:${index + 1}`);
    index = end;
  }
  return blocks;
}

function attachOutput(blocks: CodeBlock[], output: string, place: string): void {
  const last = blocks.pop();
  if (last === undefined || !last.words.includes('run')) throw new Error(`${place}: output of no block that is run`);
  blocks.push({ ...last, output });
}
