import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PublicSymbol } from './reference.ts';
import type { StagedPage } from './stage.ts';
import { symbolsNamed } from './symbol-links.ts';

/** Adds to each name's page in the reference the pages of the documentation that tell of it. */
export function linkGuides(
  root: string,
  folder: string,
  pages: readonly StagedPage[],
  symbols: ReadonlyMap<string, PublicSymbol>,
): void {
  const tellers = new Map<string, StagedPage[]>();
  for (const page of pages) {
    if (!page.source.startsWith('docs/')) continue;
    for (const name of symbolsNamed(readFileSync(join(root, page.source), 'utf8'), symbols)) {
      tellers.set(name, [...(tellers.get(name) ?? []), page]);
    }
  }
  for (const [name, linked] of tellers) {
    const address = symbols.get(name)?.address ?? '';
    if (address.includes('#')) continue;
    const links = linked.map((page) => `- [${page.title}](/${page.address})`);
    appendFileSync(join(folder, `${address}.md`), `\n## Pages that tell of it\n\n${links.join('\n')}\n`);
  }
}
