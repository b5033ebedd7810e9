/** Writes the site's Markdown: every page of the repository under its address, and the reference. */
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { linkGuides } from './guide-links.ts';
import { fileOfLink } from '../../scripts/repository.ts';
import { listPages, type Page } from './pages.ts';
import { type PublicSymbol, readReference } from './reference.ts';
import { eachLineOfText, linkSymbols } from './symbol-links.ts';

/** A page with its words, for lists of pages. */
export interface StagedPage extends Page {
  readonly title: string;
  /** The first sentence. */
  readonly summary: string;
}

export interface Site {
  readonly pages: readonly StagedPage[];
  readonly symbols: readonly PublicSymbol[];
  /** The addresses of the pages by their files. */
  readonly addresses: ReadonlyMap<string, string>;
  /** The symbol that a name stands for, if two packages have it. */
  readonly byName: ReadonlyMap<string, PublicSymbol>;
}

/** Writes everything into a folder, which is emptied first. */
export async function stageSite(root: string, folder: string): Promise<Site> {
  rmSync(folder, { recursive: true, force: true });
  const { symbols, write } = await readReference(root);
  await write(join(folder, 'reference'));
  const byName = new Map(symbols.toReversed().map((symbol) => [symbol.name, symbol]));
  const listed = listPages(root);
  const addresses = new Map(listed.map(({ source, address }) => [source, address]));
  const pages = listed.map((page) => stagePage(root, folder, page, { addresses, byName }));
  linkGuides(root, folder, pages, byName);
  for (const image of globSync('{,explorer/}*.{png,svg,webp}', { cwd: join(root, 'docs') })) {
    mkdirSync(dirname(join(folder, image)), { recursive: true });
    copyFileSync(join(root, 'docs', image), join(folder, image));
  }
  return { pages, symbols, addresses, byName };
}

/** Writes one page into the folder of the site. */
export function stagePage(
  root: string,
  folder: string,
  page: Page,
  { addresses, byName }: Pick<Site, 'addresses' | 'byName'>,
): StagedPage {
  const source = readFileSync(join(root, page.source), 'utf8');
  const text = relink(withoutMarks(source), (target) => {
    // The READMEs of packages are read on npm too, so their links are absolute.
    const linked = fileOfLink(target);
    const [path = '', fragment] = (linked ?? target).split('#', 2);
    const address = addresses.get(normalize(linked === undefined ? join(dirname(page.source), path) : path));
    if (address === undefined && linked !== undefined) return target;
    if (address === undefined) return /\.(?:png|svg|webp)$/.test(path) ? target : undefined;
    return `/${address === 'index' ? '' : address}${fragment === undefined ? '' : `#${fragment}`}`;
  });
  const path = join(folder, `${page.address}.md`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, linkSymbols(text, byName));
  return { ...page, ...wordsOf(withoutMarks(source)) };
}

/** A picture of `docs` in two themes, for GitHub. The site makes one of the name of the light one. */
const PICTURE = /<picture>\n[^]*?<img src="docs\/([^"]+)"[^>]*alt="([^"]*)"[^>]*>\n<\/picture>/g;

/** Drops what is said to the tests alone: hidden blocks, and the words after the language of a fence. Drops badges, which are for GitHub. */
function withoutMarks(markdown: string): string {
  return markdown
    .replaceAll(/^\[!\[.*\n/gm, '')
    .replaceAll(PICTURE, '![$2]($1)')
    .replaceAll(/^<!-- ts\b[^]*?^-->\n/gm, '')
    .replaceAll(/^(`{3,}\w+) .*$/gm, '$1');
}

/** Rewrites the links of a page to the repository's files. A link to what is no page of the site leaves its text. */
function relink(markdown: string, addressOf: (target: string) => string | undefined): string {
  return eachLineOfText(markdown, (line) =>
    line.replaceAll(/\[((?:`[^`]*`|[^\]])*)\]\(([^)\s]+)\)/g, (match, text: string, target: string) => {
      if (/^(https?:|mailto:|#)/.test(target) && fileOfLink(target) === undefined) return match;
      const address = addressOf(target);
      return address === undefined ? text : `[${text}](${address})`;
    }),
  );
}

function wordsOf(markdown: string): { title: string; summary: string } {
  const [, settings = '', text = ''] = /^(?:---\n([^]*?)\n---\n)?([^]*)$/.exec(markdown) ?? [];
  const title = /^# (.*)$/m.exec(text)?.[1] ?? /^title: (.*)$/m.exec(settings)?.[1] ?? '';
  const paragraphs = text.split(/\n{2,}/).map((paragraph) => paragraph.replaceAll('\n', ' ').trim());
  const first = paragraphs.find((paragraph) => /^[^#<`|]/.test(paragraph) && paragraph.length > 20) ?? '';
  const plain = first.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  return { title: title.replaceAll('`', ''), summary: /^.*?[.:](?=\s|$)/.exec(plain)?.[0] ?? plain };
}
