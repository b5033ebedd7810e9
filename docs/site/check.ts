/**
 * Checks the site as it was built: each link within it leads to a page and a place on it, nothing comes from another host, every
 * page is there as Markdown, the search answers what newcomers ask, and axe finds no fault in a browser. VitePress has looked for pages alone.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import MiniSearch from 'minisearch';
import { skipWithoutBrowser } from '../../packages/explorer/test/support/browser.ts';
import { faultsOfLooks } from './looks.ts';
import { QUESTIONS } from './questions.ts';
import { MINI_SEARCH } from './search.ts';

interface HtmlPage {
  readonly address: string;
  readonly html: string;
  readonly ids: ReadonlySet<string>;
}

const dist = fileURLToPath(new URL('.vitepress/dist', import.meta.url));
const pages = new Map(globSync('**/*.html', { cwd: dist }).map((file) => [addressOf(file), readPage(file)]));
const faults = [
  ...[...pages.values()].flatMap((page) => [...deadLinks(page), ...foreignFiles(page)]),
  ...foreignStyles(),
  ...missingMarkdown(),
];
faults.push(...(await unanswered()), ...largeIndex());
const withoutBrowser = skipWithoutBrowser();
if (withoutBrowser === false) faults.push(...(await faultsOfLooks(dist)));
else console.log(`SKIPPED the looks of the site: ${withoutBrowser}`);
for (const fault of faults) console.log(fault);
console.log(`${pages.size} pages, ${QUESTIONS.length} questions, ${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;

/** `reference/index.html` is at `/reference/`, `guide.html` at `/guide`. */
function addressOf(file: string): string {
  return `/${file.replace(/\.html$/, '').replace(/(^|\/)index$/, '$1')}`;
}

function readPage(file: string): HtmlPage {
  const html = readFileSync(join(dist, file), 'utf8');
  const ids = new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id));
  return { address: addressOf(file), html, ids };
}

function deadLinks({ address, html }: HtmlPage): string[] {
  const targets = new Set([...html.matchAll(/<a [^>]*href="([^"]+)"/g)].map(([, target = '']) => target));
  return [...targets].flatMap((target) => {
    if (/^(https?:|mailto:)/.test(target)) return [];
    const { pathname, hash } = new URL(target.replaceAll('&amp;', '&'), `https://site${address}`);
    const page = pages.get(pathname);
    if (page === undefined) return existsSync(join(dist, pathname)) ? [] : [`${address}: no page ${target}`];
    return hash === '' || page.ids.has(decodeURIComponent(hash.slice(1))) ? [] : [`${address}: no place ${target}`];
  });
}

/** Finds scripts, styles, fonts and images that a reader's browser would ask another host for. */
function foreignFiles({ address, html }: HtmlPage): string[] {
  const elements = html.matchAll(/<(?:script|link|img|source|iframe)\b[^>]*\s(?:src|href)="(?:https?:)?\/\/[^"]*"/g);
  return [...elements].map(([element]) => `${address}: from another host: ${element}`);
}

/** Finds fonts and pictures of other hosts in style sheets. */
function foreignStyles(): string[] {
  return globSync('**/*.css', { cwd: dist }).flatMap((file) => {
    const urls = readFileSync(join(dist, file), 'utf8').matchAll(
      /(?:url\(|@import )\s*["']?((?:https?:)?\/\/[^"')]*)/g,
    );
    return [...urls].map(([, url]) => `${file}: from another host: ${url}`);
  });
}

function missingMarkdown(): string[] {
  const listed = [...readFileSync(join(dist, 'llms.txt'), 'utf8').matchAll(/\]\((\/[^)]+)\)/g)].map(
    ([, path = '']) => path,
  );
  const files = [...pages.keys()]
    .filter((address) => address !== '/404')
    .map((address) => `${address.replace(/\/$/, '/index')}.md`);
  return [...new Set([...listed, ...files])].flatMap((path) => (existsSync(join(dist, path)) ? [] : [`no ${path}`]));
}

/** The index, as it is sent, may have 250 kB. */
function largeIndex(): string[] {
  const [file = ''] = globSync('assets/chunks/@localSearchIndexroot.*.js', { cwd: dist });
  const bytes = gzipSync(readFileSync(join(dist, file))).length;
  return bytes <= 250_000 ? [] : [`the index of the search has ${bytes} bytes`];
}

/** Asks the site's own index, as the search box does, and looks at the first three places. */
async function unanswered(): Promise<string[]> {
  const [file = ''] = globSync('assets/chunks/@localSearchIndexroot.*.js', { cwd: dist });
  const { default: json } = (await import(pathToFileURL(join(dist, file)).href)) as { default: string };
  const index = MiniSearch.loadJSON(json, {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
    ...MINI_SEARCH.options,
    searchOptions: MINI_SEARCH.searchOptions,
  });
  return QUESTIONS.flatMap(([question, answers]) => {
    const found = index
      .search(question)
      .slice(0, 3)
      .map(({ id }) => String(id));
    return found.some((id) => answers.some((answer) => id.startsWith(answer)))
      ? []
      : [`"${question}" finds ${found.join(', ')}`];
  });
}
